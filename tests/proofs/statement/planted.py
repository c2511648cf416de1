"""Plants single mistakes in the modules that a theorem's statement is made by.

`mistakes(module)` are all that the generator makes of one module: another operator, a constant one
more, a conjunct or an entry left out, all for any, before for after. `python -m
tests.proofs.statement.planted MODULE [FIRST [STEP]]` plants one after another, each in a process of
its own, and prints what noticed it.
"""

from __future__ import annotations

import ast
import copy
import importlib.abc
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

__all__ = ["MODULES", "Mistake", "mistakes", "noticed"]

MODULES: Final = ("proofs.model.system", "proofs.logic.encode", "proofs.logic.connectives")
"""Those of which a second reading exists; of `proofs.model.pair` it does for claims and ranks."""

_ROOT: Final = Path(__file__).parents[3]
_COMPARED: Final = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_JOINED: Final = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}
_NAMES: Final = {
    "all_of": "any_of",
    "any_of": "all_of",
    "conj": "disj",
    "disj": "conj",
    "And": "Or",
    "Or": "And",
    "now": "was",
    "was": "now",
    "req": "req_was",
    "req_was": "req",
    "PENDING": "SATISFIED",
    "VIOLATED": "PENDING",
    "SATISFIED": "VIOLATED",
    "state": "following",
}
_MANY: Final = 2  # parts, of which one can be left out


class Mistake(NamedTuple):
    """One mistake: where, what was done, and the source with it."""

    line: int
    says: str
    source: str


def mistakes(module: str) -> list[Mistake]:
    """Every mistake that the generator makes in a module, in the order of its lines."""
    source = _path(module).read_text(encoding="utf-8")
    tree = ast.parse(source)
    found = []
    places = [*_code(tree)]
    for number, node in enumerate(places):
        for variant in range(sum(1 for _ in _changed(copy.deepcopy(node)))):
            again = ast.parse(source)
            target = [*_code(again)][number]
            says = next(says for at, says in enumerate(_changed(target)) if at == variant)
            found.append(Mistake(getattr(node, "lineno", 0), says, ast.unparse(again)))
    return sorted(found, key=lambda each: (each.line, each.says))


_NO_CODE: Final = {"annotation", "returns", "decorator_list", "bases"}


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """What is evaluated below a node, without types and what a module exports."""
    yield node
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    for name, value in ast.iter_fields(node):
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST) and name not in _NO_CODE:
                yield from _code(each)


def _changed(node: ast.AST) -> Iterator[str]:
    """Make each mistake in a node in its turn; the node keeps the one at which this is left."""
    match node:
        case ast.Compare(ops=[op, *_]) if type(op) in _COMPARED:
            node.ops[0] = _COMPARED[type(op)]()
            yield f"{type(op).__name__} is {type(node.ops[0]).__name__}"
        case ast.BinOp(op=op) if type(op) in _JOINED:
            node.op = _JOINED[type(op)]()
            yield f"{type(op).__name__} is {type(node.op).__name__}"
        case ast.Constant(value=bool() as value):
            node.value = not value
            yield f"{value} is {not value}"
        case ast.Constant(value=int() as value):
            node.value = value + 1
            yield f"{value} is {value + 1}"
        case ast.List(elts=parts) | ast.Tuple(elts=parts) if len(parts) >= _MANY:
            for at in range(len(parts)):
                node.elts = [each for place, each in enumerate(parts) if place != at]
                yield f"part {at} is left out"
        case ast.Call(func=ast.Name(id="conj" | "disj"), args=parts) if len(parts) > _MANY:
            for at in range(len(parts)):
                node.args = [each for place, each in enumerate(parts) if place != at]
                yield f"argument {at} is left out"
        case ast.Call(func=ast.Attribute(attr="And" | "Or"), args=parts) if len(parts) >= _MANY:
            for at in range(len(parts)):
                node.args = [each for place, each in enumerate(parts) if place != at]
                yield f"argument {at} is left out"
        case ast.Name(id=name) if name in _NAMES:
            node.id = _NAMES[name]
            yield f"{name} is {_NAMES[name]}"
        case ast.Attribute(attr=name) if name in _NAMES:
            node.attr = _NAMES[name]
            yield f"{name} is {_NAMES[name]}"
        case ast.IfExp(body=body, orelse=orelse):
            node.body, node.orelse = orelse, body
            yield "a choice is made the other way"


def _path(module: str) -> Path:
    return _ROOT / f"{module.replace('.', '/')}.py"


class _Planted(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from another source."""

    def __init__(self, module: str, source: str) -> None:
        self._module, self._source = module, source

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self._module:
            return None
        return importlib.util.spec_from_loader(name, self, origin=str(_path(name)))

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._source, str(_path(self._module)), "exec"), module.__dict__)


def noticed(module: str, source: str) -> str:
    """What notices a mistake, in a process of its own; empty if it is not noticed."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            answer = _noticed(module, source)
        except BaseException as fault:  # the mistake is noticed at once
            answer = f"{type(fault).__name__}"
        os.write(writing, answer.encode()[:4_000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said


def _noticed(module: str, source: str) -> str:
    for name in [name for name in sys.modules if name.split(".")[0] == "proofs"]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Planted(module, source))
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    from proofs.checks.statement.check import each_check
    from spec.claims.states import Mode

    of_one = (Mode.HARD_PROTECTED, Mode.OFFLOADABLE, Mode.ROUTED_REUSE)
    for mode in (Mode.SOFT_PRIORITY,) if module == "proofs.model.pair" else of_one:
        for check in each_check(mode):
            if check.result != "proved":
                return f"{mode}: {check.name} {check.result}"
    return ""


def main() -> None:
    """Plant the mistakes of a module."""
    module, *numbers = [each for each in sys.argv[1:] if each != "-v"]
    first, step = [*numbers, "0", "1"][:2] if len(numbers) != 1 else [*numbers, "1"]
    count = survived = 0
    for mistake in mistakes(module)[int(first) :: int(step)]:
        count += 1
        what = noticed(module, mistake.source)
        survived += not what
        if not what or "-v" in sys.argv:
            print(f"{module}:{mistake.line}: {mistake.says}: {what or 'NOT NOTICED'}", flush=True)
    print(f"{count} mistakes, {survived} not noticed")


if __name__ == "__main__":
    main()
