"""Small edits of generated functions, by the bug that they plant; whether one changes a result."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

from proofs.checks.frame.generated import prove_functions
from proofs.checks.frame.results import Failure
from proofs.checks.frame.statements import Lemma
from proofs.checks.frame.translation import Situation, Translation
from proofs.checks.frame.verification_conditions import Prover
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.contract.vocabulary import EVENT_FIELDS
from spec.events.alphabet import Kind
from spec.language.machine import Observer, Register
from spec.language.terms import Sort
from spec.stream.generate import CLAIM, REQUEST, Compiled, compiled, function_of, texts

Edit = Callable[[Any], None]

_OTHER = {"w": "n", "n": "w", "r": "q", "q": "r", "_lt": "_le", "_le": "_lt"}
_OTHER |= {"_and": "_or", "_or": "_and", "_add": "_sub", "_eq": "_lt"}
_RUNS = 400


def _operators(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.Compare(ops=[ast.Lt()]):
            yield lambda n: n.ops.__setitem__(0, ast.LtE())
        case ast.Compare(ops=[ast.LtE()]):
            yield lambda n: n.ops.__setitem__(0, ast.Lt())
        case ast.BoolOp(op=ast.And()):
            yield lambda n: setattr(n, "op", ast.Or())
        case ast.BoolOp(op=ast.Or()):
            yield lambda n: setattr(n, "op", ast.And())
        case ast.BinOp(op=ast.Add()):
            yield lambda n: setattr(n, "op", ast.Sub())
        case ast.Name(id=name) if name in _OTHER and name.startswith("_"):
            yield lambda n: setattr(n, "id", _OTHER[n.id])


def _constants(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield lambda n: setattr(n, "value", n.value + 1)


def _fields(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        sort = EVENT_FIELDS[node.value][0]
        every = [name for name, (each, _) in EVENT_FIELDS.items() if each is sort]
        every.remove("here") if "here" in every else None
        other = every[(every.index(node.value) + 1) % len(every)]
        yield lambda n: setattr(n, "value", other)


def _times(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.Subscript(value=ast.Name(id="w" | "n" | "r" | "q"), ctx=ast.Load()):
            yield lambda n: setattr(n.value, "id", _OTHER[n.value.id])


def _operands(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.Compare(ops=[ast.Lt() | ast.LtE()]):
            yield lambda n: n.__dict__.update(left=n.comparators[0], comparators=[n.left])
        case ast.IfExp():
            yield lambda n: n.__dict__.update(body=n.orelse, orelse=n.body)
        case ast.Call(func=ast.Name(id="_apply" | "_choose")):
            yield lambda n: n.args.append(n.args.pop(1))


def _rules(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.FunctionDef):
        for place, each in enumerate(node.body):
            if isinstance(each, ast.If):
                yield lambda n, place=place: n.body.pop(place)


def _parts(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.BoolOp(values=parts) if not isinstance(parts[0], ast.Compare):
            for place in range(len(parts)):
                yield lambda n, place=place: n.values.pop(place)
        case ast.Call(func=ast.Name(id="_and" | "_or"), args=parts):
            for place in range(len(parts)):
                yield lambda n, place=place: n.args.pop(place)


def _negations(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.If(test=ast.BoolOp()):
            yield lambda n: n.test.values.append(ast.UnaryOp(ast.Not(), n.test.values.pop()))
        case ast.UnaryOp(op=ast.Not()):
            yield lambda n: setattr(n, "operand", ast.UnaryOp(ast.Not(), n.operand))
        case ast.Call(func=ast.Name(id="_not")):
            yield lambda n: setattr(n, "args", [ast.Call(n.func, n.args, [])])


def _places(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.Assign(targets=[ast.Subscript(slice=ast.Constant())]):
            yield lambda n: setattr(n.targets[0].slice, "value", n.targets[0].slice.value ^ 1)


BUGS: dict[str, Callable[[ast.AST], Iterator[Edit]]] = {
    "wrong operator": _operators,
    "wrong constant": _constants,
    "wrong field": _fields,
    "now for was": _times,
    "swapped operands": _operands,
    "a dropped rule": _rules,
    "a dropped part": _parts,
    "a negation": _negations,
    "a register at another place": _places,
}


@dataclass(frozen=True)
class Site:
    """A generated function: the kind and mode that it is for, and how another one takes its place.

    `observer` is whose function it is, if it is one's.
    """

    name: str
    situation: Situation
    text: str
    put: Callable[[Callable[..., Any]], Compiled]
    observer: Observer | None = None

    def places(self, bug: str) -> list[tuple[int, Edit]]:
        """Where a bug can be planted, and by what edit."""
        nodes = enumerate(ast.walk(ast.parse(self.text)))
        return [(place, edit) for place, node in nodes for edit in BUGS[bug](node)]

    def planted(self, place: int, edit: Edit) -> str:
        """The text with one edit."""
        tree = ast.parse(self.text)
        edit(list(ast.walk(tree))[place])
        return ast.unparse(ast.fix_missing_locations(tree))

    def failures(self, text: str) -> list[Failure]:
        """What is found where the function of another text takes this one's place."""
        return found(self.situation, self.put(function_of(text)))

    def differs(self, other: str, rng: random.Random) -> bool:
        """Whether some random input, all of it known, gives another result."""
        one, two = function_of(self.text), function_of(other)
        for _ in range(_RUNS):
            given = self._arguments(rng)
            try:
                if one(*given) != two(*given):
                    return True
            except (IndexError, KeyError, TypeError):
                return True
        return False

    def _arguments(self, rng: random.Random) -> list[Any]:
        event = _values({name: sort for name, (sort, _) in EVENT_FIELDS.items()}, rng)
        claims, requests = (
            (_registers(CLAIM, rng) for _ in "wn"),
            (_registers(REQUEST, rng) for _ in "rq"),
        )
        own: Any = None
        if self.observer is not None:
            own = tuple(_registers(self.observer.registers, rng))
            if self.name.endswith(" step"):
                own = rng.randrange(len(self.observer.states)), own
        return [event, rng.random() < 0.5, rng.randrange(1, 4), *claims, *requests, own]


