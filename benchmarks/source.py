"""Kernel sources and the lines by which they say how they want to be called.

A kernel is one CUDA C++ file. Comment lines that begin with `// kwdb:` hold its directives:

    // kwdb: problem   nvfp4-gemv          which problem it solves
    // kwdb: entry     my_gemv             the extern "C" __global__ function
    // kwdb: arch      sm_90a sm_100a      compiler targets it is written for
    // kwdb: block     256                 threads per block, up to three numbers
    // kwdb: grid      (M + 7) // 8, L     blocks, up to three numbers
    // kwdb: shared    0                   dynamic shared memory in bytes
    // kwdb: requires  K % 256 == 0        shapes it takes; may be given several times
    // kwdb: registers 128                 most registers per thread that we accept
    // kwdb: sass      IMMA LDGSTS         instructions that must be in the machine code

Sizes are whole-number expressions of the problem's dimensions, of `sms` (multiprocessors of the
device), of `ceil(a, b)`, `min`, `max`, and, after `grid`, of `grid_x`, `grid_y` and `grid_z`.
"""

import ast
import hashlib
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from kwdb.errors import InvalidRecordError, UserError

_DIRECTIVE: Final = re.compile(r"^// kwdb: (\w+)\s+(.+?)\s*$", re.MULTILINE)
_KNOWN: Final = frozenset("problem entry arch block grid shared requires registers sass".split())
_NEEDED: Final = ("problem", "entry", "arch", "block", "grid")
_LARGEST: Final = 2**40

_OPERATORS: Final[Mapping[type[ast.AST], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Eq: operator.eq,
    ast.LtE: operator.le,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
}
_FUNCTIONS: Final[Mapping[str, Callable[..., int]]] = {
    "min": min,
    "max": max,
    "ceil": lambda a, b: -(-a // b),
}


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel is started on one shape: blocks, threads, dynamic shared memory in bytes."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A CUDA source with its directives."""

    name: str
    text: str
    problem: str
    entry: str
    archs: tuple[str, ...]
    block: str
    grid: str
    shared: str = "0"
    requires: tuple[str, ...] = ()
    registers: int = 255
    sass: tuple[str, ...] = ()
    sha256: str = field(default="")

    def launch(self, shape: Mapping[str, int], sms: int) -> Launch:
        """Return the launch for `shape` on a device with `sms` multiprocessors."""
        names = {**shape, "sms": sms}
        grid = self._sizes(self.grid, names)
        names |= dict(zip(("grid_x", "grid_y", "grid_z"), grid, strict=True))
        return Launch(grid, self._sizes(self.block, names), evaluate(self.shared, names))

    def _sizes(self, text: str, names: Mapping[str, int]) -> tuple[int, int, int]:
        tree = ast.parse(f"({text},)", mode="eval").body
        sizes = [_value(one, names, text) for one in tree.elts]  # type: ignore[attr-defined]
        if len(sizes) > 3 or min(sizes, default=0) < 1:
            raise UserError(f"kernel {self.name}: {text!r} is not one to three positive numbers")
        x, y, z = (*sizes, 1, 1)[:3]
        return x, y, z

    def unmet(self, shape: Mapping[str, int]) -> str | None:
        """Return the first requirement that `shape` does not meet, or None."""
        return next((text for text in self.requires if not evaluate(text, shape)), None)


def evaluate(text: str, names: Mapping[str, int]) -> int:
    """Compute a whole-number expression.

    Raises:
        UserError: an unknown name, anything but arithmetic, or a result that is out of bounds.
    """
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as exc:
        raise UserError(f"{text!r} is no expression: {exc.msg}") from exc
    return _value(tree, names, text)


def _value(node: ast.AST, names: Mapping[str, int], text: str) -> int:
    result = _compute(node, names, text)
    if not -_LARGEST <= result <= _LARGEST:
        raise UserError(f"{text!r} gives {result}, which is out of bounds")
    return int(result)


def _compute(node: ast.AST, names: Mapping[str, int], text: str) -> Any:
    match node:
        case ast.Constant(value=int()):
            return node.value
        case ast.Name() if node.id in names:
            return names[node.id]
        case ast.BinOp() if type(node.op) in _OPERATORS:
            left, right = (_value(side, names, text) for side in (node.left, node.right))
            if right == 0 and isinstance(node.op, (ast.FloorDiv, ast.Mod)):
                raise UserError(f"{text!r} divides by zero")
            return _OPERATORS[type(node.op)](left, right)
        case ast.Compare(ops=[op]) if type(op) in _OPERATORS:
            sides = (node.left, node.comparators[0])
            return _OPERATORS[type(op)](*(_value(side, names, text) for side in sides))
        case ast.Call(func=ast.Name(), keywords=[]) if node.func.id in _FUNCTIONS:  # type: ignore[attr-defined]
            arguments = [_value(one, names, text) for one in node.args]
            if len(arguments) == 2:
                return _FUNCTIONS[node.func.id](*arguments)  # type: ignore[attr-defined]
    known = ", ".join([*sorted(names), *(f"{name}(a, b)" for name in sorted(_FUNCTIONS))])
    raise UserError(f"cannot compute {text!r}: use whole numbers, + - * // %, {known}")


def parse_kernel(text: str, name: str, where: str, problem: str | None = None) -> KernelSource:
    """Read the directives of a source; `problem` stands in where the source names none.

    Raises:
        InvalidRecordError: a directive is unknown, missing or given twice.
    """
    found: dict[str, str] = {"problem": problem} if problem else {}
    requires = []
    for match in _DIRECTIVE.finditer(text):
        key, value = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        if key not in _KNOWN:
            raise InvalidRecordError(where, line, key, f"unknown; known: {sorted(_KNOWN)}")
        if key == "requires":
            requires.append(value)
        elif key in found and key != "problem":
            raise InvalidRecordError(where, line, key, "given twice")
        else:
            found[key] = value
    for key in _NEEDED:
        if key not in found:
            raise InvalidRecordError(where, None, key, f'no line "// kwdb: {key} …"')
    return KernelSource(
        name=name,
        text=text,
        problem=found["problem"],
        entry=found["entry"],
        archs=tuple(found["arch"].split()),
        block=found["block"],
        grid=found["grid"],
        shared=found.get("shared", "0"),
        requires=tuple(requires),
        registers=evaluate(found.get("registers", "255"), {}),
        sass=tuple(found.get("sass", "").split()),
        sha256=hashlib.sha256(text.encode()).hexdigest(),
    )


def read_kernel(path: Path, problem: str | None = None) -> KernelSource:
    """Read a person's own kernel.

    Raises:
        UserError: the file cannot be read or is not UTF-8.
        InvalidRecordError: its directives cannot be used.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise UserError(f"cannot read the kernel {path}: {exc}") from exc
    return parse_kernel(text, path.stem, str(path), problem)


def load_kernels() -> list[KernelSource]:
    """Return the kernels that are shipped, by name; the roof probe is not among them."""
    folder = files("benchmarks") / "kernels"
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".cu"))
    kernels = [
        parse_kernel((folder / name).read_text(encoding="utf-8"), name[:-3], f"kernels/{name}")
        for name in names
    ]
    return [kernel for kernel in kernels if kernel.problem != "roof"]


def load_roof() -> KernelSource:
    """Return the kernel that measures read bandwidth."""
    text = (files("benchmarks") / "kernels" / "read_roof.cu").read_text(encoding="utf-8")
    return parse_kernel(text, "read_roof", "kernels/read_roof.cu")
