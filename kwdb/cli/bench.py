"""`kwdb bench` and its kin: compile, prove, time and judge kernels; results to and from files."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kwdb.cli.output import JsonFlag, note, print_json, print_table
from kwdb.config import load_settings
from kwdb.errors import UserError

if TYPE_CHECKING:
    from benchmarks.problem import Problem, Shape
    from benchmarks.runner import Plan, Progress
    from benchmarks.source import KernelSource

_ABOUT_FLAGGED = "{} of {} timed cases did not pass; they are stored with their reason"


def bench(
    gpu: Annotated[
        str, typer.Option("--gpu", help="b200, h200, … or auto: whatever is here.")
    ] = "auto",
    problem: Annotated[str, typer.Option("--problem", help="Name of a problem, or all.")] = "all",
    kernel: Annotated[
        Path | None, typer.Option("--kernel", help="Your own CUDA source instead of ours.")
    ] = None,
    shape: Annotated[
        list[str] | None, typer.Option("--shape", help="Sizes, e.g. 7168,16384,1; repeatable.")
    ] = None,
    recipe: Annotated[
        list[str] | None, typer.Option("--recipe", help="Inputs: contest or wide; both if absent.")
    ] = None,
    compile_only: Annotated[
        bool, typer.Option("--compile-only", help="Compile; needs no GPU and no driver.")
    ] = False,
    arch: Annotated[
        list[str] | None, typer.Option("--arch", help="With --compile-only: e.g. sm_100a.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="With --compile-only: folder for the cubins.")
    ] = None,
    verify_all: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Also verify on all test shapes.")
    ] = True,
    settle: Annotated[
        bool, typer.Option("--settle", help="Give reported claims the status that follows.")
    ] = False,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write a bundle; no database is needed.")
    ] = None,
    list_only: Annotated[
        bool, typer.Option("--list", help="List problems and kernels, and stop.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Compile kernels, prove them right, time them cold, and set them against the claims.

    Every stage leaves a row, also where it fails. A figure is kept only for a kernel that passed
    on three seeds and whose timing passed every gate.

    Examples: kwdb bench --gpu h200 · kwdb bench --compile-only --arch sm_100a ·
    kwdb bench --kernel my.cu --problem nvfp4-gemv --shape 4096,4096,1
    """
    problems = _problems(problem)
    if list_only:
        return _show_list(problems, as_json=as_json)
    kernels = _kernels(kernel, problem, problems)
    if compile_only:
        return _compile(kernels, arch, output)
    if arch or output:
        raise typer.BadParameter("--arch and --output go with --compile-only")
    _measure(gpu, problems, kernels, (shape, recipe, verify_all), (settle, export, as_json))


def _problems(name: str) -> "list[Problem]":
    from benchmarks.problem import find_problem, load_problems

    return list(load_problems().values()) if name == "all" else [find_problem(name)]


def _kernels(own: Path | None, problem: str, problems: "Sequence[Problem]") -> "list[KernelSource]":
    from benchmarks.problem import find_problem
    from benchmarks.source import load_kernels, read_kernel

    names = {one.name for one in problems}
    if own is None:
        return [kernel for kernel in load_kernels() if kernel.problem in names]
    kernel = read_kernel(own, None if problem == "all" else problem)
    find_problem(kernel.problem)
    return [kernel]


def _show_list(problems: "Sequence[Problem]", *, as_json: bool) -> None:
    from benchmarks.source import load_kernels

    kernels = load_kernels()
    document = [
        {
            "problem": one.name,
            "title": one.title,
            "dimensions": one.dimensions,
            "benchmark_shapes": one.benchmark_shapes,
            "test_shapes": one.test_shapes,
            "recipes": one.recipes,
            "kernels": [
                {"kernel": k.name, "archs": k.archs, "requires": k.requires}
                for k in kernels
                if k.problem == one.name
            ],
            "entry": one.module.ENTRY_SIGNATURE,
            "source": one.source,
        }
        for one in problems
    ]
    if as_json:
        return print_json(document)
    for entry in document:
        typer.echo(f"{entry['problem']}: {entry['title']}")
        shapes = [",".join(map(str, shape.values())) for shape in entry["benchmark_shapes"]]
        typer.echo(f"  {','.join(entry['dimensions'])}: {' '.join(shapes)}")
        typer.echo(f'  a kernel is extern "C" __global__ void NAME{entry["entry"]}')
        rows = [(k["kernel"], " ".join(k["archs"])) for k in entry["kernels"]]
        print_table(("kernel", "architectures"), rows, widest=80)


