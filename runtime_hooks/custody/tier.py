"""What becomes of claims whose blocks are copied to an offload tier, and come back or do not."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Protocol

from runtime_hooks.requests.metadata import name_of
from spec.claims.claim import Mode
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from runtime_hooks.custody.blocks import Custody
    from runtime_hooks.custody.registry import Registry
    from runtime_hooks.custody.voice import Voice
    from runtime_hooks.enforce.ledger import Entry

__all__ = ["Copies", "Tier"]


class Copies(Protocol):
    """The offload tier of the engine, as far as the keeper needs it."""

    def has(self, keys: Sequence[bytes]) -> Iterable[bytes]:
        """Those of these contents of which there is a copy that can be loaded."""

    def keep(self, keys: Sequence[bytes]) -> None:
        """From now on the copies of these contents are not given up."""

    def drop(self, keys: Sequence[bytes]) -> None:
        """They may be given up again."""


@dataclass(slots=True)
class _Load:
    """A load for one request: what it brings, the claims whose copies it brings back, and those of
    them that the request uses whole, from its own blocks and from these.
    """

    keys: frozenset[bytes] = frozenset()
    claims: set[str] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)


class Tier:
    """The copies of claims in the tier, and the loads that bring them back.

    Args:
        copies: the tier; None where there is none, and then nothing of this happens.
        tick: called at the beginning of each thing that happens.
    """

    def __init__(
        self,
        copies: Copies | None,
        custody: Custody,
        registry: Registry,
        voice: Voice,
        tick: Callable[[], None],
    ) -> None:
        self._copies, self._custody, self._registry = copies, custody, registry
        self._voice, self._tick = voice, tick
        self._loads: dict[str, _Load] = {}

    def claims_on(self, keys: Iterable[bytes]) -> list[str]:
        """The ids of the claims whose copies these contents are, or would be."""
        return sorted(entry.claim_id for entry in self._claims_on(keys))

    def begin(self, entry: Entry) -> None:
        """A claim was accepted, of which there may be a copy already."""
        if self._copies is not None and entry.claim.protection_mode is Mode.OFFLOADABLE:
            there = set(self._copies.has(entry.keys))
            self._copied(entry, {at for at, key in enumerate(entry.keys) if key in there}, set())

    def stored(self, keys: Iterable[bytes]) -> None:
        """Contents were copied to the tier. Once all of a claim are, its blocks may leave."""
        self._tick()
        for entry, positions in self._claims_on(keys).items():
            self._copied(entry, set(), positions)

    def _copied(self, entry: Entry, found: set[int], stored: set[int]) -> None:
        """There are copies at these positions, found in the tier or stored.

        A store of what was never there since the claim was taken was made for others, and is found.
        """
        entry.stored |= found | stored
        if entry.copied or len(entry.stored) < entry.footprint:
            return
        copied = Kind.STORE_FINISHED if stored and entry.there else Kind.HOST_COPY_FOUND
        self._voice.fact(copied, claim_id=entry.claim_id)
        self._voice.report(Kind.CLAIM_OFFLOADED, claim_id=entry.claim_id)
        if self._registry.keeps(entry) and self._copies is not None:
            self._copies.keep(entry.keys)
            self._custody.let_go(entry)
        self._registry.copy(entry, there=True)

    def forgotten(self, keys: Iterable[bytes] | None) -> None:
        """The tier gave up copies, or all of them (None)."""
        self._tick()
        for entry, positions in self._claims_on(keys).items():
            entry.stored -= positions
            if not entry.copied:
                continue
            self._voice.fact(Kind.HOST_COPY_LOST, claim_id=entry.claim_id)
            self._registry.copy(entry, there=False)
            self._custody.want(entry)
            if not entry.holds:
                self._voice.report(Kind.CLAIM_HARMED, claim_id=entry.claim_id)
                self._still_required(entry)

    def loading(self, request_id: str, keys: Sequence[bytes]) -> list[str]:
        """A request needs these contents back; the ids of the claims that they are copies of."""
        self._tick()
        load = self._loads[request_id] = _Load(frozenset(keys))
        for entry, positions in self._claims_on(keys).items():
            if not entry.copied:
                continue
            load.claims.add(entry.claim_id)
            if max(positions) + 1 >= entry.claim.materialization_predicate.end:
                load.whole.add(entry.claim_id)
                entry.restores += 1
                self._require(entry, request_id)
        return sorted(load.claims)

    def _require(self, entry: Entry, request_id: str) -> None:
        about = {"claim_id": entry.claim_id, "request_id": name_of(request_id)}
        self._voice.report(Kind.CLAIM_RESTORE_REQUIRED, **about)

    def _still_required(self, entry: Entry) -> None:
        """Other restores of the claim are under way, and may come back all the same."""
        for request_id, load in self._loads.items():
            if entry.claim_id in load.whole:
                self._require(entry, request_id)

    def loaded(self, request_id: str, pairs: Sequence[tuple[bytes, int]]) -> bool:
        """The contents are back, and cached: the blocks of the request from its first on; whether
        any of them is a claim's.
        """
        self._tick()
        load = self._over(request_id)
        self._bring(request_id, load, pairs)
        return any(map(self._custody.concerned, load.keys))

    def under_way(self, request_id: str) -> bool:
        """Whether a request waits for copies of claims."""
        return request_id in self._loads and bool(self._live(self._loads[request_id]))

    def unused(self, request_id: str, pairs: Sequence[tuple[bytes, int]]) -> None:
        """The contents are back, for a request that was aborted meanwhile: these blocks held them,
        and were let go without being cached.
        """
        self._tick()
        load = self._over(request_id)
        if brought := self._bring(request_id, load, pairs):
            self._custody.lost(brought)

    def _bring(self, request_id: str, load: _Load, pairs: Sequence[tuple[bytes, int]]) -> list[int]:
        """Contents are back; the blocks that hold them.

        Claims that have no copy did not load them: they are told first that they are there.
        """
        first = sum(1 for _ in takewhile(lambda pair: pair[0] not in load.keys, pairs))
        brought = {key: block for key, block in pairs[first:] if key in load.keys}
        self._custody.place(list(brought.items()), None, loaded=load.claims)
        self._custody.tell_unclaimed(first, list(brought.items()), None)
        for entry in self._live(load):
            contents = zip(entry.keys, entry.contents, strict=True)
            back = [(content.at, brought[key]) for key, content in contents if key in brought]
            if not back:
                continue
            about = {"claim_id": entry.claim_id, "request_id": name_of(request_id)}
            blocks, positions = tuple(b for _, b in back), tuple(at for at, _ in back)
            self._voice.fact(Kind.LOAD_FINISHED, **about, block_ids=blocks, positions=positions)
            rose, entry.brought = entry.gain(None), name_of(request_id) if entry.copied else None
            if entry.claim_id in load.whole and entry.holds:
                self._voice.report(Kind.CLAIM_RESTORED, **about, from_tier=True)
                entry.brought = None
            elif rose:
                self._voice.there(entry, None)
        return list(brought.values())

    def failed(self, request_id: str) -> tuple[str, ...]:
        """The contents did not come back: the claims that the request is refused for."""
        if request_id not in self._loads or not (load := self._over(request_id)).claims:
            return ()
        self._tick()
        return self._refuse(request_id, self._live(load))

    def withheld(self, request_id: str, keys: Sequence[bytes], found: int) -> tuple[str, ...]:
        """A request can use these contents, and is to be scheduled with the first `found`: the
        claims that it is refused for, because they are away, copied, and not brought back for it.
        """
        ledger = self._custody.ledger
        if not (keys and ledger.claims(keys[0])):
            return ()
        missing = [
            entry
            for entry, asked in ledger.shared(keys).items()
            if entry.copied and self._registry.keeps(entry) and not entry.holds
            if found < entry.claim.materialization_predicate.end <= asked
        ]
        if not missing:
            return ()
        self._tick()
        return self._refuse(request_id, missing)

    def _refuse(self, request_id: str, missing: Sequence[Entry]) -> tuple[str, ...]:
        """Claims did not come back for a request; those that it is refused for."""
        named = name_of(request_id)
        for entry in missing:
            self._voice.fact(Kind.LOAD_FAILED, claim_id=entry.claim_id, request_id=named)
        claims = tuple(entry.claim_id for entry in missing if self._registry.keeps(entry))
        for claim in claims:
            self._voice.report(
                Kind.CLAIM_RESTORATION_FAILED,
                claim_id=claim,
                request_id=named,
                outcome="refusal",
                outcome_claim_id=claim,
                blocking_claim_ids=(claim,),
            )
        if claims:
            self._voice.report(
                Kind.REQUEST_REFUSED, request_id=named, blocking_claim_ids=claims, restore=True
            )
        for entry in missing:
            self._still_required(entry)
        return claims

    def _over(self, request_id: str) -> _Load:
        """The load of a request is, or there was none."""
        load = self._loads.pop(request_id, _Load())
        for entry in self._live(load):
            entry.restores -= entry.claim_id in load.whole
        return load

    def _live(self, load: _Load) -> list[Entry]:
        """The claims of a load that are still there."""
        live = (self._registry.live.get(claim_id) for claim_id in sorted(load.claims))
        return [entry for entry in live if entry is not None]

    def _claims_on(self, keys: Iterable[bytes] | None) -> dict[Entry, set[int]]:
        """The offloadable claims on these contents, or all of them (None), and where.

        A copy of another claim's blocks is none that the tier keeps for it.
        """
        ledger = self._custody.ledger
        found = (
            {entry: set(entry.stored) for entry in self._registry.live.values()}
            if keys is None
            else ledger.on(keys)
        )
        return {e: at for e, at in found.items() if e.claim.protection_mode is Mode.OFFLOADABLE}

    def remove(self, entry: Entry) -> None:
        """The claim is over: its copies may be given up."""
        if entry.copied and self._registry.keeps(entry) and self._copies is not None:
            self._copies.drop(entry.keys)
