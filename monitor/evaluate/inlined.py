"""Writes one Python function for each kind of event, which moves everything of a claim at once.

An event that names a claim and is about it leaves most terms decided: of the guards of a bundle a
few comparisons remain. They are written one after another, each observer's rules as one chain of
`if`, so that nothing is called for an observer that does not move. `ClaimRun` runs these functions
where all that observers read is known, and the general ones elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from monitor.evaluate.by_kind import following, unchanged_by
from monitor.evaluate.observer_state import ObserverState
from monitor.evaluate.python_terms import to_python
from spec.claims.states import TRANSITIONS, ClaimState
from spec.contract.facts import FACTS_ARE_FACTS
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.language.partial_evaluation import specialize
from spec.language.terms import FALSE, TRUE, Const, Scope, Var
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from spec.events.alphabet import Kind
    from spec.language.machine import Ledger, Observer, Rule
    from spec.language.partial_evaluation import Known
    from spec.language.terms import Term

__all__ = ["TRAIL_KEPT", "Inlined", "inlined", "inlined_source"]

TRAIL_KEPT: Final = 8
"""Events of one occasion that a finding names, the last ones."""

_LEDGERS: Final = (CLAIM_FACTS, DECLARED)


@dataclass(frozen=True, slots=True)
class Inlined:
    """The functions of a bundle for events of one kind, which are about the claim or are not.

    `step(run, e)` moves a claim. `request(run, request_id, request, e, was, now)` moves one of its
    requests that the event belongs to, `other`, with the same arguments, one that it does not
    belong to; `idle(e, c, was, now, req_was, watches)` says whether `other` moves nothing.
    """

    step: Callable[..., None]
    request: Callable[..., None]
    other: Callable[..., None]
    idle: Callable[..., bool]


def inlined(observers: Sequence[Observer], kind: Kind, *, about: bool) -> Inlined:
    """The functions for events of a kind.

    Args:
        about: the event names the claim and is about it; or else it is neither.
    """
    made: dict[str, Any] = {"ObserverState": ObserverState, "KIND": kind, "NEXT": _next(kind)}
    text = inlined_source(observers, kind, about=about)
    exec(compile(text, f"<{kind}, {'about' if about else 'beside'} a claim>", "exec"), made)
    return Inlined(made["step"], made["request"], made["other"], made["idle"])


def inlined_source(observers: Sequence[Observer], kind: Kind, *, about: bool) -> str:
    """The text of these functions."""
    writer = _Writer(observers, kind, about)
    own, other = writer.request("request", here=True), writer.request("other", here=False)
    functions = (writer.step(), own, other, writer.idle())
    return "\n\n".join("".join(f"{line}\n" for line in lines) for lines in functions)


def _next(kind: Kind) -> dict[ClaimState, ClaimState]:
    """Where a report of this kind leads from each state of the lifecycle."""
    return {row.source: row.dest for row in TRANSITIONS if row.trigger == kind.value}


class _Writer:
    """Writes the functions of one bundle, kind and relation to the claim."""

    def __init__(self, observers: Sequence[Observer], kind: Kind, about: bool) -> None:
        self._observers, self._kind, self._about = observers, kind, about
        flags = {"mine": about, "named": about}
        self._of_event: Known = {(Scope.EVENT, n): Const(v) for n, v in flags.items()}
        self._claim = following(_LEDGERS, Scope.NOW, kind, self._of_event)
        self._scoped = [i for i, each in enumerate(observers) if each.per_request]

    def step(self) -> list[str]:
        body = [*self._assumptions(), *self._ledger(_LEDGERS, self._claim, "was", "now")]
        if self._claim:
            body.append("run.facts = now")
        if self._about and _next(self._kind):
            body.append("run.state = NEXT.get(run.state, run.state)")
        body += ["if run.taint is not None:", "    return"]
        known = self._known(here=False)
        watched: list[str] = []
        for place, observer in enumerate(self._observers):
            watched += self._observer(f"base[{place}]", place, observer, known, scoped=False)
        if watched:
            body += ["base = run.base", *watched]
            if any("owing = True" in line for line in watched):
                body.insert(len(body) - len(watched), "owing = False")
                body += ["if owing:", "    run.find_owed()"]
        if self._about:
            body += ["if run.requests or run.retired:", "    run.step_requests(e, was, now)"]
        else:
            body += ["if e.request_id in run.requests:"]
            body += ["    run.step_own(e.request_id, e, was, now)"]
        return _function("step", "run, e", body, ("c", "at"))

    def request(self, name: str, *, here: bool) -> list[str]:
        known = self._known(here=here)
        changed = following((REQUEST_FACTS,), Scope.REQ, self._kind, known)
        known = {**known, **unchanged_by((REQUEST_FACTS,), changed, Scope.REQ)}
        body = ["req_was = request.facts"]
        body += self._ledger((REQUEST_FACTS,), changed, "req_was", "req")
        body.append("moved = req != req_was" if changed else "moved = False")
        watched: list[str] = []
        for at, place in enumerate(self._scoped):
            where, observer = f"watches[{at}]", self._observers[place]
            watched += self._observer(where, place, observer, known, scoped=True)
        if watched:
            body += ["watches = request.watches", *watched]
        body += [
            "if moved:",
            f"    run.change(request_id, request, {'req' if changed else 'req_was'})",
        ]
        return _function(name, "run, request_id, request, e, was, now", body, ("c", "at"))

    def idle(self) -> list[str]:
        known = self._known(here=False)
        changed = following((REQUEST_FACTS,), Scope.REQ, self._kind, known)
        body: list[str] = []
        names = self._names(changed, Scope.REQ)
        for register, term in changed.items():
            body.append(f"{register} = {to_python(term, names)}")
            before = to_python(_before(register))
            body += [f"if {register} != {before}:", "    return False"]
        known = {**known, **unchanged_by((REQUEST_FACTS,), {}, Scope.REQ)}
        for at, place in enumerate(self._scoped):
            rules = list(self._rules(self._observers[place], known))
            tests = [where for _, where, _ in rules]
            if tests:
                body += [f"w = watches[{at}]", f"if {' or '.join(f'({t})' for t in tests)}:"]
                body.append("    return False")
        return _function("idle", "e, c, was, now, req_was, watches", [*body, "return True"], ())

    def _known(self, *, here: bool) -> Known:
        still = unchanged_by(_LEDGERS, self._claim, Scope.NOW)
        return {**self._of_event, (Scope.EVENT, "here"): Const(here), **still}

    def _names(self, changed: Mapping[str, Term], after: Scope) -> dict[tuple[Scope, str], str]:
        return {(after, register): register for register in changed}

    def _ledger(
        self, ledgers: Sequence[Ledger], changed: Mapping[str, Term], was: str, now: str
    ) -> Iterator[str]:
        """Statements that compute the registers after the event."""
        if not changed:
            if now == "now":
                yield "was = now = run.facts"
            return
        after = Scope.NOW if now == "now" else Scope.REQ
        before = Scope.WAS if now == "now" else Scope.REQ_WAS
        if now == "now":
            yield "was = run.facts"
        names = self._names(changed, after)
        for register, term in changed.items():
            yield f"{register} = {to_python(term, names)}"
        values = (
            r.name if r.name in changed else to_python(Var(before, r.name, r.sort))
            for ledger in ledgers
            for r in ledger.registers
        )
        yield f"{now} = ({', '.join(values)},)"

    def _assumptions(self) -> Iterator[str]:
        rules = []
        for index, assumption in enumerate(FACTS_ARE_FACTS):
            holds = specialize(assumption.holds, self._kind, self._of_event)
            if holds != TRUE:
                rules.append((index, to_python(holds)))
        if not rules:
            return
        yield "if e.direct and run.predicate is not None:"
        yield "    was = run.facts"
        for number, (index, test) in enumerate(rules):
            yield f"    {'elif' if number else 'if'} not {test}:"
            yield f"        run.contradict({index}, e, was)"

    def _rules(self, o: Observer, known: Known) -> Iterator[tuple[int, str, set[int]]]:
        """The rules that may apply: their numbers, when they do, and the states they lead from."""
        states = {s.name: i for i, s in enumerate(o.states)}
        own = {(Scope.OWN, r.name): f"w.own[{i}]" for i, r in enumerate(o.registers)}
        done = set[int]()
        for number, rule in enumerate(o.rules):
            when = specialize(rule.when, self._kind, known)
            sources = {states[s] for s in o.sources(rule)} - done
            if when == FALSE or not sources:
                continue
            few = _among("w.state", sources)
            yield number, few if when == TRUE else f"{few} and {to_python(when, own)}", sources
            if when == TRUE:
                done |= sources

    def _observer(
        self, at: str, place: int, o: Observer, known: Known, *, scoped: bool
    ) -> Iterator[str]:
        """Statements that move one observer."""
        own = {(Scope.OWN, r.name): f"w.own[{i}]" for i, r in enumerate(o.registers)}
        states = {s.name: i for i, s in enumerate(o.states)}
        verdicts = [s.verdict for s in o.states]
        first = True
        for number, where, sources in self._rules(o, known):
            if first:
                yield f"w = {at}  # {o.name}"
            rule, to = o.rules[number], states[o.rules[number].to]
            yield f"{'if' if first else 'elif'} {where}:  # {rule.name}"
            first = False
            left = {s for s in sources if verdicts[s] is Verdict.SATISFIED and s != to}
            if left:
                if left != sources:
                    yield f"    if {_among('w.state', left)}:"
                yield f"    {'' if left == sources else '    '}run.keep_left({place}, w)"
            pending = {s for s in sources if verdicts[s] is Verdict.PENDING}
            trail = "KIND"
            if pending:
                longer = f"(*w.trail[{1 - TRAIL_KEPT}:], (KIND, at))"
                some = f"{longer} if {_among('w.state', pending)} else {trail}"
                trail = longer if pending == sources else some
            registers = self._registers(o, rule, known, own)
            yield f"    {at} = ObserverState({to}, {registers}, at, {number}, {trail})"
            if scoped:
                yield "    moved = True"
            elif pending or verdicts[to] is Verdict.PENDING:
                yield "    owing = True"

    def _registers(
        self, o: Observer, rule: Rule, known: Known, own: Mapping[tuple[Scope, str], str]
    ) -> str:
        if not rule.sets:
            return "w.own"
        sets = {name: specialize(term, self._kind, known) for name, term in rule.sets.items()}
        values = (
            to_python(sets[r.name], own) if r.name in sets else own[Scope.OWN, r.name]
            for r in o.registers
        )
        return f"({', '.join(values)},)"


def _among(name: str, states: set[int]) -> str:
    one = f"{name} == {min(states)}"
    return one if len(states) == 1 else f"{name} in {states}"


def _before(register: str) -> Var:
    """A register of a request before the event."""
    sort = next(r.sort for r in REQUEST_FACTS.registers if r.name == register)
    return Var(Scope.REQ_WAS, register, sort)


def _function(name: str, arguments: str, body: list[str], taken: Sequence[str]) -> list[str]:
    """A function; of what is `taken` from its arguments, only what is read."""
    text = "\n".join(body)
    where = {"c": ("c = run.constants", "c."), "at": ("at = e.at", ", at,")}
    first = [where[each][0] for each in taken if where[each][1] in text]
    return [f"def {name}({arguments}):", *(f"    {line}" for line in (*first, *body))]
