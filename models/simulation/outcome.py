"""Counts what a simulation did: hits, waits, refusals, losses, and a row for each request."""

from __future__ import annotations

from array import array
from math import ceil, inf
from typing import TYPE_CHECKING, Final

import msgspec

from models.simulation.request import FRESH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from models.simulation.run import Run

__all__ = ["Quantiles", "Row", "Summary", "Tally", "Waits"]

_OWNERS: Final = 1_000
OTHERS: Final = "(others)"


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


class Waits(msgspec.Struct):
    """Some requests: how many, refused ones, and the seconds that they waited for admission."""

    requests: int = 0
    refused: int = 0
    waited_s: float = 0.0
    longest_s: float = 0.0


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What one policy did with a workload.

    Tokens are of prompts that were served; `recomputed_tokens` are computed tokens whose content
    had been cached and was evicted. `classes` are requests with a claim, and others. `claims`
    counts what became of claims and pins; `most_blocks` and `most_live` are the most that one pool
    had at once. `harms` counts the claimed blocks that were lost, by reason.
    """

    policy: str
    requests: int
    served: int
    refused: dict[str, int]
    deferred: int
    preempted: int
    prompt_tokens: int
    hit_tokens: int
    loaded_tokens: int
    computed_tokens: int
    recomputed_tokens: int
    evicted_blocks: int
    wait_s: Quantiles
    first_token_s: Quantiles
    end_s: Quantiles
    makespan_s: float
    owners: dict[str, Waits]
    classes: dict[str, Waits]
    claims: dict[str, int]
    harms: dict[str, int]

    @property
    def saved(self) -> float:
        """The share of prompt tokens that were not computed."""
        kept = self.hit_tokens + self.loaded_tokens
        return kept / self.prompt_tokens if self.prompt_tokens else 0.0


class Tally:
    """What is counted while a workload is replayed with one policy.

    Besides three times for each request, it keeps the keys that were evicted and not computed
    again, and 1,000 owners; the requests of further owners are counted together.

    Args:
        block: tokens of a block.
        rows: takes a row for each request.
    """

    def __init__(self, policy: str, block: int, rows: Callable[[Row], object] | None = None):
        self.policy = policy
        self.deferrals = self.preemptions = 0
        self.claims: dict[str, int] = {}
        self.harms: dict[str, int] = {}
        self._block, self._rows = block, rows
        self._waits, self._firsts, self._ends = array("d"), array("d"), array("d")
        self._owners: dict[str, Waits] = {}
        self._classes: dict[str, Waits] = {}
        self._refused: dict[str, int] = {}
        self._evicted: set[int] = set()
        self._prompt = self._hit = self._loaded = self._computed = self._recomputed = 0
        self._victims = 0
        self._last = 0.0

    def claimed(self, what: str, count: int = 1) -> None:
        """Something happened to a claim."""
        self.claims[what] = self.claims.get(what, 0) + count

    def holds(self, blocks: int, claims: int) -> None:
        """One pool holds so many blocks for claims or pins, and has so many of them."""
        for name, count in (("most_blocks", blocks), ("most_live", claims)):
            self.claims[name] = max(self.claims.get(name, 0), count)

    def harmed(self, reason: str, count: int = 1) -> None:
        """Blocks of a claim were lost."""
        self.harms[reason] = self.harms.get(reason, 0) + count

    def lost(self, victims: Sequence[int]) -> None:
        """Contents were evicted."""
        self._victims += len(victims)
        self._evicted.update([key for key in victims if key >= FRESH])

    def computed(self, run: Run, hit: int, loaded: int, computed: int) -> None:
        """A request was admitted, so many blocks were found, so many tokens are computed."""
        run.computed += computed
        self._computed += computed
        if not run.preempted:
            self._hit += hit * self._block
            self._loaded += loaded * self._block
        evicted = self._evicted
        if evicted:
            again = evicted.intersection(run.keys[hit + loaded : run.stored])
            if again:
                evicted -= again
                self._recomputed += len(again) * self._block

    def served(self, run: Run) -> None:
        """A request has its answer."""
        wait = run.admitted - run.arrived
        self._waits.append(wait)
        self._firsts.append(run.first - run.arrived)
        self._ends.append(run.ended - run.arrived)
        self._prompt += run.request.prompt
        for each in self._count(run):
            each.waited_s += wait
            each.longest_s = max(each.longest_s, wait)
        self._close(run, None)

    def refused(self, run: Run, reason: str) -> None:
        """A request was refused."""
        self._refused[reason] = self._refused.get(reason, 0) + 1
        for each in self._count(run):
            each.refused += 1
        self._close(run, reason)

    def _count(self, run: Run) -> tuple[Waits, Waits]:
        """Count a request for its owner, and for those with or without a claim."""
        name = run.request.owner or ""
        owner = self._owners.get(name)
        if owner is None:
            name = name if len(self._owners) < _OWNERS else OTHERS
            owner = self._owners.setdefault(name, Waits())
        kind = self._classes.setdefault("claimed" if run.claimed else "other", Waits())
        owner.requests += 1
        kind.requests += 1
        return owner, kind

    def _close(self, run: Run, reason: str | None) -> None:
        self._last = max(self._last, run.ended)
        if self._rows is None:
            return
        admitted = run.admitted < inf
        self._rows(
            Row(
                self.policy,
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
        return Summary(
            policy=self.policy,
            requests=len(self._ends) + sum(self._refused.values()),
            served=len(self._ends),
            refused=self._refused,
            deferred=self.deferrals,
            preempted=self.preemptions,
            prompt_tokens=self._prompt,
            hit_tokens=self._hit,
            loaded_tokens=self._loaded,
            computed_tokens=self._computed,
            recomputed_tokens=self._recomputed,
            evicted_blocks=self._victims,
            wait_s=_quantiles(self._waits),
            first_token_s=_quantiles(self._firsts),
            end_s=_quantiles(self._ends),
            makespan_s=self._last,
            owners=self._owners,
            classes=self._classes,
            claims=self.claims,
            harms=self.harms,
        )


def _quantiles(times: array[float]) -> Quantiles:
    if not times:
        return Quantiles(0.0, 0.0, 0.0, 0.0)
    ordered = sorted(times)
    mean = sum(ordered) / len(ordered)
    at = (ordered[ceil(share * len(ordered)) - 1] for share in (0.5, 0.9, 0.99))
    return Quantiles(mean, *at)
