"""Counts what a simulation did: hits, waits, refusals, losses, and a row for each request."""

from __future__ import annotations

from array import array
from math import ceil, inf
from typing import TYPE_CHECKING, Final

import msgspec

from models.simulation.request import FRESH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from models.simulation.request import Run

__all__ = ["Quantiles", "Row", "Summary", "Tally", "Waits"]

_OWNERS: Final = 1_000
OTHERS: Final = "(others)"
_REMEMBERED: Final = 1_000_000


class Row(msgspec.Struct, frozen=True):
    """What became of one request; times are in seconds from the start of the workload.

    `hit` and `loaded` are tokens found in the pool and in a tier; `victims` are the keys of the
    contents that were evicted for the request. `refused` is the reason, if it was refused, and
    `blockers` are the claims that kept it out.
    """

    policy: str
    request: str
    engine: int
    arrived: float
    admitted: float | None
    first_token: float | None
    ended: float
    prompt: int
    hit: int
    loaded: int
    computed: int
    preempted: int
    deferred: bool
    refused: str | None
    blockers: list[str]
    victims: list[int]


class Quantiles(msgspec.Struct, frozen=True):
    """Seconds: the mean, and what 50, 90 and 99 of 100 requests do not exceed."""

    mean: float
    p50: float
    p90: float
    p99: float


_NO_TIME: Final = Quantiles(0.0, 0.0, 0.0, 0.0)


class Waits(msgspec.Struct):
    """Some requests: how many, refused ones, and the seconds that they waited for admission."""

    requests: int = 0
    refused: int = 0
    waited_s: float = 0.0
    longest_s: float = 0.0


class Summary(msgspec.Struct, kw_only=True):
    """What one policy did with a workload.

    Tokens are of prompts that were served, but `computed_tokens` of all that was computed;
    `recomputed_tokens` are those whose content had been cached and was among the latest million
    that were evicted, or more. `classes` are requests with a claim, and others. `claims` counts
    what became of claims and pins; `most_blocks` and `most_live` are the most that one pool had at
    once. `harms` counts the claimed blocks that were lost, by reason.
    """

    policy: str
    requests: int = 0
    served: int = 0
    refused: dict[str, int] = {}
    deferred: int = 0
    preempted: int = 0
    prompt_tokens: int = 0
    hit_tokens: int = 0
    loaded_tokens: int = 0
    computed_tokens: int = 0
    recomputed_tokens: int = 0
    evicted_blocks: int = 0
    wait_s: Quantiles = _NO_TIME
    first_token_s: Quantiles = _NO_TIME
    end_s: Quantiles = _NO_TIME
    makespan_s: float = 0.0
    owners: dict[str, Waits] = {}
    classes: dict[str, Waits] = {}
    claims: dict[str, int] = {}
    harms: dict[str, int] = {}

    @property
    def saved(self) -> float:
        """The share of the prompt tokens of served requests that were not computed."""
        kept = self.hit_tokens + self.loaded_tokens
        return kept / self.prompt_tokens if self.prompt_tokens else 0.0


class Tally:
    """What is counted while a workload is replayed with one policy.

    Besides three times for each request, it keeps the latest keys that were evicted, one or two
    million, and 1,000 owners; the requests of further owners are counted together.

    Args:
        block: tokens of a block.
        rows: takes a row for each request.

    Attributes:
        found: the counts so far; `summary` adds the times.
    """

    def __init__(self, policy: str, block: int, rows: Callable[[Row], object] | None = None):
        self.found = Summary(policy=policy)
        self._block, self._rows = block, rows
        self._waits, self._firsts, self._ends = array("d"), array("d"), array("d")
        self._evicted, self._evicted_before = set[int](), set[int]()

    def claimed(self, what: str, count: int = 1) -> None:
        """Something happened to a claim."""
        self.found.claims[what] = self.found.claims.get(what, 0) + count

    def holds(self, blocks: int, claims: int) -> None:
        """One pool holds so many blocks for claims or pins, and has so many of them."""
        most = self.found.claims
        for name, count in (("most_blocks", blocks), ("most_live", claims)):
            most[name] = max(most.get(name, 0), count)

    def harmed(self, reason: str, count: int) -> None:
        """Blocks of a claim were lost."""
        self.found.harms[reason] = self.found.harms.get(reason, 0) + count

    def lost(self, victims: Sequence[int]) -> None:
        """Contents were evicted."""
        self.found.evicted_blocks += len(victims)
        self._evicted.update([key for key in victims if key >= FRESH])
        if len(self._evicted) > _REMEMBERED:
            self._evicted, self._evicted_before = set(), self._evicted

    def computed(self, run: Run, found: int, tokens: int) -> None:
        """A request was admitted: so many blocks were found, so many tokens are computed."""
        run.computed += tokens
        self.found.computed_tokens += tokens
        again = set[int]()
        for evicted in (self._evicted, self._evicted_before):
            if evicted:
                again.update(evicted.intersection(run.keys[found : run.stored]))
                evicted -= again
        self.found.recomputed_tokens += len(again) * self._block

    def served(self, run: Run) -> None:
        """A request has its answer."""
        wait = run.admitted - run.arrived
        self._waits.append(wait)
        self._firsts.append(run.first - run.arrived)
        self._ends.append(run.ended - run.arrived)
        found = self.found
        found.served += 1
        found.prompt_tokens += run.request.prompt
        found.hit_tokens += run.hit * self._block
        found.loaded_tokens += run.loaded * self._block
        for each in self._count(run):
            each.waited_s += wait
            each.longest_s = max(each.longest_s, wait)
        self._close(run, None)

    def refused(self, run: Run, reason: str) -> None:
        """A request was refused."""
        self.found.refused[reason] = self.found.refused.get(reason, 0) + 1
        for each in self._count(run):
            each.refused += 1
        self._close(run, reason)

    def _count(self, run: Run) -> tuple[Waits, Waits]:
        """Count a request for its owner, and for those with or without a claim."""
        owners, name = self.found.owners, run.request.owner or ""
        if name not in owners and len(owners) >= _OWNERS:
            name = OTHERS
        owner = owners.setdefault(name, Waits())
        kind = self.found.classes.setdefault("claimed" if run.claimed else "other", Waits())
        self.found.requests += 1
        owner.requests += 1
        kind.requests += 1
        return owner, kind

    def _close(self, run: Run, reason: str | None) -> None:
        self.found.makespan_s = max(self.found.makespan_s, run.ended)
        if self._rows is None:
            return
        admitted = run.admitted < inf
        self._rows(
            Row(
                self.found.policy,
                run.request.id,
                run.engine,
                run.arrived,
                run.admitted if admitted else None,
                run.first if admitted else None,
                run.ended,
                run.request.prompt,
                run.hit * self._block,
                run.loaded * self._block,
                run.computed,
                run.preempted,
                run.deferred,
                reason,
                run.blockers,
                run.victims,
            )
        )

    def summary(self) -> Summary:
        """What was counted."""
        found = self.found
        found.wait_s, found.first_token_s = _quantiles(self._waits), _quantiles(self._firsts)
        found.end_s = _quantiles(self._ends)
        return found


def _quantiles(times: array[float]) -> Quantiles:
    if not times:
        return _NO_TIME
    ordered = sorted(times)
    mean = sum(ordered) / len(ordered)
    at = (ordered[ceil(share * len(ordered)) - 1] for share in (0.5, 0.9, 0.99))
    return Quantiles(mean, *at)
