"""One exchange: limits, waits, retries, what is believed and what is not."""

import logging
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from emulator import Emulator, Fault
from emulator.graphql import github_schema
from emulator.subject import TOKEN, FakeClock, make_client
from graphql import parse, validate

from ingest.github.client import GitHub
from ingest.github.errors import PassingError, PayloadError, RateLimitError, RefusedError
from ingest.github.extras import LARGEST_QUERY, build_query, fetch_extras
from ingest.github.governor import Governor
from ingest.github.token import find_token, token_id
from kwdb.config import Settings
from kwdb.errors import ConfigError, IngestError

PULLS = "/repos/acme/kernels/pulls?state=all&per_page=2"


@pytest.fixture
def acme(github: Emulator) -> Emulator:
    repository = github.world.add("acme/kernels")
    for _ in range(5):
        repository.open()
    return github


@pytest.mark.parametrize(
    ("kind", "waits"),
    [
        ("retry_after", [3]),
        ("too_many", [2]),
        ("secondary", [60]),
        ("exhausted", [8]),
    ],
)
def test_it_waits_as_long_as_it_is_told(acme: Emulator, kind: str, waits: list[int]) -> None:
    clock = FakeClock()
    acme.faults = [Fault(kind)]
    assert len(make_client(acme, clock=clock).get_list(PULLS).data) == 2
    assert [round(seconds) for seconds in clock.slept] == waits


def test_a_limit_that_says_nothing_is_waited_for_longer_and_longer(acme: Emulator) -> None:
    clock = FakeClock()
    acme.faults = [Fault("secondary", 9)]
    client = make_client(acme, clock=clock)
    with pytest.raises(RateLimitError, match=r"asks to slow down.*run the same command then"):
        client.get_list(PULLS)
    assert [round(seconds) for seconds in clock.slept] == [60, 120]


def test_it_stops_rather_than_sleep_for_an_hour(acme: Emulator) -> None:
    clock = FakeClock()
    acme.faults = [Fault("exhausted_for_an_hour")]
    client = make_client(acme, clock=clock)
    with pytest.raises(RateLimitError, match="60 requests an hour is reached") as caught:
        client.get_list(PULLS)
    assert 3_600 <= caught.value.resets_at.timestamp() - clock.now <= 3_602
    with pytest.raises(RateLimitError):
        client.get_list(PULLS)
    assert (clock.slept, len(acme.requests)) == ([], 1)


def test_the_last_request_of_a_budget_is_the_last_one(acme: Emulator) -> None:
    acme.budget = 2
    client = make_client(acme)
    client.get_list(PULLS), client.get_list(PULLS)
    with pytest.raises(RateLimitError):
        client.get_list(PULLS)
    assert len(acme.requests) == 2


@pytest.mark.parametrize(
    "kind",
    ["bad_gateway", "server_error", "object", "null", "null_items", "truncated", "reset", "slow"],
)
def test_a_passing_fault_is_tried_again(acme: Emulator, kind: str) -> None:
    acme.faults = [Fault(kind, 2)]
    assert [item["number"] for item in make_client(acme).get_list(PULLS).data] == [5, 4]


@pytest.mark.parametrize("kind", ["object", "null", "null_items", "truncated", "bad_gateway"])
def test_what_stays_wrong_is_never_an_empty_page(acme: Emulator, kind: str) -> None:
    acme.faults = [Fault(kind, 99)]
    with pytest.raises(PassingError, match=r"GitHub answered /repos/acme/kernels/pulls with"):
        make_client(acme).get_list(PULLS)
    assert len(acme.requests) == 5


def test_an_unreachable_host_is_given_up_for_all(acme: Emulator) -> None:
    client = make_client(acme)
    acme.url = client._origin = "http://127.0.0.1:9"
    with pytest.raises(PassingError, match=r"cannot be reached at http://127\.0\.0\.1:9"):
        client.get_list(PULLS)
    asked = client.requests
    with pytest.raises(IngestError, match="cannot be reached"):
        client.get_list(PULLS)
    assert (asked, client.requests) == (5, 5)


def test_links_are_followed_to_the_end(acme: Emulator) -> None:
    client, seen = make_client(acme), []
    path: str | None = PULLS
    while path:
        answer = client.get_list(path)
        seen += [item["number"] for item in answer.data]
        path = answer.next
    assert seen == [5, 4, 3, 2, 1]
    assert acme.requests[1].path.startswith("/repositories/1000/pulls?")


def test_links_are_followed_where_numbered_pages_end(github: Emulator) -> None:
    repository = github.world.add("acme/kernels")
    for _ in range(230):
        repository.open()
    github.per_page_limit = 2
    client, seen = make_client(github), []
    path: str | None = "/repos/acme/kernels/pulls?state=all&sort=created&direction=asc"
    while path:
        answer = client.get_list(path)
        seen += [item["number"] for item in answer.data]
        path = answer.next
    assert seen == list(range(1, 231))
    with pytest.raises(RefusedError, match="422"):
        client.get_list("/repos/acme/kernels/pulls?state=all&page=101")