def _compile(
    kernels: "Sequence[KernelSource]", archs: Sequence[str] | None, folder: Path | None
) -> None:
    """Print the JSON document of the compiled kernels; exit 1 when one did not compile."""
    from benchmarks.compile import ARCHS, check_arch, compile_kernel, require_compiler

    require_compiler()
    wanted = [check_arch(arch) for arch in archs or ARCHS]
    place = folder or Path("cubins")
    found = [compile_kernel(k, arch) for k in kernels for arch in wanted if arch in k.archs]
    if not found:
        known = sorted({arch for kernel in kernels for arch in kernel.archs})
        raise UserError(f"no kernel is written for {', '.join(wanted)}: use {', '.join(known)}")
    entries = []
    for one in found:
        file = place / f"{one.kernel}.{one.arch}.cubin" if one.cubin else None
        if file is not None:
            _write(file, one.cubin)
        entries.append(one.as_json(str(file) if file else None))
    print_json({"kernels": entries})
    bad = [
        f"{one.kernel} for {one.arch}: {one.status}" for one in found if one.status != "compiled"
    ]
    if bad:
        raise UserError("; ".join(bad))


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as exc:
        raise UserError(f"cannot write {path}: {exc}") from exc


def _measure(
    gpu: str,
    problems: "Sequence[Problem]",
    kernels: "Sequence[KernelSource]",
    what: tuple[Sequence[str] | None, Sequence[str] | None, bool],
    after: tuple[bool, Path | None, bool],
) -> None:
    from benchmarks.compile import ARCH_OF_CAPABILITY
    from benchmarks.probe import choose_device
    from benchmarks.runner import run_plan

    settles, export, as_json = after
    index, name, capability = choose_device(gpu)
    arch = ARCH_OF_CAPABILITY[capability]
    engine = None if export else _open_database()
    note(f"device {index}: {name}, {arch}")
    arguments = shlex.join(sys.argv[1:])
    documents = []
    for problem in problems:
        plan = _plan(problem, kernels, arch, what)
        with _progress(plan) as say:
            bundle = run_plan(plan, index, arch, arguments, say)
        documents.append(bundle)
    if export:
        _write(export, json.dumps(_one_bundle(documents), ensure_ascii=False).encode())
        note(f"{export} written; bring it in with: kwdb import bench {export}")
    for bundle in documents:
        _store_and_show(engine, bundle, settles=settles, as_json=as_json)


def _one_bundle(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    if len(documents) != 1:
        raise UserError("a bundle holds one problem: name it with --problem")
    return documents[0]


def _open_database() -> Any:
    from kwdb.db import open_writer

    return open_writer(load_settings().database_url)


def _plan(
    problem: "Problem",
    kernels: "Sequence[KernelSource]",
    arch: str,
    what: tuple[Sequence[str] | None, Sequence[str] | None, bool],
) -> "Plan":
    from benchmarks.runner import Plan
    from kwdb.errors import UnknownValueError

    texts, recipes, verifies = what
    for recipe in recipes or ():
        if recipe not in problem.recipes:
            raise UnknownValueError("input recipe", recipe, problem.recipes)
    mine = [k for k in kernels if k.problem == problem.name and arch in k.archs]
    if not mine:
        raise UserError(f"no kernel of {problem.name} is written for {arch}")
    timed: Sequence[Shape] = [problem.parse_shape(text) for text in texts or ()]
    others = problem.test_shapes if verifies and not timed else ()
    return Plan(
        mine, problem, timed or problem.benchmark_shapes, others, recipes or problem.recipes
    )


@contextmanager
def _progress(plan: "Plan") -> "Iterator[Progress]":
    """Yield what to call with each step: a bar on a terminal, a line elsewhere."""
    total = sum(1 for _ in plan.jobs())
    if not sys.stderr.isatty():
        yield note
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=total)
        done = -1

        def say(text: str) -> None:
            nonlocal done
            done += 1
            bars.update(task, description=text, completed=done)

        yield say


