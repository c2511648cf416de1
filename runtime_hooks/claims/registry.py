"""Holds the live claims of one engine, moves their lifecycles, and checks that a claim fits."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter, deque
from collections.abc import Mapping
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from runtime_hooks.claims.capacity import ClaimedBlocks
from runtime_hooks.claims.entry import WATCHED, Entry
from runtime_hooks.claims.owners import Owners
from runtime_hooks.claims.qualified import ClaimNames
from runtime_hooks.claims.used_ids import UsedIds
from runtime_hooks.settings.config import TAKEN
from spec.claims.durations import Instant, TimeUnit
from spec.claims.lifecycle import RUNTIME, Actor
from spec.claims.states import TRIGGERS, Mode
from spec.events.alphabet import Kind
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runtime_hooks.claims.groups import Groups
    from runtime_hooks.settings.config import Settings
    from runtime_hooks.trace.emitter import Emitter
    from runtime_hooks.trace.faults import Faults
    from spec.claims.claim import ResidentClaim
    from spec.claims.durations import Duration

__all__ = ["Now", "Registry", "seconds_text"]

Now: TypeAlias = Mapping[TimeUnit, int]
"""The clocks: the monotonic time in ns, and the number of steps that the engine has begun."""

_PER: Final = {TimeUnit.SECONDS: 1_000_000_000, TimeUnit.STEPS: 1}
_FOR_A_ROUTER: Final = "one engine routes nothing: such a claim is for a router"


class Registry:
    """The claims of one engine.

    `live` has them by the engine's id, which `names` makes. `declared` are the blocks of all live
    claims that can keep a request out; `version` changes whenever these claims leave more or fewer
    blocks to requests. `owners` counts what each owner's claims take, `groups` are the groups of
    caches. `changed` is called with each claim that begins, and with each that ends.

    Args:
        usable: blocks of the pool without the null block.
        now: the clocks, kept up to date by the controller.
        faults: gets the illegal moves of lifecycles.
        no_tier: why the engine has no offload tier; empty where it has one.
    """

    def __init__(
        self,
        settings: Settings,
        usable: int,
        emitter: Emitter,
        now: Now,
        faults: Faults,
        *,
        groups: Groups,
        no_tier: str = "it has no offload tier",
    ) -> None:
        self.live: dict[str, Entry] = {}
        self.groups = groups
        self.version = 0
        self.changed: Callable[[Entry], None] = lambda entry: None
        self.declared = ClaimedBlocks()
        self.owners = Owners(settings, usable)
        self.names = ClaimNames(qualified=bool(settings.scopes))
        self._enforced = ClaimedBlocks()  # of the claims whose mode is enforced
        self._on_device = ClaimedBlocks()  # of those among them that have no copy elsewhere
        self._others = 0  # claims that are not offloadable
        self._settings, self._usable, self._emitter = settings, usable, emitter
        self._now, self._faults = now, faults
        self._no_tier = no_tier
        self._modes = frozenset(TAKEN) - ({Mode.OFFLOADABLE} if no_tier else set())
        self._used_ids = UsedIds()  # of claims that were accepted
        self._used_by: Counter[bytes] = Counter()  # ids that each owner has used
        # By clock: when claims end, and their ids. An id is used once, so it names one claim.
        self._ends: dict[TimeUnit, list[tuple[int, str]]] = {unit: [] for unit in TimeUnit}
        self._patience_ns = ceil(settings.materialize_within_s * _PER[TimeUnit.SECONDS])
        self._expected: deque[tuple[int, str]] = deque()  # by when demotable claims are to be there

    def take_routed(self, changed: Callable[[Entry], None]) -> None:
        """Accept claims of routed_reuse, and have a function called as `changed`."""
        self._modes |= {Mode.ROUTED_REUSE}
        self.changed = changed

    # Admission.

    def rejection(self, claim: ResidentClaim, keys: Sequence[bytes], largest_need: int) -> str:
        """The reason why the claim cannot be accepted; empty where it can be.

        Args:
            keys: the contents of the whole blocks of the prompt that the claim came with.
            largest_need: the most blocks that any unfinished request needs besides those of claims.
        """
        engine_id, footprint = claim.claim_id, claim.footprint_blocks
        of = self.names.owners_id(engine_id, claim.owner_scope)
        needed = self.groups.needed(keys[:footprint])
        size, free = self._capacity(claim, needed)
        if (mode := claim.protection_mode) not in self._modes:
            why = self._no_tier if mode is Mode.OFFLOADABLE else _FOR_A_ROUTER
            return f"this engine keeps no {mode} claims: {why}"
        if (differs := self._differs(claim, keys)) is not None:
            return f"claim id {of} is live with {differs}; a new promise needs a new id"
        if engine_id in self._used_ids:
            return f"claim id {of} was used before; a new promise needs a new id"
        if len(self._used_ids) >= self._settings.lives:
            return f"{self._settings.lives} claims were accepted in this run, which is the most"
        if self._used_by[_digest(claim.owner_scope)] >= self._settings.owner_lives:
            most = self._settings.owner_lives
            return f"{most} claims of {claim.owner_scope} were accepted, which is the most"
        if footprint > len(keys):
            return f"the prompt has {len(keys)} whole blocks, and the claim is for {footprint}"
        predicate = claim.materialization_predicate
        if self.groups.sparse and footprint != predicate.end:
            return (
                f"its predicate ends at block {predicate.end}: where a cache keeps the end of a "
                "prompt alone that is its size"
            )
        if self.groups.sparse and predicate.start:
            return "its predicate begins within the prompt, of which a cache keeps the end alone"
        if footprint % self.groups.align:
            return f"a hit ends at a multiple of {self.groups.align} blocks here"
        if why := self.owners.rejection(claim, needed, watched=mode in WATCHED):
            return why
        if mode in WATCHED:
            return ""
        floor = self.owners.quotas.floor if size else 0  # it limits what is taken
        if size > free - floor:
            kept = f", of which no claim may take the last {floor}" if floor else ""
            return f"it needs {size} blocks, and {free} of {self._usable} are not claimed{kept}"
        if size + largest_need > free:
            left = free - size
            return f"an unfinished request needs {largest_need} more blocks, and {left} are left"
        return ""

    def grounds(self, claim: ResidentClaim, keys: Sequence[bytes]) -> str:
        """The sum by which a claim on these contents fits beside the others."""
        size, free = self._capacity(claim, self.groups.needed(keys))
        return f"it needs {size} blocks, and {free} of {self._usable} are not claimed"

    def _capacity(self, claim: ResidentClaim, needed: Sequence[bytes]) -> tuple[int, int]:
        """How many blocks a claim adds to those of the others, and how many are not claimed."""
        blocks = self.declared
        if claim.protection_mode is Mode.OFFLOADABLE and not self._others:
            blocks = self._without_copies()
        return blocks.lacks(needed), self._usable - len(blocks)

    def stands(self, claim: ResidentClaim, keys: Sequence[bytes]) -> bool:
        """Whether this very claim is live: of this owner, by these terms, on these contents."""
        entry = self.live.get(claim.claim_id)
        return entry is not None and entry.claim == claim and _begins(keys, entry.keys)

    def _differs(self, claim: ResidentClaim, keys: Sequence[bytes]) -> str | None:
        """How a live claim of this id and this owner differs; None where there is none."""
        entry = self.live.get(claim.claim_id)
        if entry is None or entry.claim.owner_scope != claim.owner_scope:
            return None
        if not _begins(keys, entry.keys):
            return "another prompt"
        names = type(claim).model_fields
        return f"another {next(n for n in names if getattr(claim, n) != getattr(entry.claim, n))}"

    def add(
        self,
        claim: ResidentClaim,
        keys: tuple[bytes, ...],
        terms: Mapping[str, Any] = MappingProxyType({}),
        named: tuple[str, ...] = (),
    ) -> Entry:
        """Add a claim that was not rejected: responsibility for it begins.

        Args:
            terms: the fields of its registration; `named` its content keys. Both are restated.
        """
        now = self._now[TimeUnit.SECONDS]
        blocks = self.groups.needed(keys)
        entry = Entry(claim, keys, blocks, since_ns=now, terms=terms, named=named)
        self.live[claim.claim_id] = entry
        self._used_ids.add(claim.claim_id)
        self._used_by[_digest(claim.owner_scope)] += 1
        self.owners.add(entry)
        self._count(entry, live=True)
        if (duration := claim.duration) is not None:
            entry.accepted_at = self._now[duration.unit]
            heapq.heappush(self._ends[duration.unit], (_end_of(entry, duration), claim.claim_id))
        if self._patience_ns and claim.protection_mode is Mode.DEMOTABLE:
            self._expected.append((entry.since_ns + self._patience_ns, claim.claim_id))
        self._move(entry, Kind.CLAIM_ACCEPTED, RUNTIME)
        self.changed(entry)
        return entry

    # The life of a claim.

    def report(self, entry: Entry, kind: Kind, *, actor: Actor = RUNTIME, **fields: Any) -> None:
        """Report what happened to a claim, and move its lifecycle accordingly.

        An illegal move is a fault of this plugin. It is logged, counted and never raised. The
        report stands in the trace, where a check finds `illegal_transition`.

        Args:
            actor: who moves the claim.
            fields: the other fields of the report.
        """
        self._emitter.report(kind, claim_id=entry.claim_id, **fields)
        if kind in TRIGGERS:
            self._move(entry, kind, actor)

    def end(self, entry: Entry) -> None:
        """Remove a claim: responsibility for it has ended."""
        del self.live[entry.claim_id]
        self.set_copied(entry, False)
        self._count(entry, live=False)
        self.owners.remove(entry)
        self.changed(entry)

    def due(self, unit: TimeUnit) -> Entry | None:
        """A live claim whose duration is over by this clock, or None; no claim is scanned."""
        ends = self._ends[unit]
        while ends and ends[0][0] <= self._now[unit]:
            entry = self.live.get(heapq.heappop(ends)[1])
            if entry is not None:
                return entry
        return None

    def overdue(self) -> Entry | None:
        """A live demotable claim that was never there in the time that the settings give it, or
        None; no claim is scanned.
        """
        expected = self._expected
        while expected and expected[0][0] <= self._now[TimeUnit.SECONDS]:
            entry = self.live.get(expected.popleft()[1])
            if entry is not None and entry.never_there:
                return entry
        return None

    def left_exactly(self, entry: Entry) -> str | None:
        """What is left of a claim's duration, as another one; None where it has none.

        In its last step a claim has one step left.
        """
        if (duration := entry.claim.duration) is None:
            return None
        left = _end_of(entry, duration) - self._now[duration.unit]
        if duration.unit is TimeUnit.STEPS:
            return f"{max(1, left)} steps"
        return seconds_text(left)

    def left(self, entry: Entry) -> str:
        """How much of a claim's duration is left; empty where it has none."""
        if (duration := entry.claim.duration) is None:
            return ""
        left = _end_of(entry, duration) - self._now[duration.unit]
        if duration.unit is TimeUnit.STEPS:
            return f"{left} steps"
        return f"{left / _PER[duration.unit]:.1f} s"

    def set_copied(self, entry: Entry, copied: bool) -> None:
        """Record that the offload tier has a copy of all blocks of the claim, or has not."""
        if entry.copied is not copied:
            entry.copied = copied
            self.version += 1
            if self.enforces(entry):
                (self._on_device.remove if copied else self._on_device.add)(entry.blocks)

    def _move(self, entry: Entry, trigger: Kind, actor: Actor) -> None:
        try:
            entry.lifecycle.step(trigger, by=actor, now=self._since_acceptance(entry))
        except SpecError as illegal:
            self._faults.note("claim lifecycle", illegal, effect="a check of the trace finds it")

    def _since_acceptance(self, entry: Entry) -> Instant | None:
        """The clock of the claim's duration, begun at its acceptance, never rounded down."""
        if (duration := entry.claim.duration) is None:
            return None
        passed = self._now[duration.unit] - entry.accepted_at
        if duration.unit is TimeUnit.STEPS:
            return Instant(unit=duration.unit, value=passed)
        return Instant(unit=duration.unit, value=-(-passed // 1_000) / 1_000_000)

    # Capacity.

    @property
    def reserved(self) -> ClaimedBlocks:
        """The blocks that claims keep from requests.

        A claim with a copy elsewhere keeps none. But as soon as there is a claim of another mode
        every footprint counts, because the contract decides by all declared footprints whether a
        request conflicts with that claim.
        """
        return self._enforced if self._others else self._on_device

    @property
    def orders_victims(self) -> bool:
        """Whether the pool evicts blocks in the order of priorities."""
        return Mode.SOFT_PRIORITY in self._settings.enforce

    def enforces(self, entry: Entry) -> bool:
        """Whether the promise of the claim's mode is enforced, not only reported on."""
        return entry.claim.protection_mode in self._settings.enforce

    def _without_copies(self) -> ClaimedBlocks:
        """The blocks that offloadable claims keep from requests, where there are no others."""
        return self._on_device if Mode.OFFLOADABLE in self._settings.enforce else self.declared

    def _count(self, entry: Entry, *, live: bool) -> None:
        if entry.watched:
            return
        self.version += 1
        enforced = (self._enforced, self._on_device) if self.enforces(entry) else ()
        for blocks in (self.declared, *enforced):
            (blocks.add if live else blocks.remove)(entry.blocks)
        offloadable = entry.claim.protection_mode is Mode.OFFLOADABLE
        self._others += 0 if offloadable else 1 if live else -1


def seconds_text(ns: int) -> str:
    """A duration of so many ns, never rounded up: seconds may have 15 digits."""
    whole, rest = divmod(ns, _PER[TimeUnit.SECONDS])
    return f"{whole}.{f'{rest:09}'[: max(0, 15 - len(str(whole)))]} s"


def _end_of(entry: Entry, duration: Duration) -> int:
    """The reading of the clock of its duration, in ns or steps, at which a claim expires."""
    return entry.accepted_at + ceil(duration.exact * _PER[duration.unit])


def _begins(keys: Sequence[bytes], first: tuple[bytes, ...]) -> bool:
    return tuple(keys[: len(first)]) == first


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()
