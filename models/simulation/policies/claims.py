"""Claims in each mode: which prefixes are claimed, what is excluded from eviction, who waits."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

import msgspec

from models.simulation.policies.base import DEFER, Policy, Seconds
from models.simulation.policies.kept import Offload, TierBlocks
from models.simulation.policies.prefixes import Prefixes
from models.simulation.pool import Pool, RankedPool
from spec.claims.states import Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from models.simulation.policies.base import Host
    from models.simulation.request import Run, Workload

__all__ = ["Claims"]

_HOLDS: Final = frozenset({Mode.HARD_PROTECTED, Mode.DEMOTABLE, Mode.EXPIRING})
"""The modes whose blocks are excluded from eviction."""

_COUNTS: Final = _HOLDS | {Mode.SOFT_PRIORITY}
"""The modes whose claims and requests must fit into the pool together."""

_ENDS, _WAITED = "ends", "waited"


class _Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How claims are chosen, and how far they go.

    `on` is what is claimed: the prefix that a prompt shares with `shared` sessions, or the prompt
    of each turn that calls a tool, until a later one is claimed or the last one ends. `quota` is
    the share of a pool that claims may have; `ttl` is in seconds, and endless by default, except
    for `expiring`. A request that does not fit waits `defer` seconds before it is refused. `tier`
    are the blocks of the tier of `offloadable`.
    """

    mode: Mode = Mode.HARD_PROTECTED
    on: Literal["prefix", "turn"] = "prefix"
    shared: Annotated[int, msgspec.Meta(ge=1)] = 2
    quota: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.5
    ttl: Seconds | None = None
    defer: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 0.0
    tier: TierBlocks = 10_000

    @property
    def lasts(self) -> float | None:
        """Seconds that a claim lasts, or None."""
        return 40.0 if self.ttl is None and self.mode is Mode.EXPIRING else self.ttl


@dataclass(eq=False)
class _Claim:
    """A live claim on the contents `keys`, the first of a prompt."""

    name: str
    keys: tuple[int, ...]
    live: bool = True


@dataclass(eq=False)
class _Shared:
    """What the engines of one simulation have in common: prefixes, and the homes of claims."""

    prefixes: Prefixes
    homes: dict[str, int] = field(default_factory=dict)


