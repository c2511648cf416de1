"""Explains why a clause fails at the last event of a run: facts against beliefs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from proofs.engines.bounded.unrolling import Found
    from proofs.model.of_mode import Model

__all__ = ["WORDED", "Ending", "endings"]


class Ending(msgspec.Struct, frozen=True):
    """A clause that fails, with the reason in words."""

    clause: str
    says: str
    why: str


class _Last:
    """The last event of a run: each register as it was before, and as it is after."""

    def __init__(self, model: Model, found: Found) -> None:
        self.event = found.events[-1]
        self.kind = model.alphabet[int(self.event["kind"])]
        self.ranked = len(model.sides) > 1
        self._before, self._after = found.states[-2], found.states[-1]

    def was(self, name: str) -> int:
        return int(self._before[name])

    def now(self, name: str) -> int:
        return int(self._after[name])

    @property
    def held(self) -> str:
        """Blocks held after the event, of those that the predicate asks for."""
        return f"{self.now('was.lead')} of {self.now('c.threshold')} blocks are held"


def endings(model: Model, found: Found) -> list[Ending]:
    """The clauses that fail at the end of a run."""
    last = _Last(model, found)
    says = {clause.name: clause.says for clause in model.clauses}
    return [
        Ending(
            name,
            says[name],
            _WHY[name](last) if name in _WHY else f"this does not hold: {says[name]}",
        )
        for name in found.failed
    ]


def _responsibility(last: _Last) -> str:
    believes = last.now("believed.responsible")
    belief, so = ("is", "is not") if believes else ("is not", "is")
    return f"the auditor believes that the runtime {belief} responsible, and it {so}"


def _usefulness(last: _Last) -> str:
    believed = "usable" if last.now("believed.useful") else "unusable"
    copy = "" if last.now("was.host") or believed == "unusable" else ", and there is no copy"
    return f"the auditor believes the claim {believed}; {last.held}{copy}"


def _harm(last: _Last) -> str:
    failures = last.now("was.failures")
    also = f", and {failures} failed to be restored" if failures else ""
    return (
        f"the auditor counts {last.now('believed.harms')}, the facts {last.now('was.losses')}{also}"
    )


def _arbitration(last: _Last) -> str:
    return f"{_pressure(last)}; the request ends, and no action was reported"


def _pressure(last: _Last) -> str:
    needed, usable, kept = last.was("req_was.needed"), last.was("req_was.usable"), _kept(last)
    return f"the request needs {needed} of {usable} usable blocks, and {kept} are promised"


def _kept(last: _Last) -> int:
    mine = last.was("was.footprint") if last.was("was.responsible") else 0
    return mine + last.was("was.rest")


def _blame(last: _Last) -> str:
    event, usable = last.event, last.was("req_was.usable")
    mine = last.was("was.footprint") if last.was("was.responsible") else 0
    total = _kept(last) + last.was("req_was.needed")
    named = (mine if event["blamed"] else 0) + int(event["blamed_rest"])
    if event["invalid_blocker"]:
        return "a blamed id is not a responsible claim of the pool"
    if not (last.was("req_was.arrived") and last.was("req_was.needed") <= usable < total):
        return "claims are blamed, and none of them keeps the request out"
    if event["blamed"] and not last.was("was.responsible"):
        return "the claim is blamed, and the runtime is not responsible for it"
    if total > usable + named:
        blamed = "the claims blamed hold" if named else "no claim is blamed, which is"
        return f"{_pressure(last)}; {blamed} {named} of them, too few to explain it"
    return f"{_pressure(last)}; a claim is blamed without which the others explain it"


def _promise(last: _Last) -> str:
    if last.ranked:
        return _rank(last)
    if last.kind is Kind.BLOCK_EVICTED:
        return f"a block of the claim is evicted while the runtime is responsible; {last.held}"
    if last.was("was.lead") < last.was("c.threshold"):
        return f"the request reuses the claim, and {last.held}"
    return "the request reuses what was loaded back, and no restore was reported"


def _failure(_: _Last) -> str:
    return "a restore failed for the request that ends, and no outcome named the claim"


def _reported(what: str, word: Callable[[int], str] = str) -> Callable[[_Last], str]:
    def why(last: _Last) -> str:
        received = f"received {word(last.was(f'believed.{what}'))}"
        if not last.was(f"believed.{what}_told"):
            received = "received no report"
        return f"the {what} is {word(last.now(f'req_was.{what}'))}; the auditor {received}"

    return why


def _first_loss(last: _Last) -> str:
    first, reported = (_SIDE[last.now(name)] for name in ("lost_first", "said_first"))
    return f"{first} lost blocks first; the auditor believes that {reported} did"


def _rank(last: _Last) -> str:
    first = last.now("lost_first")
    low, high = ("A", "B") if first == 1 else ("B", "A")
    ranks = [last.now(f"{side}/priority") for side in (low, high)]
    return f"claim {low} of priority {ranks[0]} lost blocks before claim {high} of {ranks[1]}"


_SIDE = ("neither claim", "claim A", "claim B")
_WHY: Mapping[str, Callable[[_Last], str]] = {
    "responsibility": _responsibility,
    "usefulness": _usefulness,
    "harm": _harm,
    "arbitration": _arbitration,
    "blame": _blame,
    "promise": _promise,
    "failure": _failure,
    "cost": _reported("cost"),
    "placement": _reported("worker"),
    "reuse": _reported("hit", lambda hit: "yes" if hit else "no"),
    "first loss": _first_loss,
}

WORDED = frozenset(_WHY)
"""The clauses with their own explanation."""
