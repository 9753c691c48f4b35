# The developer's front door. Needs python3 (3.11 or newer), git and make; the rest comes into .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test test-long check docs wheel bench clean

run: .venv/run  ## install, make a database, harvest one repository, ask it twice
	$(BIN)/kwdb init
	$(BIN)/kwdb ingest deepgemm --no-api
	$(BIN)/kwdb search UMMA --limit 3
	$(BIN)/kwdb sql "SELECT repo, decision, count(*) AS pull_requests FROM pr_overview GROUP BY repo, decision"

test: .venv/test check  ## lint, types, layering and the whole suite
	$(BIN)/python -m pytest -q -n 2

test-long: .venv/test  ## the property tests of the harvest with 2,000 examples each
	KWDB_TEST_EXAMPLES=2000 $(BIN)/python -m pytest -q -n 2 tests/ingest/test_pulls_properties.py

check: .venv/test  ## lint, types, layering
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: .venv/test  ## write what is generated
	$(BIN)/python -m kwdb.schema_reference > docs/schema.md

bench: .venv/test  ## 100,000 pages and pull requests: latency of search, a backfill compared
	mkdir -p .bench
	rm -f .bench/harvest.sqlite*
	PYTHONPATH=tests $(BIN)/python tests/bench/harvest_scale.py sqlite:///$(CURDIR)/.bench/harvest.sqlite
	$(BIN)/python tests/bench/search_scale.py sqlite:///$(CURDIR)/.bench/search.sqlite 100000

wheel: .venv/test  ## build the wheel into dist/
	$(BIN)/python -m build --wheel

clean:  ## remove what make made
	rm -rf .venv .bench dist build .pytest_cache .mypy_cache .ruff_cache

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/run: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install -q --disable-pip-version-check -e .
	touch $@

.venv/test: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[test]'
	touch $@
