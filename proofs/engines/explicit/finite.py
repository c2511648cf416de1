"""Compiles one claim of a mode to Python step functions, one for each kind of event.

It does not use Z3. `spec.stream.generate` translates the terms to Python, partially evaluated
for each kind; registers that never change or are never read are left out of the state.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from proofs.model.cone_of_influence import AFTER, Cone
from proofs.model.system import BEFORE
from spec.contract.ledgers import live, was
from spec.contract.vocabulary import EVENT_FIELDS
from spec.language.terms import FALSE, TRUE, And, Scope, Var, conj, variables
from spec.language.verdicts import Verdict
from spec.stream.generate import source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from proofs.model.theorems import Clause
    from spec.claims.states import Mode
    from spec.events.alphabet import Kind
    from spec.language.machine import Observer
    from spec.language.terms import Term

__all__ = ["Finite", "Move", "State", "Value"]

Value = bool | int
State = tuple[Value, ...]
_OBSERVED = ("state_", "own_")


@dataclass(frozen=True)
class Move:
    """The step function of one kind of event. `step` takes the variables in `reads` and an event,
    and returns the variables in `writes` after it and the clauses that fail, or None if the event
    is impossible or breaks an obligation. It neither reads nor changes other variables.
    """

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    step: Callable[[State, Any], tuple[State, tuple[str, ...]] | None]


class Finite(Cone):
    """One claim under the given observers, as step functions.

    `moves` has an entry for the first of each group of indistinguishable kinds; `alike` maps each
    kind to it. `fails` returns the clauses about a state alone that fail in it.
    """

    def __init__(
        self,
        mode: Mode,
        observers: tuple[Observer, ...],
        clauses: tuple[Clause, ...],
        alphabet: Iterable[Kind],
    ) -> None:
        super().__init__(mode, observers, clauses, alphabet)
        self.alike: dict[Kind, Kind] = {}
        self.moves: dict[Kind, Move] = {}
        sources: dict[str, Kind] = {}
        for kind in self.alphabet:
            body, changed = self._step(kind)
            self.alike[kind] = sources.setdefault(body, kind)
            if self.alike[kind] is kind:
                self.moves[kind] = self._move(body, changed)
        self.fails: Callable[[State], tuple[str, ...]] = self._run("fails", self._checks())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The variables of a state, in order, as `proofs.model.system` calls them."""
        own = [f"own.{o.name}.{r.name}" for o in self.observers for r in o.registers]
        states = [f"state.{o.name}" for o in self.observers]
        return ("c.threshold", *(f"{s.value}.{n}" for s, n in self.registers), *states, *own)

    def initial(self, thresholds: Iterable[int], _ranks: Iterable[int]) -> Iterator[State]:
        """The states before any event."""
        own = [r.initial for o in self.observers for r in o.registers]
        ledgers = [self.begins[r].value for r in self.registers]
        for threshold in thresholds:
            yield (threshold, *ledgers, *(0 for _ in self.observers), *own)

    @cached_property
    def live(self) -> tuple[tuple[int, ...], Callable[..., bool]]:
        """Whether news of the claim is owed before an event: the variables that this depends on,
        and a function of their values.
        """
        term = self.specialize(live(was), self.alphabet[0])
        reads = sorted({f"was_{v.name}" for v in variables(term)})
        names = {(Scope.WAS, v.name): f"was_{v.name}" for v in variables(term)}
        text = f"def live({', '.join(reads)}):\n    return {source(term, names)}"
        return tuple(self._olds[name] for name in reads), self._run("live", text)

    @cached_property
    def _olds(self) -> dict[str, int]:
        """The name of each variable in the source, with its index in a state."""
        ledgers = [f"{scope.value}_{name}" for scope, name in self.registers]
        states = [f"state_{i}" for i in range(len(self.observers))]
        own = [f"own_{i}_{r.name}" for i, o in enumerate(self.observers) for r in o.registers]
        return {name: i for i, name in enumerate(("threshold", *ledgers, *states, *own))}

    def _move(self, body: str, changed: dict[str, str]) -> Move:
        words = set(re.findall(r"\b[a-z]\w*", body))
        reads = [name for name in self._olds if name in words or name in changed]
        lines = ["def step(state, e):"]
        if reads:
            lines.append(f"    {', '.join(reads)}, = state")
        lines += [f"    {new} = {old}" for old, new in changed.items() if old.startswith(_OBSERVED)]
        news = "".join(f"{new}, " for new in changed.values())
        lines += ["    failed = ()", body, f"    return ({news}), failed"]
        writes = tuple(self._olds[name] for name in changed)
        return Move(
            tuple(self._olds[n] for n in reads), writes, self._run("step", "\n".join(lines))
        )

    def _run(self, name: str, text: str) -> Any:
        made: dict[str, Any] = {}
        exec(compile(text, f"<{self.mode}>", "exec"), made)
        return made[name]

    def _checks(self) -> str:
        names = {(Scope.CLAIM, "threshold"): "threshold"}
        for scope, name in self.registers:
            names[AFTER[scope], name] = f"{scope.value}_{name}"
        lines = ["def fails(state):", f"    {', '.join(self._olds)}, = state", "    failed = ()"]
        for clause in filter(_of_state, self.clauses):
            holds = source(self.specialize(clause.holds, self.alphabet[0]), names)
            owed = "".join(
                f"not {self._is(i, o, Verdict.PENDING)} and "
                for i, o in enumerate(self.observers)
                if o.name in clause.settled
            )
            lines.append(f"    if {owed}not {holds}:")
            lines.append(f"        failed += ({clause.name!r},)")
        return "\n".join([*lines, "    return failed"])

    def says(self, clause: Clause, state: State) -> bool:
        """None of the obligations that a clause waits for is pending."""
        states = zip(self.observers, state[1 + len(self.registers) :], strict=False)
        return all(
            o.states[int(i)].verdict is not Verdict.PENDING
            for o, i in states
            if o.name in clause.settled
        )

    def _step(self, kind: Kind) -> tuple[str, dict[str, str]]:
        """The body of a step, and the new name of each variable that it may change."""
        names = {(Scope.EVENT, name): f"e.{name}" for name in EVENT_FIELDS}
        names[Scope.CLAIM, "threshold"] = "threshold"
        names[Scope.EVENT, "rest"] = "was_rest"
        for scope, name in self.registers:
            names[scope, name] = f"{scope.value}_{name}"
        changed: dict[str, str] = {}
        possible = self.possible(kind)
        parts = possible.args if isinstance(possible, And) else (possible,)
        late = [part for part in parts if any(v.scope in BEFORE for v in variables(part))]
        lines = _unless(conj(*(part for part in parts if part not in late)), names)
        lines += self._ledgers(kind, names, changed)
        lines += _unless(conj(*late), names)
        for number, o in enumerate(self.observers):
            lines += self._observe(number, o, kind, names, changed)
        for clause in self.clauses:
            holds = self.specialize(clause.holds, kind)
            if not _of_state(clause) and holds != TRUE:
                if clause.settled:
                    raise ValueError(f"{clause.name} waits, and speaks of more than a state")
                lines.append(f"    if not {source(holds, names)}:")
                lines.append(f"        failed += ({clause.name!r},)")
        return "\n".join(lines), changed

    def _ledgers(
        self, kind: Kind, names: dict[tuple[Scope, str], str], changed: dict[str, str]
    ) -> list[str]:
        terms = {r: self.specialize(self.following[r], kind) for r in self.registers}
        lines: list[str] = []
        todo = list(terms)
        while todo:
            ready = [
                r
                for r in todo
                if all((v.scope, v.name) in names for v in variables(terms[r]) if v.scope in BEFORE)
            ]
            if not ready:
                raise ValueError(f"{self.mode}: registers depend on each other in a circle")
            for scope, name in ready:
                old, after, term = names[scope, name], AFTER[scope], terms[scope, name]
                names[after, name] = old
                if not (isinstance(term, Var) and (term.scope, term.name) == (scope, name)):
                    lines.append(f"    {after.value}_{name} = {source(term, names)}")
                    names[after, name] = changed[old] = f"{after.value}_{name}"
                todo.remove((scope, name))
        return lines

    def _observe(
        self,
        number: int,
        o: Observer,
        kind: Kind,
        names: dict[tuple[Scope, str], str],
        changed: dict[str, str],
    ) -> list[str]:
        index = {s.name: i for i, s in enumerate(o.states)}
        bad = {s.name for s in o.states if s.verdict is Verdict.VIOLATED}
        known = {**names, **{(Scope.OWN, r.name): f"own_{number}_{r.name}" for r in o.registers}}
        lines: list[str] = []
        for rule in o.rules:
            when = self.specialize(rule.when, kind)
            if when == FALSE:
                continue
            sources = "".join(f"{index[s]}, " for s in o.sources(rule))
            guard = "" if when == TRUE else f" and {source(when, known)}"
            lines.append(f"    {'elif' if lines else 'if'} state_{number} in ({sources}){guard}:")
            if rule.to in bad:
                lines.append("        return None")
                continue
            changed[f"state_{number}"] = f"to_{number}"
            lines.append(f"        to_{number} = {index[rule.to]}")
            for r in o.registers:
                if r.name in rule.sets:
                    changed[f"own_{number}_{r.name}"] = f"new_{number}_{r.name}"
                    value = source(self.specialize(rule.sets[r.name], kind), known)
                    lines.append(f"        new_{number}_{r.name} = {value}")
        return lines

    def _is(self, number: int, o: Observer, verdict: Verdict) -> str:
        where = "".join(f"{i}, " for i, s in enumerate(o.states) if s.verdict is verdict)
        return f"(state_{number} in ({where}))"


def _unless(possible: Term, names: Mapping[tuple[Scope, str], str]) -> list[str]:
    """The lines that return None where an event is impossible."""
    if possible == TRUE:
        return []
    return [f"    if not {source(possible, names)}:", "        return None"]


def _of_state(clause: Clause) -> bool:
    """Whether the clause reads only facts and beliefs after the event."""
    scopes = {v.scope for v in variables(clause.holds)}
    return scopes <= {*BEFORE, Scope.CLAIM}
