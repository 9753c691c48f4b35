"""Every code fragment of the topic pages compiles for the architectures that it names.

NVRTC needs neither a GPU nor a driver. The first line of a fragment is `// arch: sm_90a`; a second
line `// also: sm_100a` names further targets. Python fragments are parsed.
"""

import ast
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from cuda.bindings import nvrtc

from kwdb.resources import data_dir

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
ENTRY = re.compile(r"\.visible \.entry (\w+)\((.*?)\)[^{]*\{\n(.*)\n\}", re.S)
PARAMETER = re.compile(r"\.param \.(\w+) (\w+)")
C_TYPES = {"u64": "unsigned long long", "u32": "unsigned int", "f32": "float"}
CODE = {"cuda", "ptx", "python"}


@dataclass(frozen=True)
class Fragment:
    """A fenced block of a page."""

    page: str
    number: int
    language: str
    text: str

    @property
    def targets(self) -> list[str]:
        heads = ("// arch: ", "// also: ")
        lines = zip(heads, self.text.splitlines(), strict=False)
        return [line.removeprefix(head) for head, line in lines if line.startswith(head)]


def fragments() -> list[Fragment]:
    found = []
    for path in sorted((data_dir("seeds") / "pages").glob("*.yaml")):
        page = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
        for number, (language, text) in enumerate(FENCE.findall(page["body"])):
            found.append(Fragment(page["id"], number, language, text))
    return found


FRAGMENTS = fragments()
COMPILED = [
    pytest.param(one, target, id=f"{one.page}-{one.number}-{target}")
    for one in FRAGMENTS
    if one.language in ("cuda", "ptx")
    for target in one.targets
]
PARSED = [pytest.param(f, id=f"{f.page}-{f.number}") for f in FRAGMENTS if f.language == "python"]


def include_directories() -> list[Path]:
    root = Path(str(files("nvidia") / "cu13" / "include"))
    return [root, root / "cccl"]


def compile_cubin(source: str, target: str) -> str:
    """Return what the compiler complains of; empty when it made a cubin."""
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"fragment.cu", 0, [], [])
    options = [f"--gpu-architecture={target}", "--std=c++17"]
    options += [f"-I{directory}" for directory in include_directories()]
    (result,) = nvrtc.nvrtcCompileProgram(program, len(options), [o.encode() for o in options])
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = b" " * size
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(program)
    done = result == nvrtc.nvrtcResult.NVRTC_SUCCESS
    return "" if done else log.decode().strip("\0 \n") or str(result)


def as_cuda(module: str) -> str:
    """A PTX module of one kernel as a CUDA kernel with the same instructions and parameters."""
    match = ENTRY.search(module)
    assert match, "no .visible .entry"
    name, parameters, body = match.groups()
    declared = PARAMETER.findall(parameters)
    for position, (_, parameter) in enumerate(declared):
        body = body.replace(f"[{parameter}]", f"[{name}_param_{position}]")
    lines = "\n".join(f'"{line}\\n"' for line in body.splitlines())
    signature = ", ".join(f"{C_TYPES[kind]} {parameter}" for kind, parameter in declared)
    return f'extern "C" __global__ void {name}({signature}) {{\nasm volatile({lines});\n}}'


def test_pages_with_code_have_fragments_of_known_languages() -> None:
    assert len(COMPILED) >= 39
    assert {one.language for one in FRAGMENTS} - {"text"} <= CODE
    promised = {"technique", "kernel", "lang"}
    pages = {path.stem for path in (data_dir("seeds") / "pages").glob("*.yaml")}
    wanted = {page for page in pages if page.partition("-")[0] in promised}
    assert wanted - {one.page for one in FRAGMENTS if one.language in CODE} == set()


@pytest.mark.parametrize(("fragment", "target"), COMPILED)
def test_a_fragment_compiles(fragment: Fragment, target: str) -> None:
    assert re.fullmatch(r"sm_\d+[af]?", target)
    source = as_cuda(fragment.text) if fragment.language == "ptx" else fragment.text
    assert compile_cubin(source, target) == ""


@pytest.mark.parametrize("fragment", PARSED)
def test_a_python_fragment_parses(fragment: Fragment) -> None:
    assert ast.parse(fragment.text).body


@pytest.mark.parametrize(
    "source",
    ["__global__ void f() { int x = ; }", 'extern "C" __global__ void f() { asm("tcgen05.x;"); }'],
)
def test_what_does_not_compile_is_seen(source: str) -> None:
    assert compile_cubin(source, "sm_100a")
