"""Steps what requests came to under a claim apart from the claim, and remembers each step.

The scopes of requests read nothing of each other, and nothing reads them until the event is over.
So a claim is followed without them, what befalls them all is written down, and each takes that in.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from spec.language.verdicts import Verdict
from spec.projection.case import Case, Finding, Turn
from spec.projection.pool import Claim
from spec.projection.values import Values

__all__ = ["NOTHING", "Effect", "Entwined", "Scopes"]

_Frozen: TypeAlias = tuple[Any, ...]

_HEAD: Final = slice(2, 6)
"""Of a frozen case, what of its observers is open, unknown and idle, and what was satisfied."""


class Entwined(Exception):
    """Something reads the scopes while an event is taken in: the claim cannot be without them."""


class _Renewed(NamedTuple):
    """Another request comes under an id; the scope of the claim is `own`."""

    request: str
    own: _Frozen


class _Measured(NamedTuple):
    """The claim turns out to have been away all the time, or not."""

    away: bool


class _Turned(NamedTuple):
    """An event, by its number, and the head of the case once the claim itself took it in."""

    turn: int
    head: _Frozen


_Befell: TypeAlias = _Renewed | _Measured | _Turned


class Effect(NamedTuple):
    """What scopes change of the claim: obligations that are open, and that were satisfied."""

    opened: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def on(self, case: _Frozen) -> _Frozen:
        """A frozen case after it."""
        state, tainted, opened, unknown, idle, left, scopes = case
        opened, idle, left = (
            tuple(dict.fromkeys((*one, *other)))
            for one, other in ((opened, self.opened), (idle, self.opened), (left, self.left))
        )
        return state, tainted, opened, unknown, idle, left, scopes


NOTHING: Final = Effect()
"""The only one that changes nothing."""


class _Recorder(Case):
    """A claim without scopes of requests, that writes down what befalls them."""

    def __init__(self, case: Case, befell: list[_Befell], turns: list[Turn]) -> None:
        super().__init__(case.claim, case.names, case.mode, (), case.reads)
        self._befell, self._turns = befell, turns
        self._keys: dict[Hashable, int] = {}

    def turn(self, turn: Turn) -> None:
        """Take an event into the claim's own scope."""
        super().turn(turn)
        views = tuple(tuple(view.items()) for view in turn.views)
        known = (tuple(each.items()) for each in (turn.constants, turn.was, turn.now))
        key = (turn.kind, views, frozenset(turn.here), *known, turn.moves)
        number = self._keys.setdefault(key, len(self._turns))
        if number == len(self._turns):
            self._turns.append(turn)
        self._befell.append(_Turned(number, self.frozen()[_HEAD]))

    def renew(self, request: str) -> None:
        """Another request comes under the id of one that has ended."""
        *_, (own,) = self.frozen()
        self._befell.append(_Renewed(request, own))

    def remeasure(self, away: bool) -> None:
        """The claim was away all the time, or was not."""
        super().remeasure(away)
        self._befell.append(_Measured(away))

    def findings(self) -> Iterator[tuple[str, Finding]]:
        """What each obligation came to, which rests on the scopes."""
        raise Entwined


class Scopes:
    """The scopes of a claim's requests, each of their values a number.

    `recorder` is the claim without them. There is one obligation.
    """

    def __init__(self, case: Case) -> None:
        *_, (_, *first) = case.frozen()
        self._written: list[_Befell] = []
        self._turns: list[Turn] = []
        self.recorder = _Recorder(case, self._written, self._turns) if first else case
        self._case = Case(Claim(case.claim.claim_id), case.names, case.mode, (), case.reads)
        self._blank = self._case.frozen()
        self._scopes: Values[_Frozen] = Values()
        self._all: Values[tuple[int, ...]] = Values()
        self._befell: Values[tuple[_Befell, ...]] = Values()
        self._after: dict[tuple[int, int], tuple[int, Effect]] = {}
        self._heads: Values[_Frozen] = Values()
        self._turned: dict[tuple[int, int, int], tuple[int, int]] = {}

    def number(self, scopes: tuple[_Frozen, ...]) -> int:
        """The number of frozen scopes."""
        return self._all.number(tuple(map(self._scopes.number, scopes)))

    def of(self, number: int) -> tuple[_Frozen, ...]:
        """The frozen scopes of a number."""
        return tuple(self._scopes[each] for each in self._all[number])

    def written(self) -> int:
        """The number of what the recorder wrote down, which it forgets."""
        befell = tuple(self._written)
        self._written.clear()
        return self._befell.number(befell)

    def after(self, number: int, befell: int) -> tuple[int, Effect]:
        """The scopes after what befell them, and what that changes of the claim."""
        found = self._after.get((number, befell))
        if found is None:
            found = self._after[number, befell] = self._replay(number, befell)
        return found

    def verdict(self, case: _Frozen, number: int) -> Verdict:
        """What the obligation of a frozen case comes to with these scopes."""
        *head, (own,) = case
        self._case.thaw((*head, (own, *self.of(number))))
        ((_, finding),) = self._case.findings()
        return finding.verdict

    def _replay(self, number: int, befell: int) -> tuple[int, Effect]:
        scopes, effect = list(self._all[number]), NOTHING
        for each in self._befell[befell]:
            if isinstance(each, _Turned):
                turn, turned = each.turn, self._turned
                first = head = self._heads.number(each.head)
                for at, scope in enumerate(scopes):
                    found = turned.get((scope, turn, head)) or self._turn(scope, turn, head)
                    scopes[at], head = found
                effect = NOTHING if head == first else self._effect(first, head)
            else:
                scopes = self._moved(scopes, each)
        return self._all.number(tuple(scopes)), effect

    def _effect(self, first: int, last: int) -> Effect:
        """What a head that became another one adds to the case."""
        old, new = self._heads[first], self._heads[last]
        effect = Effect(
            tuple(name for name in new[0] if name not in old[0]),
            tuple(name for name in new[-1] if name not in old[-1]),
        )
        return NOTHING if effect == NOTHING else effect

    def _turn(self, scope: int, turn: int, head: int) -> tuple[int, int]:
        """One scope after an event, and the head of the case by its number."""
        state, tainted, *_ = self._blank
        self._case.thaw((state, tainted, *self._heads[head], (self._scopes[scope],)))
        self._case.turn(self._turns[turn])
        *_, (after,) = frozen = self._case.frozen()
        found = self._scopes.number(after), self._heads.number(frozen[_HEAD])
        self._turned[scope, turn, head] = found
        return found

    def _moved(self, scopes: list[int], by: _Renewed | _Measured) -> list[int]:
        *blank, (own,) = self._blank
        own = by.own if isinstance(by, _Renewed) else own
        self._case.thaw((*blank, (own, *(self._scopes[each] for each in scopes))))
        if isinstance(by, _Renewed):
            self._case.renew(by.request)
        else:
            self._case.remeasure(by.away)
        *_, (_, *after) = self._case.frozen()
        return list(map(self._scopes.number, after))
