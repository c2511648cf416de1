"""Compiles two ranked claims to Python step functions: `proofs.model.pair` without Z3."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from proofs.engines.explicit.finite import Move
from proofs.model.pair import FIRST_LOSS, OF_EACH
from spec.events.alphabet import FACTS, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from proofs.engines.explicit.finite import Finite, State

__all__ = ["Ranked"]

_SIDES = ("A", "B")
_EXTRA = ("lost", "priority")
_SHARED = ("lost_first", "said_first", "reset", "either")
_LOSES = (Kind.CLAIM_BLOCK_LOST, Kind.CLAIM_UNMATERIALIZED, Kind.CLAIM_HARMED)


class Ranked:
    """Two claims under the same obligations, with the interface of `Finite`."""

    def __init__(self, one: Finite) -> None:
        self._one, self._size = one, len(one.names)
        self.observers = one.observers
        sides = [f"{side}/{name}" for side in _SIDES for name in (*one.names, *_EXTRA)]
        self.names: tuple[str, ...] = (*sides, *_SHARED)
        self.moves: dict[Kind, Move] = {
            kind: self._move(kind, one.moves[alike]) for kind, alike in one.alike.items()
        }

    def initial(self, thresholds: Iterable[int], ranks: Iterable[int]) -> Iterator[State]:
        """The states before any event."""
        ones, ranks = list(self._one.initial(thresholds, ())), list(ranks)
        for a, b, p, q in product(ones, ones, ranks, ranks):
            yield (*a, False, p, *b, False, q, 0, 0, False, False)

    def fails(self, state: State) -> tuple[str, ...]:
        """The clauses that fail in a state."""
        size, failed = self._size, []
        rank_a, rank_b = state[size + 1], state[2 * size + 3]
        first, reported, reset, either = state[-4:]
        sides = (state[:size], state[size + 2 : 2 * size + 2])
        if not reset and all(self._one.says(FIRST_LOSS, of) for of in sides):
            failed += ["first loss"] * (first != reported)
        if either and not (rank_a <= rank_b if first == 1 else rank_b <= rank_a):
            failed.append("promise")
        return tuple(failed)

    def _move(self, kind: Kind, one: Move) -> Move:
        fact, evicted, loses = kind in FACTS, kind is Kind.BLOCK_EVICTED, kind in _LOSES
        resets = kind is Kind.BLOCK_LOST
        size, reads, other = self._size, len(one.reads), self._size + 2
        places, live = self._one.live
        of_b = 2 * reads + len(places)
        shared = [2 * other + n for n in range(len(_SHARED))]
        extra = [size, size + 1, other + size, other + size + 1, *shared]

        def step(state: State, e: Any) -> tuple[State, tuple[str, ...]] | None:
            there_a = live(*state[2 * reads : of_b])
            there_b = live(*state[of_b : of_b + len(places)])
            lost_a, rank_a, lost_b, rank_b, *both = state[of_b + len(places) :]
            first, reported, reset, either = both
            mine_a, mine_b = e.mine_A, e.mine_B
            if mine_a and mine_b and not fact:
                return None
            named_a, named_b = (mine_a, mine_b) if fact else (e.named_A, e.named_B)
            if named_a and named_b and not fact:
                return None
            a = _View(e, mine_a, named_a, there_b, rank_b - rank_a, "B")
            b = _View(e, mine_b, named_b, there_a, rank_a - rank_b, "A")
            after_a = one.step(state[:reads], a)
            if after_a is None:
                return None
            after_b = one.step(state[reads : 2 * reads], b)
            if after_b is None:
                return None
            loses_a, loses_b = evicted and mine_a and there_a, evicted and mine_b and there_b
            instead_a = loses_a and a.lower_priority_available
            instead_b = loses_b and b.lower_priority_available
            failed = ("promise",) * bool(instead_a or instead_b)
            if loses_a != loses_b and not first:
                either = bool((there_b and e.takeable_B) if loses_a else (there_a and e.takeable_A))
            if loses_a or loses_b:
                first = first or (2 if loses_b else 1)  # both at once: no order, and `reset`
            if loses and not reported:
                reported = 1 if named_a else 2 if named_b else 0
            reset = reset or (resets and (mine_a or mine_b)) or (loses_a and loses_b)
            after = (lost_a or loses_a, lost_b or loses_b, first, reported, bool(reset), either)
            return (*after_a[0], *after_b[0], *after), failed

        return Move(
            (
                *one.reads,
                *(i + other for i in one.reads),
                *places,
                *(i + other for i in places),
                *extra,
            ),
            (*one.writes, *(i + other for i in one.writes), size, 2 * size + 2, *shared),
            step,
        )


class _View:
    """The event in the scope of one of the two claims.

    Args:
        there: the other claim is.
        rank: by how much the priority of the other claim is higher.
    """

    here = False

    def __init__(
        self, event: Any, mine: bool, named: bool, there: bool, rank: int, other: str
    ) -> None:
        self._event, self.mine, self.named = event, mine, named
        self._there, self._rank, self._other = there, rank, other

    @property
    def lower_priority_available(self) -> bool:
        lower = self._there and self._rank < 0
        return bool(lower and getattr(self._event, f"takeable_{self._other}"))

    @property
    def higher_priority_kept(self) -> bool:
        higher = self._there and self._rank > 0
        return bool(higher and getattr(self._event, f"keeps_{self._other}"))

    def __getattr__(self, name: str) -> Any:
        if name in OF_EACH:
            name = f"{name}_{'A' if self._other == 'B' else 'B'}"
        return getattr(self._event, name)