class Claims(Policy):
    """Claims as this project's plugin for vLLM keeps them, in one mode.

    A claim is accepted when the first request with its prefix arrives, if the claims stay within
    the quota. `hard_protected`: its blocks are no victims, and a request that does not fit beside
    the claims is refused or deferred, in the name of claims that keep it out. `demotable`: claims
    yield to such a request. `expiring`: as hard, until the time is over. `soft_priority`: claimed
    blocks are evicted last. `offloadable`: a tier keeps a copy of each claimed block.
    `routed_reuse`: requests go to the engine where their claim is. `best_effort`: losses are
    counted, no more.

    Source: `runtime_hooks` of this project, `controller/arbitration.py` and
    `enforce/victim_exclusion.py`.
    """

    name: ClassVar = "claim"
    Options: ClassVar[type[msgspec.Struct]] = _Options

    def __init__(self, shared: _Shared, options: _Options) -> None:
        self._shared, self._options = shared, options
        self._holds, self._counts = options.mode in _HOLDS, options.mode in _COUNTS
        self._claims: dict[str, _Claim] = {}
        self._owned: dict[int, int] = {}  # claims that own each content
        self._pins: dict[int, int] = {}  # the block that is excluded for a content
        offloads = options.mode is Mode.OFFLOADABLE
        self._tier = Offload(options.tier, self._owned) if offloads else None
        self._deferred: dict[Run, float] = {}
        self._turns: dict[str, _Claim] = {}  # by session

    @classmethod
    def made(cls, workload: Workload, blocks: int, options: Any) -> Callable[[], Policy]:
        """Find the prefixes once, for all engines."""
        shared = _Shared(Prefixes(workload, options.shared))
        return lambda: cls(shared, options)

    def pool(self, engine: Host) -> Pool:
        """A pool that ranks claimed contents, where the mode does."""
        if self._options.mode is not Mode.SOFT_PRIORITY:
            return Pool(engine.blocks)
        return RankedPool(engine.blocks, lambda key: 1.0 if key in self._owned else None)

    def home(self, engines: Sequence[Host], run: Run) -> int | None:
        """The engine of the claim that a request uses, for `routed_reuse`."""
        if self._options.mode is not Mode.ROUTED_REUSE:
            return None
        prefix = self._shared.prefixes.of(run.keys, run.request.prompt)
        if prefix is None:
            return None
        least = min(engines, key=lambda engine: engine.load).name
        return self._shared.homes.setdefault(prefix.name, least)

    def arrives(self, engine: Host, run: Run) -> str | None:
        """Accept the claim of a prefix; refuse or defer a request that does not fit beside claims.

        A request that is refused because of its own claim is served without the claim.
        """
        prefix = None
        if self._options.on == "prefix":
            prefix = self._shared.prefixes.of(run.keys, run.request.prompt)
        if prefix is not None and prefix.name not in self._claims:
            self._claim(engine, prefix.name, prefix.keys, run)
        run.claimed = prefix is not None and prefix.name in self._claims
        return self._decide(engine, run, engine.now + self._options.defer)

    def _decide(self, engine: Host, run: Run, until: float) -> str | None:
        """None if a request fits; else let claims yield, or defer it, or give the reason."""
        if not self._counts:
            return None
        run.stated = self._needed(engine, run)
        over = len(self._owned) + run.stated - engine.pool.blocks
        if over <= 0:
            return None
        if self._options.mode is Mode.DEMOTABLE:
            yielding = self._blockers(over, but=run.keys[:1])
            for claim in yielding:
                if claim.live:  # a deferred request may have ended it meanwhile
                    self._end(engine, claim, "demoted")
            if yielding:
                return None
        if until > engine.now:
            self._deferred[run] = until
            if not run.deferred:
                engine.wake(until, (_WAITED, run))
            return DEFER
        run.blockers = [claim.name for claim in self._blockers(over)]
        return str(self._options.mode)

    def _needed(self, engine: Host, run: Run, keys: Sequence[int] = ()) -> int:
        """The blocks that a request needs besides those that it shares with claims.

        A claimed block that is cached is not shared where no hit can reach it.
        """
        more, most = {*keys}, (run.request.prompt - 1) // engine.block
        reach, shared = len(engine.pool.find(run.keys, most)), 0
        for at, key in enumerate(run.keys[:most]):
            if key not in self._owned and key not in more:
                break
            shared += not (key in engine.pool and at >= reach)
        return run.needed - shared

    def _blockers(self, over: int, but: Sequence[int] = ()) -> list[_Claim]:
        """A minimal set of claims without which a request fits, the largest first; none where all
        are too few.

        Source: `blockers` in `runtime_hooks/claims/capacity.py`.

        Args:
            but: leave out the claims that begin with this key: the request shares their blocks.
        """
        named = [claim for claim in self._claims.values() if claim.keys[0] not in but]
        named.sort(key=lambda claim: (-len(claim.keys), claim.name))
        owners = Counter(key for claim in named for key in claim.keys)
        free = {key for key, count in owners.items() if count == self._owned[key]}
        spare, needed = len(free) - over, list[_Claim]()
        if spare < 0:
            return []
        for claim in reversed(named):
            kept = free.intersection(claim.keys)
            if len(kept) > spare:
                needed.append(claim)
            else:
                spare -= len(kept)
                free -= kept
        return needed[::-1]

    def _claim(self, engine: Host, name: str, keys: tuple[int, ...], run: Run) -> _Claim | None:
        """Accept a claim, if it is within the quota and all requests fit beside it.

        Args:
            run: the request that it came with, or that ends.
        """
        total = len(self._owned) + sum(key not in self._owned for key in keys)
        fits = total <= self._options.quota * engine.pool.blocks
        if fits and self._counts:
            others = (*engine.running, *engine.waiting)
            needs = [max(each.stated, self._needed(engine, each)) for each in others]
            if self._options.on == "prefix":
                needs.append(self._needed(engine, run, keys))
            fits = total + max(needs, default=0) <= engine.pool.blocks
        if not fits:
            engine.tally.claimed("rejected")
            return None
        self._claims[name] = claim = _Claim(name, keys)
        for key in keys:
            self._owned[key] = self._owned.get(key, 0) + 1
        engine.tally.claimed("accepted")
        engine.tally.holds(len(self._owned), len(self._claims))
        if self._options.lasts is not None:
            engine.wake(engine.now + self._options.lasts, (_ENDS, claim))
        if isinstance(engine.pool, RankedPool):
            engine.pool.rank([key for key in keys if self._owned[key] == 1])
        self._settle(engine, keys)
        return claim

    def _settle(self, engine: Host, keys: Sequence[int]) -> None:
        """Exclude one block of each claimed content that is cached, where the mode does."""
        if self._holds and self._owned:
            for key in keys:
                if key in self._owned and key not in self._pins and key in engine.pool:
                    (block,) = engine.pool.find((key,), 1)
                    engine.pool.hold((block,))
                    self._pins[key] = block

    def _end(self, engine: Host, claim: _Claim, how: str) -> None:
        """End a claim; what no other claim owns is evictable, the last block first."""
        claim.live = False
        del self._claims[claim.name]
        gone = list[int]()
        for key in reversed(claim.keys):
            self._owned[key] -= 1
            if not self._owned[key]:
                del self._owned[key]
                gone.append(key)
        if isinstance(engine.pool, RankedPool):
            engine.pool.rank(gone)
        engine.pool.release([self._pins.pop(key) for key in gone if key in self._pins])
        engine.tally.claimed(how)
        for run, until in list(self._deferred.items()):
            if self._deferred.pop(run, None) is not None:
                self._again(engine, run, until)

    def _again(self, engine: Host, run: Run, until: float) -> None:
        reason = self._decide(engine, run, until)
        if reason is None:
            engine.waiting.append(run)
        elif reason is not DEFER:
            engine.refuse(run, reason)

    def beyond(self, keys: Sequence[int], hit: int, most: int) -> int:
        """Count the blocks that the tier of offloadable claims has."""
        return 0 if self._tier is None else self._tier.beyond(keys, hit, most)

    def placed(self, engine: Host, run: Run) -> None:
        """Exclude what was computed of claims."""
        self._settle(engine, run.keys[: run.stored])

    def ends(self, engine: Host, run: Run) -> None:
        """Copy what was computed to the tier."""
        if self._tier is not None:
            self._tier.ends(engine, run)

    def lost(self, engine: Host, run: Run, victims: Sequence[int]) -> None:
        """Count the losses of claims; an offloadable claim has a copy."""
        gone = [key for key in victims if key in self._owned and key not in engine.pool]
        copies = () if self._tier is None else self._tier.copies
        if away := sum(key in copies for key in gone):
            engine.tally.claimed("offloaded_blocks", away)
        if away < len(gone):
            engine.tally.harmed("evicted", len(gone) - away)

    def ended(self, engine: Host, run: Run) -> None:
        """Claim the prompt of a turn that calls a tool, in place of that of the turn before."""
        session = run.request.session
        if self._options.on != "turn" or session is None:
            return
        before = self._turns.get(session)
        if run.request.tool is None:
            self._turns.pop(session, None)
        else:
            full = run.keys[: run.request.prompt // engine.block]
            if not full or any(key not in engine.pool for key in full):
                return
            made = self._claim(engine, f"turn:{run.request.id}", full, run)
            if made is None:
                return
            self._turns[session] = made
        if before is not None and before.live:
            self._end(engine, before, "released")

    def refused(self, engine: Host, run: Run) -> None:
        """End the claim of a session whose last turn is refused."""
        self.ended(engine, run)

    def wakes(self, engine: Host, what: Any) -> None:
        """A claim's time or a request's wait is over."""
        kind, it = what
        if kind == _ENDS and it.live:
            self._end(engine, it, "expired")
        elif kind == _WAITED and it in self._deferred:
            self._again(engine, it, self._deferred.pop(it))