def test_a_link_to_another_host_is_not_followed(acme: Emulator) -> None:
    client = make_client(acme, TOKEN)
    with pytest.raises(PayloadError, match=r"leads to 'evil\.example'"):
        client._path_of("https://evil.example/repos/x", "/y")


def test_a_new_name_is_followed(acme: Emulator) -> None:
    acme.world.repositories[1000].rename("acme/new")
    answer = make_client(acme).get_list(PULLS)
    assert (len(answer.data), answer.has_moved) == (2, True)


def test_etags_belong_to_a_token(acme: Emulator) -> None:
    one, two = make_client(acme, "one"), make_client(acme, "two")
    etag = one.get_list(PULLS).etag
    assert one.get_list(PULLS, etag).data is None
    assert two.get_list(PULLS, etag).data is not None


def test_every_request_names_the_version_of_the_api(acme: Emulator) -> None:
    make_client(acme).get_list(PULLS)
    assert acme.requests[0].headers["x-github-api-version"] == "2022-11-28"
    assert "authorization" not in acme.requests[0].headers


@pytest.mark.parametrize(
    ("kind", "path", "says"),
    [
        ("unauthorized", PULLS, "renew GITHUB_TOKEN"),
        ("", "/repos/acme/none", "there is no such thing"),
    ],
)
def test_a_refusal_says_what_to_do(acme: Emulator, kind: str, path: str, says: str) -> None:
    acme.faults = [Fault(kind)] if kind else []
    with pytest.raises(RefusedError, match=says):
        make_client(acme, TOKEN).get_list(path)
    assert len(acme.requests) == 1


@pytest.mark.parametrize("url", ["ftp://x", "localhost:80", ""])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ConfigError, match="KWDB_GITHUB_API_URL"):
        GitHub(url)


@pytest.mark.parametrize("count", [1, 2, LARGEST_QUERY])
def test_queries_are_valid_on_githubs_schema(count: int) -> None:
    assert validate(github_schema(), parse(build_query(count))) == []


def test_a_wrong_field_would_be_found() -> None:
    wrong = build_query(1).replace("reviewDecision", "reviewDecison")
    (error,) = validate(github_schema(), parse(wrong))
    assert "reviewDecision" in error.message


@pytest.mark.parametrize("kind", ["errors", "null_nodes", "bad_gateway"])
def test_a_query_that_fails_is_a_failure(acme: Emulator, kind: str) -> None:
    acme.faults = [Fault(kind, 99)]
    with pytest.raises(PassingError):
        fetch_extras(make_client(acme, TOKEN), "acme/kernels", [1, 2])
    assert len(acme.requests) == 1


def test_nothing_of_the_token_is_ever_shown(
    acme: Emulator, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client = make_client(acme, TOKEN)
    acme.faults = [Fault("bad_gateway", 2), Fault("unauthorized")]
    with pytest.raises(RefusedError) as caught:
        client.get_list(PULLS)
    logged = "\n".join(r.getMessage() for r in caplog.records if r.name.startswith("kwdb"))
    assert "trying again" in logged
    shown = f"{logged}{caught.value!r}{client!r}{client.token_id}"
    assert "s3cr3t" not in shown


SETTINGS = Settings("", "", "https://api.github.com", Path())


def gh(directory: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = directory / "gh"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")


def test_the_token_of_gh_is_the_second_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gh(tmp_path, 'echo "$4-token"', monkeypatch)
    assert find_token(SETTINGS) == "github.com-token"
    assert find_token(replace(SETTINGS, github_token=" mine\n")) == "mine"
    other = replace(SETTINGS, github_api_url="https://ghe.example/api/v3")
    assert find_token(other) == "ghe.example-token"


@pytest.mark.parametrize("script", ["exit 1", "echo; exit 0", "echo x; exit 1"])
def test_a_gh_that_knows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    gh(tmp_path, script, monkeypatch)
    assert find_token(SETTINGS) is None


def test_without_gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_token(SETTINGS) is None


@pytest.mark.parametrize("token", ["two words", "line\nfeed", "größe"])
def test_a_token_that_is_none_is_refused_unseen(token: str) -> None:
    with pytest.raises(ConfigError, match="GITHUB_TOKEN") as caught:
        find_token(replace(SETTINGS, github_token=token))
    assert token not in str(caught.value)


def test_token_ids() -> None:
    assert token_id(None) == ""
    assert token_id("a") != token_id("b")


def test_one_request_at_a_time_passes() -> None:
    governor = Governor()
    assert governor._in_flight.acquire(blocking=False)
    governor._in_flight.release()