def found(situation: Situation, functions: Compiled) -> list[Failure]:
    """What is found of the functions of one kind of event."""
    prover = Prover()
    observers = () if situation.mode is None else MODES[situation.mode].bundle()
    prove_functions(Translation(prover), situation, observers, functions)
    return [failure for lemma in Lemma for failure in prover.answer(lemma).failures]


def sites(mode: Mode) -> dict[str, Site]:
    """The functions of a mode, those of equal text once, by their names."""
    every: dict[str, Site] = {}
    for kind in Kind:
        for site in _sites(Situation(kind, mode), compiled(kind, mode)):
            every.setdefault(f"{site.name} {site.text}", site)
    return {f"{site.name} {site.situation}": site for site in every.values()}


def _sites(situation: Situation, made: Compiled) -> Iterator[Site]:
    for name in ("claim", "request"):
        if getattr(made, name) is not None:
            for part in ("two", "three"):
                yield _site(f"{name} {part}", situation, made, (name, part))
    for part in ("opens", "opens_three"):
        yield _site(part, situation, made, (part,))
    assert situation.mode is not None
    observers = MODES[situation.mode].bundle()
    for scope in ("own", "scoped"):
        for at, watch in enumerate(getattr(made, scope)):
            observer = observers[watch.place]
            name = f"{observer.name} {scope}"
            yield _site(f"{name} step", situation, made, (scope, at, "step"), observer)
            for number, rule in enumerate(watch.rules):
                for part in ("holds", "sets") if rule.sets else ("holds",):
                    path = (scope, at, "rules", number, part)
                    whole = f"{name} {observer.rules[rule.number].name} {part}"
                    yield _site(whole, situation, made, path, observer)


def _site(
    name: str,
    situation: Situation,
    made: Compiled,
    path: tuple[str | int, ...],
    observer: Observer | None = None,
) -> Site:
    at: Any = made
    for step in path:
        at = at[step] if isinstance(step, int) else getattr(at, step)
    return Site(name, situation, texts[at], lambda f: with_part(made, path, f), observer)


def with_part(of: Any, path: tuple[str | int, ...], part: object) -> Any:
    """A copy in which another part, such as a function, is at the end of this path."""
    first, *rest = path
    at = of[first] if isinstance(first, int) else getattr(of, first)
    new = with_part(at, tuple(rest), part) if rest else part
    if isinstance(first, int):
        return (*of[:first], new, *of[first + 1 :])
    other = copy(of)
    other.__dict__[first] = new
    return other


def _values(sorts: dict[str, Sort], rng: random.Random) -> dict[str, bool | int]:
    chance = rng.choice((0.2, 0.5, 0.8))
    return {
        name: rng.random() < chance if sort is Sort.BOOL else rng.randrange(-1, 4)
        for name, sort in sorts.items()
    }


def _registers(registers: tuple[Register, ...], rng: random.Random) -> list[bool | int]:
    return [*_values({r.name: r.sort for r in registers}, rng).values()]
