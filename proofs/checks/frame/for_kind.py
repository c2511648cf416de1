"""Proves that the functions for one kind of event equal the terms.

An event of one kind leaves most of a term decided, and the functions of `monitor.evaluate.by_kind`
and `monitor.evaluate.inlined` hold the rest. Here each is read back, and compared with the whole
terms for every event of that kind. Nothing else is assumed, but that the registers after the event
are those that the ledgers give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import z3

from monitor.evaluate.by_kind import source_of
from monitor.evaluate.inlined import inlined_source
from proofs.checks.frame.effects import OBSERVERS, Standing, effects
from proofs.checks.frame.moved import Moved
from proofs.checks.frame.reader import Record, Refused, functions, meaning
from proofs.checks.frame.space import (
    EVENTS,
    constant,
)
from proofs.checks.frame.statements import BY_KIND
from proofs.checks.frame.verification_conditions import Question
from spec.claims.states import TRANSITIONS
from spec.contract.facts import FACTS_ARE_FACTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from proofs.checks.frame.effects import Effects
    from proofs.checks.frame.reader import Function, Value
    from proofs.logic.encode import Expr
    from spec.events.alphabet import Kind
    from spec.language.machine import Observer

__all__ = ["inlined_questions", "plain_questions"]

KINDS: Final = EVENTS
"""The kinds whose functions are read."""

_TAINTED: Final = z3.Bool("run.taint is not None")
_CONDITIONS: Final[Mapping[str, Expr]] = {
    "run.taint is not None": _TAINTED,
    "e.direct and run.predicate is not None": z3.Bool("facts are checked"),
    "run.requests or run.retired": z3.Bool("run.requests or run.retired"),
    "e.request_id in run.requests": z3.Bool("e.request_id in run.requests"),
}
_REQUESTS: Final = {
    True: ("run.step_requests(e, was, now)", _CONDITIONS["run.requests or run.retired"]),
    False: (
        "run.step_own(e.request_id, e, was, now)",
        _CONDITIONS["e.request_id in run.requests"],
    ),
}
_FIND_OWED: Final = "run.find_owed()"
_CONTRADICT: Final = tuple(f"run.contradict({i}, e, was)" for i in range(len(FACTS_ARE_FACTS)))
_CHANGE: Final = {f"run.change(request_id, request, {name})": name for name in ("req", "req_was")}
"""The calls that change a request, with the name of its registers after the event."""


@dataclass(frozen=True)
class _Case:
    """Events of some kinds that are about a claim, or are not, and the observers of a bundle."""

    setting: Moved
    observers: tuple[Observer, ...]
    kinds: tuple[Kind, ...]
    about: bool

    @property
    def scoped(self) -> tuple[Observer, ...]:
        """The observers that are followed for each request."""
        return tuple(o for o in self.observers if o.per_request)

    @property
    def given(self) -> tuple[Expr, ...]:
        """It is such an event."""
        event = self.setting.event
        kind = z3.Or([_is(self.setting, kind) for kind in self.kinds])
        return kind, event["mine"] == self.about, event["named"] == self.about

    def __str__(self) -> str:
        return f"{', '.join(self.kinds)} {'about' if self.about else 'beside'} a claim"


def plain_questions(setting: Moved, kind: Kind) -> Iterator[Question]:
    """Whether the functions that `by_kind` makes for a kind equal the terms; raises Refused."""
    given, of = (_is(setting, kind),), f"{kind}"
    now, req = setting.now, setting.req
    arguments: dict[str, Value] = {
        **_arguments(setting),
        "req": tuple(req.values()),
    }
    text = functions(source_of(kind))
    for name, expected, before in (("claim", now, setting.was), ("request", req, setting.req_was)):
        found = tuple(before.values())
        if name in text:
            found = meaning(text[name], [arguments[each] for each in text[name].arguments])
        yield _equal(of, name, given, tuple(expected.values()), found)
    broken, number = z3.BoolVal(False), constant(-1)
    for index, fails in reversed(list(enumerate(setting.broken))):
        broken, number = z3.Or(broken, fails), z3.If(fails, constant(index), number)
    found = constant(-1)
    if "contradicts" in text:
        function = text["contradicts"]
        found = meaning(function, [arguments[each] for each in function.arguments])
    yield _equal(of, "contradicts", given, (number,), (found,))
    for o in setting.observers:
        state, own = setting.standing[o.name]
        made = (state, own, constant(-1))
        text = functions(source_of(kind, o))
        if text:
            (function,) = text.values()
            values = {**arguments, "state": state, "own": own}
            made = meaning(function, [values[each] for each in function.arguments])
        step = setting.step(o, scoped=True)
        yield _equal(
            of, o.name, given, (step.state, *step.own, step.rule), (made[0], *made[1], made[2])
        )


def inlined_questions(setting: Moved, observers: Sequence[Observer]) -> Iterator[Question]:
    """Whether the functions that `inlined` makes do what the terms say; raises Refused.

    Kinds of which the functions have one text are asked of together.

    Args:
        observers: of the bundle, in their order.
    """
    for about in (True, False):
        texts: dict[str, list[Kind]] = {}
        for kind in KINDS:
            texts.setdefault(inlined_source(observers, kind, about=about), []).append(kind)
        for text, kinds in texts.items():
            case = _Case(setting, tuple(observers), tuple(kinds), about)
            found = functions(text)
            if tuple(found) != ("step", "request", "other", "idle"):
                raise Refused(f"has {', '.join(found)}")
            yield from _claim_questions(case, found["step"])
            for name, here in (("request", True), ("other", False)):
                yield from _request_questions(case, found[name], here)
            yield _idle_question(case, found["idle"])


def _claim_questions(case: _Case, function: Function) -> Iterator[Question]:
    setting, observers, about = case.setting, case.observers, case.about
    given, of = case.given, str(case)
    was, now = tuple(setting.was.values()), tuple(setting.now.values())
    values = {
        "e": Record(setting.event),
        "run.constants": Record(setting.constants),
        "run.facts": was,
        "run.base": OBSERVERS,
    }
    steps = _REQUESTS[about]
    calls = frozenset({_FIND_OWED, steps[0], *(_CONTRADICT if about else ())})
    read = effects(function, values, _standings(setting, observers), _CONDITIONS, calls)
    if read.names.get("was") != was:
        raise Refused("the registers before the event are others")
    yield _equal(of, "claim", given, now, was if read.facts is None else read.facts)
    yield _equal(of, "claim, for its requests", given, now, read.names.get("now"))
    triggers = {row.trigger for row in TRANSITIONS}
    if any(read.follows != (about and kind.value in triggers) for kind in case.kinds):
        raise Refused("moves the claim along its lifecycle at other events")
    checked = _CONDITIONS["e.direct and run.predicate is not None"]
    for index, fails in enumerate(setting.broken):
        expected = z3.And(checked, fails) if about else z3.BoolVal(False)
        called = read.calls.get(_CONTRADICT[index], z3.BoolVal(False))
        yield _equal(of, FACTS_ARE_FACTS[index].name, given, (expected,), (called,))
    live = z3.Not(_TAINTED)
    yield from _observer_questions(setting, observers, of, given, read, live, scoped=False)
    owing = z3.Or([setting.step(o, scoped=False).owing for o in observers])
    called = read.calls.get(_FIND_OWED, z3.BoolVal(False))
    yield Question(
        BY_KIND, of, "owed", given, z3.Implies(z3.And(live, owing), called), may_be_empty=True
    )
    called = read.calls.get(steps[0], z3.BoolVal(False))
    yield _equal(of, "requests", given, (z3.And(live, steps[1]),), (called,))


def _request_questions(case: _Case, function: Function, here: bool) -> Iterator[Question]:
    setting, scoped = case.setting, case.scoped
    given = (*case.given, setting.event["here"] == here)
    of = f"{case}, {function.name}"
    before, after = tuple(setting.req_was.values()), tuple(setting.req.values())
    values = {
        **_arguments(setting),
        "run.constants": Record(setting.constants),
        "request.facts": before,
        "request.watches": OBSERVERS,
    }
    del values["c"], values["req_was"]
    index = [i for i, o in enumerate(case.observers) if o.per_request]
    read = effects(function, values, _standings(setting, scoped), _CONDITIONS, frozenset(_CHANGE))
    always = z3.BoolVal(True)
    yield from _observer_questions(
        setting, scoped, of, given, read, always, scoped=True, index=index
    )
    moved, called = _moved(setting, scoped), z3.BoolVal(False)
    for text, name in _CHANGE.items():
        when = read.calls.get(text, z3.BoolVal(False))
        called = z3.Or(called, when)
        if text in read.calls:
            yield _equal(of, f"request, {name}", (*given, when), after, read.names.get(name))
    yield _equal(of, "moved", given, (moved,), (called,))


def _idle_question(case: _Case, function: Function) -> Question:
    setting, scoped = case.setting, case.scoped
    given = (*case.given, z3.Not(setting.event["here"]))
    watches = tuple(
        Record({"state": each.state, "own": each.own}) for each in _standings(setting, scoped)
    )
    values = {**_arguments(setting), "watches": watches}
    found = meaning(function, [values[each] for each in function.arguments])
    expected = z3.Not(_moved(setting, scoped))
    return _equal(f"{case}, idle", "moves nothing", given, (expected,), (found,))


def _observer_questions(
    setting: Moved,
    observers: Sequence[Observer],
    of: str,
    given: tuple[Expr, ...],
    read: Effects,
    live: Expr,
    *,
    scoped: bool,
    index: Sequence[int] | None = None,
) -> Iterator[Question]:
    """Whether each observer moves as its rules say, and its finding is kept where it must be.

    Args:
        index: the places of these observers in the bundle, if they are not the same.
    """
    kept = dict(read.kept)
    for place, o in enumerate(observers):
        state, own = setting.standing[o.name]
        to, leaves, rule, longer = state, own, constant(-1), z3.BoolVal(False)
        for move in read.moves.pop(place, ()):
            to = z3.If(move.when, move.state, to)
            leaves = tuple(z3.If(move.when, a, b) for a, b in zip(move.own, leaves, strict=True))
            rule = z3.If(move.when, move.rule, rule)
            longer = z3.Or(longer, z3.And(move.when, move.longer))
        found_kept = kept.pop((place if index is None else index[place], place), z3.BoolVal(False))
        step = setting.step(o, scoped=scoped)
        fires = z3.And(live, step.fires)
        expected = (
            z3.If(fires, step.state, state),
            *(z3.If(fires, a, b) for a, b in zip(step.own, own, strict=True)),
            z3.If(fires, step.rule, constant(-1)),
            z3.And(fires, step.pending),
            z3.And(live, step.kept),
        )
        yield _equal(of, o.name, given, expected, (to, *leaves, rule, longer, found_kept))
    if kept or read.moves:
        raise Refused("moves or keeps what is no observer of the bundle")


def _moved(setting: Moved, scoped: Sequence[Observer]) -> Expr:
    """Whether an event changes a register of the request, or moves an observer of it."""
    return z3.Or(setting.changed, *(setting.step(o, scoped=True).fires for o in scoped))


def _arguments(setting: Moved) -> dict[str, Value]:
    return {
        "e": Record(setting.event),
        "c": Record(setting.constants),
        "was": tuple(setting.was.values()),
        "now": tuple(setting.now.values()),
        "req_was": tuple(setting.req_was.values()),
    }


def _standings(setting: Moved, observers: Sequence[Observer]) -> list[Standing]:
    return [Standing(place, *setting.standing[o.name]) for place, o in enumerate(observers)]


def _is(setting: Moved, kind: Kind) -> Expr:
    return setting.kind == constant(EVENTS.index(kind))


def _equal(
    of: str, part: str, given: tuple[Expr, ...], expected: tuple[Expr, ...], found: Value
) -> Question:
    if not isinstance(found, tuple) or len(found) != len(expected):
        raise Refused(f"{part} has another form")
    for one, other in zip(expected, found, strict=True):
        if not isinstance(other, z3.ExprRef) or other.sort() != one.sort():
            raise Refused(f"{part} is not of the right sort")
    goal = z3.And([one == other for one, other in zip(expected, found, strict=True)])
    changes = {f"{part}, {i}": pair for i, pair in enumerate(zip(expected, found, strict=True))}
    return Question(BY_KIND, of, part, given, goal, changes, may_be_empty=True)