def _store_and_show(engine: Any, bundle: dict[str, Any], *, settles: bool, as_json: bool) -> None:
    from benchmarks.record import record

    recorded = record(engine, bundle, settles=settles) if engine is not None else None
    relations = recorded.relations if recorded else []
    if as_json:
        print_json({"bundle": bundle, "relations": relations})
    else:
        _show_results(bundle, relations)
    timed = [case for case in bundle["cases"] if case.get("samples")]
    failed = [case for case in bundle["cases"] if case["status"] not in ("passed", "unsupported")]
    for case in failed:
        shape = " ".join(f"{name}={size}" for name, size in case["shape"].items())
        reason = case["message"].strip().splitlines()
        note(f"{case['kernel']} {shape} {case['recipe']}: {case['status']}: {' '.join(reason[:1])}")
    if failed:
        note(_ABOUT_FLAGGED.format(len(failed), len(bundle["cases"])))
    if not timed:
        raise UserError("nothing could be timed; the lines above say why")


def _show_results(bundle: Mapping[str, Any], relations: Sequence[Mapping[str, Any]]) -> None:
    gpu = bundle["environment"]["gpu_name"]
    rows = []
    for case in bundle["cases"]:
        if samples := case.get("samples"):
            timed = samples[0]
            spread = (timed["ci_high_us"] - timed["ci_low_us"]) / 2
            share = 100 * case["sol_us"] / timed["median_us"]
            shape = ",".join(map(str, case["shape"].values()))
            rows.append(
                (case["kernel"], shape, case["recipe"], f"{timed['median_us']:.2f}",
                 f"±{spread:.2f}", f"{share:.0f}", gpu, case["status"])
            )  # fmt: skip
    columns = ("kernel", "shape", "inputs", "median us", "95 %", "% of roof", "gpu", "status")
    print_table(columns, rows, widest=40)
    verified = [case for case in bundle["cases"] if not case.get("samples")]
    if verified:
        passed = sum(case["status"] == "passed" for case in verified)
        typer.echo(f"{passed} of {len(verified)} further cases verified")
    _show_relations(relations)


def _show_relations(relations: Sequence[Mapping[str, Any]]) -> None:
    """Print each reported claim once, with the verdict that says most about it."""
    if not relations:
        return
    order = ("reproduces", "contradicts", "ambiguous", "not_comparable")
    best: dict[int, Mapping[str, Any]] = {}
    for one in sorted(relations, key=lambda one: order.index(one["relation"])):
        best.setdefault(one["other_claim_id"], one)
    rows = [
        (
            r["value"],
            r["gpu"],
            r["shape"],
            r["variant"],
            one["relation"],
            one["differing_fields"] or one["evidence"],
        )
        for one in best.values()
        for r in [one["reported"]]
    ]
    typer.echo("")
    columns = ("reported us", "gpu", "shape", "variant", "this run", "why")
    print_table(columns, rows, widest=48)


def import_bench(
    file: Annotated[Path, typer.Argument(help="Bundle that `kwdb bench --export` wrote.")],
    settle: Annotated[
        bool, typer.Option("--settle", help="Give reported claims the status that follows.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Store measurements that were made elsewhere; doing it again changes nothing.

    Example: kwdb import bench bundle.json
    """
    from benchmarks.record import record
    from benchmarks.runner import read_bundle

    bundle = read_bundle(file)
    recorded = record(_open_database(), bundle, settles=settle)
    if as_json:
        return print_json(
            {
                "claims": recorded.claims,
                "relations": recorded.relations,
                "settled": recorded.settled,
            }
        )
    if not recorded.claims:
        return note("nothing new: the run is stored already, or no case of it passed")
    _show_results(bundle, recorded.relations)
    note(f"{recorded.claims} measured claims and {len(recorded.relations)} relations stored")


def bench_doctor(as_json: JsonFlag = False) -> None:
    """Say whether kernels can be compiled and measured here, one line a question."""
    from benchmarks.doctor import examine

    answers = list(examine())
    if as_json:
        print_json([{"question": q, "verdict": v, "detail": d} for q, v, d in answers])
    else:
        for question, verdict, detail in answers:
            typer.echo(f"{verdict:4}  {question}: {detail}")
    if any(verdict == "fail" for _, verdict, _ in answers):
        raise typer.Exit(1)
