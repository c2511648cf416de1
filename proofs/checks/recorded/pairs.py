"""Judges recorded runs of two ranked claims by the system of soft_priority.

A run is one line: the threshold and the priority of claim A, those of claim B, and then the events,
each a kind, the claims that it is about, and the fields that are not false or 0:
`block_evicted.A:lead=1:takeable.B=1`. The system is evaluated for these values, without a search.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import z3

from proofs.checks.recorded.lines import pinned, trail
from proofs.engines.bounded.unrolling import Found, Stepper, evaluated, expressions, first_state
from proofs.logic.encode import Integers
from proofs.model.pair import Pair
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from proofs.logic.encode import Expr
    from proofs.model.system import Step

__all__ = ["PAIRS", "PairJudge", "pairs", "pairs_differ"]

PAIRS: Final = files("proofs.checks.recorded") / "pairs.txt"
_CONSTANTS: Final = ("A/c.threshold", "A/priority", "B/c.threshold", "B/priority")


@cache
def pairs() -> dict[str, dict[str, str]]:
    """Every run of two claims, by its line, with what is pinned of it."""
    return pinned(PAIRS.read_text(encoding="utf-8"))


def pairs_differ() -> bool:
    """Whether the system makes of some run something else than what is pinned of it, or a clause is
    compared in some situation in none of them.
    """
    judge, compared = PairJudge(), set[str]()
    for line, pins in pairs().items():
        if judge.pins(line) != pins:
            return True
        compared |= {*pins}
    return not judge.situations <= compared


class PairJudge:
    """What the system of two ranked claims makes of runs."""

    def __init__(self) -> None:
        self.model = Pair(Bundle.CONTRACT, Integers())
        self._stepper = Stepper(self.model)
        self._written = Stepper(Pair(Bundle.CONTRACT, Integers(), replay=True))
        self._event = self.model.event("")
        self._kinds = {str(kind): number for number, kind in enumerate(self.model.alphabet)}

    @property
    def situations(self) -> frozenset[str]:
        """Each situation of each clause."""
        return frozenset(f"{c.name}, {where}" for c in self.model.clauses for where, _ in c.tested)

    def pins(self, line: str) -> dict[str, str]:
        """What is pinned of a run: as `world` the events that are not possible, as `trace` those
        that a trace can state, for each obligation by its code how its verdict changes, for each
        clause the events at which it fails, and for each of its situations the events at which it
        is compared there.
        """
        events, verdicts = defaultdict[str, list[int]](list), defaultdict[str, list[Verdict]](list)
        for number, (step, is_written) in enumerate(self._steps(line)[0], start=1):
            of = {"world": z3.Not(step.possible), "trace": is_written}
            of |= {name: z3.Not(holds) for name, holds in step.clauses.items()}
            of |= {f"{name}, {where}": is_in for (name, where), is_in in step.compared.items()}
            for name, happens in of.items():
                if evaluated(happens):
                    events[name].append(number)
            for observer in self.model.observers:
                verdicts[observer.code].append(_verdict(step, observer.name))
        found = {name: " ".join(map(str, numbers)) for name, numbers in events.items()}
        return found | {code: text for code, of in verdicts.items() if (text := trail(of))}

    def run(self, line: str) -> Found:
        """The events of a run, and the states between them."""
        return self._steps(line)[1]

    def _steps(self, line: str) -> tuple[list[tuple[Step, Expr]], Found]:
        """Each step for the values of its event, with whether a trace can state it.

        Raises:
            ValueError: the line is no run of two claims.
        """
        *constants, words = line.split(maxsplit=len(_CONSTANTS))
        given = dict(zip(_CONSTANTS, map(int, constants), strict=True))
        states, events, steps = [first_state(self.model, given)], [], []
        for word in words.split():
            event, before = self._read(word), states[-1]
            values = expressions(before), expressions(event)
            step, is_written = self._stepper.of(*values), self._written.of(*values).possible
            steps.append((step, is_written))
            after = {name: evaluated(value) for name, value in step.following.items()}
            events.append(event)
            states.append(before | after)
        return steps, Found(tuple(events), tuple(states))

    def _read(self, word: str) -> dict[str, bool | int]:
        about, *stated = word.split(":")
        name, _, sides = about.partition(".")
        plain = {n: n == "authorised" if z3.is_bool(v) else 0 for n, v in self._event.items()}
        whom = {f"{what}.{side}": True for what in ("mine", "named") for side in sides}
        given = {key: int(value) for key, _, value in (field.partition("=") for field in stated)}
        if others := ({*whom, *given} - {*plain}):
            raise ValueError(f"not a field of an event: {min(others)}")
        values = {n: type(plain[n])(value) for n, value in given.items()}
        return plain | whom | values | {"kind": self._kinds[Kind(name)]}


def _verdict(step: Step, name: str) -> Verdict:
    """What an obligation says after a step: of both claims, `satisfied` of the first."""
    if not evaluated(step.keeps[name]):
        return Verdict.VIOLATED
    if evaluated(step.owing[name]):
        return Verdict.PENDING
    return Verdict.SATISFIED if evaluated(step.exercised[name]) else Verdict.UNEXERCISED
