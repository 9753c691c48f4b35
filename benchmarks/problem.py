"""Problems: what is computed, on which shapes, and the module that knows how.

A problem is a YAML file in `problems/` and a module with `make_inputs`, `reference`,
`rotated`, `output_shape`, `bytes_moved`, `operations`, `scalar_arguments`, `ENTRY_SIGNATURE` and
`OUTPUT_DTYPE`, each as in `benchmarks.gemv`; the runner asks nothing more of it.
"""

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from typing import Any

import yaml

from kwdb.errors import UnknownValueError, UserError

Shape = dict[str, int]


@dataclass(frozen=True)
class Problem:
    """One problem; `module` is imported when something is computed."""

    name: str
    title: str
    module_name: str
    op: str
    dtype: str
    dimensions: tuple[str, ...]
    benchmark_shapes: tuple[Shape, ...]
    test_shapes: tuple[Shape, ...]
    recipes: tuple[str, ...]
    source: str

    @cached_property
    def module(self) -> Any:
        """The module that makes inputs, computes references and counts bytes."""
        return import_module(self.module_name)

    def parse_shape(self, text: str) -> Shape:
        """Read `7168,16384,1`, in the order of `dimensions`.

        Raises:
            UserError: another number of dimensions, or something that is no positive number.
        """
        parts = text.replace("x", ",").split(",")
        if len(parts) != len(self.dimensions) or not all(part.strip().isdigit() for part in parts):
            wanted = ",".join(self.dimensions)
            raise UserError(
                f"shape {text!r} of {self.name} is not {wanted}: give {len(self.dimensions)} "
                "positive numbers, e.g. " + ",".join(map(str, self.benchmark_shapes[0].values()))
            )
        shape = dict(zip(self.dimensions, map(int, parts), strict=True))
        if not all(shape.values()):
            raise UserError(f"shape {text!r} of {self.name} has a dimension of 0")
        return shape


def show_shape(shape: Shape) -> str:
    """Return `M=7168 K=16384 L=1`."""
    return " ".join(f"{name}={size}" for name, size in shape.items())


def load_problems() -> dict[str, Problem]:
    """Return all problems by name."""
    found = {}
    for file in sorted((files("benchmarks") / "problems").iterdir(), key=lambda path: path.name):
        if file.name.endswith(".yaml"):
            fields = yaml.safe_load(file.read_text(encoding="utf-8"))
            fields["module_name"] = fields.pop("module")
            lists = ("dimensions", "benchmark_shapes", "test_shapes", "recipes")
            problem = Problem(**fields | {name: tuple(fields[name]) for name in lists})
            found[problem.name] = problem
    return found


def find_problem(name: str) -> Problem:
    """Return one problem.

    Raises:
        UnknownValueError: there is none of this name.
    """
    problems = load_problems()
    if name not in problems:
        raise UnknownValueError("problem", name, problems)
    return problems[name]
