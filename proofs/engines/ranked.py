"""Two ranked claims as Python functions: what `proofs.pair` is to `proofs.system`, without Z3."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from proofs.engines.finite import Move
from proofs.pair import FIRST_LOSS
from spec.alphabet import FACTS, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from proofs.engines.finite import Finite, State

__all__ = ["Ranked"]

_SIDES = ("A", "B")
_EXTRA = ("lost", "priority")
_LOSES = (Kind.CLAIM_BLOCK_LOST, Kind.CLAIM_UNMATERIALIZED)


class Ranked:
    """Two claims under the same obligations; offers what `Finite` offers."""

    def __init__(self, one: Finite) -> None:
        self._one, self._size = one, len(one.names)
        self.observers = one.observers
        sides = [f"{side}/{name}" for side in _SIDES for name in (*one.names, *_EXTRA)]
        self.names: tuple[str, ...] = (*sides, "lost_first", "said_first")
        self.moves: dict[Kind, Move] = {
            kind: self._move(kind, one.moves[alike]) for kind, alike in one.alike.items()
        }

    def initial(self, thresholds: Iterable[int], ranks: Iterable[int]) -> Iterator[State]:
        """The states before any event."""
        ones, ranks = list(self._one.initial(thresholds, ())), list(ranks)
        for a, b, p, q in product(ones, ones, ranks, ranks):
            yield (*a, False, p, *b, False, q, 0, 0)

    def fails(self, state: State) -> tuple[str, ...]:
        """The clauses that fail in a state."""
        size, failed = self._size, []
        (lost_a, rank_a), (lost_b, rank_b) = state[size : size + 2], state[-4:-2]
        first, said = state[-2:]
        if all(self._one.says(FIRST_LOSS, of) for of in (state[:size], state[size + 2 : -4])):
            failed += ["first loss"] * (first != said)
        if lost_a and lost_b and not (rank_a <= rank_b if first == 1 else rank_b <= rank_a):
            failed.append("promise")
        return tuple(failed)

    def _move(self, kind: Kind, one: Move) -> Move:
        fact, evicted, loses = kind in FACTS, kind is Kind.BLOCK_EVICTED, kind in _LOSES
        known = self._one.names.index("was.registered")
        size, reads = self._size, len(one.reads)
        shared = [2 * size + 4, 2 * size + 5]
        extra = [known, size, size + 1, known + size + 2, 2 * size + 2, 2 * size + 3, *shared]

        def step(state: State, e: Any) -> tuple[State, tuple[str, ...]] | None:
            known_a, lost_a, rank_a, known_b, lost_b, rank_b, first, said = state[2 * reads :]
            mine_a, mine_b = e.mine_A, e.mine_B
            if mine_a and mine_b:
                return None
            named_a, named_b = (mine_a, mine_b) if fact else (e.named_A, e.named_B)
            if named_a and named_b:
                return None
            if evicted and (mine_a or mine_b) and not (known_a and known_b):
                return None
            order = (rank_b > rank_a) - (rank_b < rank_a)
            of_a = one.step(
                state[:reads], _View(e, mine_a, named_a, order if mine_b and known_b else 0)
            )
            if of_a is None:
                return None
            of_b = one.step(
                state[reads : 2 * reads],
                _View(e, mine_b, named_b, -order if mine_a and known_a else 0),
            )
            if of_b is None:
                return None
            if evicted and mine_a and known_a:
                first, lost_a = first or 1, True
            if evicted and mine_b and known_b:
                first, lost_b = first or 2, True
            if loses and not said:
                said = 1 if named_a else 2 if named_b else 0
            return (*of_a[0], *of_b[0], lost_a, lost_b, first, said), ()

        other = size + 2
        return Move(
            (*one.reads, *(i + other for i in one.reads), *extra),
            (*one.writes, *(i + other for i in one.writes), size, 2 * size + 2, *shared),
            step,
        )


class _View:
    """The event as one of the two claims sees it."""

    here = False

    def __init__(self, event: Any, mine: bool, named: bool, rival: int) -> None:
        self._event, self.mine, self.named, self.rival = event, mine, named, rival

    def __getattr__(self, name: str) -> Any:
        return getattr(self._event, name)
