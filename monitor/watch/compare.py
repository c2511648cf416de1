"""Compares what two observers of one engine state of registered prefixes (docs/decisions/0032).

A disagreement is stated only where both state whether a block is held, and only after both have
spoken `LAG_S` after the later of the two changes that made it: a difference that is only lag goes
away before.
"""

from __future__ import annotations

import time
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec

from monitor.input.kv_events.runtimes import DYNAMO, MOONCAKE, UNKNOWN
from monitor.watch.peers import LAG_S, Quiet
from monitor.watch.standing import ranges
from spec.language.prose import counted
from spec.stream.pool import GPU

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monitor.watch.holdings import Stamp
    from monitor.watch.join import Join
    from monitor.watch.peer_addresses import Peer
    from monitor.watch.peers import View
    from monitor.watch.prefixes import Key, Node

__all__ = ["Compared", "Comparison", "Differs", "Disagreement", "Outcome"]

_LAG_NS: Final = int(LAG_S * 1e9)
_LOOK_S: Final = 1.0  # between two comparisons, at least
_SHARE: Final = 20  # a comparison takes at most one part of so many of the time
_NOT_ENGINES: Final = frozenset({UNKNOWN.name, DYNAMO.name, MOONCAKE.name})


class Differs(StrEnum):
    """Who states a block alone: the peer, or the first observer."""

    PEER_ONLY = "peer_only"
    FIRST_ONLY = "first_only"


class Outcome(StrEnum):
    """What a comparison came to.

    `inconclusive`: no block could be compared, or a difference may be lag.
    """

    AGREE = "agree"
    DISAGREE = "disagree"
    INCONCLUSIVE = "inconclusive"


class Disagreement(msgspec.Struct, frozen=True):
    """A peer and the first observer state opposite things about blocks of one claim in one tier.

    `kind` says who states the blocks. There are `blocks` of them, at these `positions` of the
    prefix, from 0 on. Both are known to differ since `since_ns`, on their own clocks. `batch` is
    the batch by which the first observer changed the first of the blocks last, and `changed_ns` its
    time; None if it was no batch with a number.
    """

    claim_id: str
    tier: str
    kind: Differs
    blocks: int
    positions: str
    since_ns: int
    changed_ns: int
    batch: int | None


class Compared(msgspec.Struct, frozen=True):
    """How a peer compares with one engine.

    `why` says why no block was compared, or what may be lag. `compared` counts, by tier, the blocks
    of which both observers state whether they are held; `not_compared` says why a tier was not
    compared. If `is_first_engine`, the first observer is the engine itself, whose events are the
    observation point; if not, it is not decided which of the two is right. `ended` counts
    disagreements that are over.
    """

    peer: str
    stream: str
    outcome: Outcome
    why: str
    compared: dict[str, int]
    not_compared: dict[str, str]
    is_first_engine: bool
    disagreements: list[Disagreement]
    ended: int


_Key: TypeAlias = tuple[str, str, Differs]


class _Difference(NamedTuple):
    """Two observers differ on a block since then; `stamp` is of the first one's last change."""

    since_ns: int
    stamp: Stamp


class _Pair:
    """One peer and one engine.

    Attributes:
        stated: the disagreements that hold now, by claim, tier and kind.
    """

    def __init__(self, join: Join, peer: Peer, *, live: bool) -> None:
        self.join, self.peer = join, peer
        self._quiet = Quiet(join.holdings, live=live)
        self.stated: dict[_Key, Disagreement] = {}
        self.ended = 0
        self._why, self._unsettled = "", 0
        self._reaches: dict[str, list[Stamp]] = {}
        self._nodes: dict[Key, Node] = {}
        self._compared: dict[str, int] = {}
        self._not_compared: dict[str, str] = {}

    def look(self, size: int, *, alone: bool) -> tuple[list[Disagreement], list[Disagreement], str]:
        """Compare again.

        Returns:
            The disagreements that are new, or of other blocks; those that are over; and why
            no block can be compared any more, empty if one can.
        """
        now_ns = self._quiet.now_ns
        self._compared, self._not_compared, self._unsettled = {}, {}, 0
        # What the engine held before it was started again, a peer may still state.
        self._nodes = {**self.join.prefixes.former, **self.join.prefixes.nodes}
        view = self.peer.view(self.join.stream, size, alone=alone)
        self._reaches.clear()
        found: dict[_Key, Disagreement] = {}
        if isinstance(view, str):
            self._why = view
        else:
            self._why = self._unlike(view)
            found = {} if self._why else self._differences(view, min(now_ns, view.now_ns))
        before = {key: each.positions for key, each in self.stated.items()}
        new = [each for key, each in found.items() if each.positions != before.get(key)]
        over = [each for key, each in self.stated.items() if key not in found]
        self.ended += len(over)
        self.stated = found
        return new, over, self._why

    def _unlike(self, view: View) -> str:
        """Why two observers cannot be compared at all; empty if they can."""
        join = self.join
        if join.paused:
            return f"batches of the first observer may be missing: {join.paused}"
        if not join.has_one_group:
            return "the engine has several groups of caches, or windows"
        if not view.is_related(self._nodes):
            return "no hash that it states is known of a registered prefix"
        return ""

    def _differences(self, view: View, now_ns: float) -> dict[_Key, Disagreement]:
        """The disagreements on each claim."""
        blocks: dict[_Key, dict[int, _Difference]] = {}
        for tier in sorted(self.join.holdings.stated | view.tiers):
            if tier not in self.join.holdings.stated:
                self._not_compared[tier] = "the first observer states no blocks in it"
            elif tier not in view.tiers:
                self._not_compared[tier] = "the peer states no blocks in it"
            else:
                for key in self._nodes:
                    self._compare(view, now_ns, tier, key, blocks)
        return {key: _disagreement(*key, found) for key, found in blocks.items()}

    def _compare(
        self,
        view: View,
        now_ns: float,
        tier: str,
        key: Key,
        to: dict[_Key, dict[int, _Difference]],
    ) -> None:
        """Compare a block in a tier."""
        ours, theirs = self.join.has(tier, key), view.has(tier, key)
        if ours is None or theirs is None:
            return
        self._compared[tier] = self._compared.get(tier, 0) + 1
        if ours is theirs:
            return
        node, stamp = self._nodes[key], self.join.holdings.stamps.of(tier, 0, key)
        kind, theirs_ns = Differs.PEER_ONLY, view.changed_ns(tier, key)
        stamps = dict.fromkeys(node.claims, stamp)
        if ours:
            kind = Differs.FIRST_ONLY
        if ours and tier == GPU:  # an index of prefixes has no use for a block that no hit reaches
            reached = {name: self._reached(name) for name in node.claims}
            stamps = {
                name: e[node.position] for name, e in reached.items() if node.position < len(e)
            }
        late = {name for name, e in stamps.items() if now_ns < max(e.time_ns, theirs_ns) + _LAG_NS}
        self._unsettled += bool(late)
        for name in stamps.keys() - late:
            found = to.setdefault((name, tier, kind), {})
            since_ns = max(stamps[name].time_ns, theirs_ns)
            found[node.position] = _Difference(since_ns, stamps[name])

    def _reached(self, name: str) -> list[Stamp]:
        """When a hit on a claim began to reach each block that it finds, from the first one on."""
        if name not in self._reaches:
            stamps = self.join.stamps(self.join.standings[name])
            self._reaches[name] = [*accumulate(stamps, _later)]
        return self._reaches[name]

    def result(self) -> Compared:
        """What the comparison came to."""
        why = self._why
        if not why and self._unsettled:
            blocks = f"{counted(self._unsettled, 'block')} differ{'s' * (self._unsettled == 1)}"
            why = f"{blocks} for less than {LAG_S:.0f} s, which may be lag"
        if not why and not self._compared:
            why = "of no block do both observers state whether it is held"
        outcome = Outcome.INCONCLUSIVE if why else Outcome.AGREE
        return Compared(
            self.peer.name,
            self.join.stream,
            Outcome.DISAGREE if self.stated else outcome,
            why,
            self._compared,
            self._not_compared,
            self.join.runtime.name not in _NOT_ENGINES,
            [*self.stated.values()],
            self.ended,
        )


class Comparison:
    """The engines that are watched, each with all peers.

    Args:
        size: tokens of a block.
        on_change: called with an engine, a peer, a disagreement and why it is over; that is empty
            for one that is not over.
    """

    def __init__(
        self,
        peers: Sequence[Peer],
        size: int,
        on_change: Callable[[Join, Peer, Disagreement, str], None],
    ) -> None:
        self._peers, self._size, self._on_change = peers, size, on_change
        self._pairs: dict[tuple[Join, str], _Pair] = {}
        self._next_s = 0.0

    def look(self, joins: Sequence[tuple[Join, bool]]) -> None:
        """Compare again, if it is time.

        Args:
            joins: the engines, and whether each is read from a socket.
        """
        if (began := time.monotonic()) >= self._next_s:
            self.compare(joins)
            ended = time.monotonic()
            self._next_s = ended + max(_LOOK_S, _SHARE * (ended - began))

    def compare(self, joins: Sequence[tuple[Join, bool]]) -> None:
        """Compare now."""
        for join, live in joins:
            for peer in self._peers:
                pair = self._pairs.setdefault((join, peer.name), _Pair(join, peer, live=live))
                new, over, why = pair.look(self._size, alone=len(joins) == 1)
                for each in new:
                    self._on_change(join, peer, each, "")
                for each in over:
                    self._on_change(join, peer, each, why or "they do not differ any more")

    def results(self) -> list[Compared]:
        """What each comparison came to."""
        return [pair.result() for pair in self._pairs.values()]


def _later(one: Stamp, other: Stamp) -> Stamp:
    return other if other.time_ns > one.time_ns else one


def _disagreement(
    claim_id: str, tier: str, kind: Differs, blocks: dict[int, _Difference]
) -> Disagreement:
    first = min(blocks.values(), key=lambda each: each.since_ns)
    return Disagreement(
        claim_id,
        tier,
        kind,
        len(blocks),
        ranges(blocks),
        first.since_ns,
        first.stamp.time_ns,
        first.stamp.batch,
    )
