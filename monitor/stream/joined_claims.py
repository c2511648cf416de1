"""Follows what claims on one object, or with one content, hold in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.cached_step import measure
from monitor.evaluate.partial_observation import BLOCKS, resting_on_losses
from monitor.evaluate.python_terms import CLAIM_REGISTERS
from monitor.stream.known_claims import KnownClaims
from spec.events.alphabet import BLOCKS_GONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from monitor.evaluate.claim import ClaimRun
    from monitor.input.records import At
    from spec.events.canonical import Event

__all__ = ["BEHIND", "JoinedClaims"]

_NONE: Final[Sequence[ClaimRun]] = ()
_LEAD: Final = CLAIM_REGISTERS.index("lead")
_TOO_MUCH: Final = "more was stated about its object, or by claims on it, than is kept"
BEHIND: Final = (
    "another claim held blocks of the same content before it was tracked, and they may be there"
)
_KIN: Final = (
    "a later fact concerns blocks of a claim that is no longer tracked and may share blocks with it"
)


class JoinedClaims(KnownClaims):
    """The claims of one stream, each with what it holds in common with others."""

    def join(
        self,
        claim: ClaimRun,
        *,
        grows: bool = False,
        commits: bool = False,
        keys: tuple[str, ...] = (),
    ) -> Sequence[ClaimRun]:
        """A claim that a registry knows is on its object from now on, with what is held there.

        Args:
            grows: more of the object is its own than was before.
            commits: it is committed to.
            keys: the contents of its positions, if this states them.

        Returns:
            Those of which two contents of one position of an object are stated.
        """
        behind, before = claim.claim_id in self.blocks.ahead.behind, claim.keys
        claim.joined = not behind
        if keys:
            self._tell_contents(claim, keys)
        if not ((comes := self.objects.add(claim)) or grows or commits):
            return _NONE
        on, disputed, others = self.contents.note(claim), _NONE, _NONE
        counts = commits or claim.counts
        if (on is not None or before) and counts:
            disputed = self.contents.disputed(claim, on, before)
            if on is not None and not disputed:
                others = self.contents.adopt(claim, on)
        if not others and self._is_new_there(claim):
            self.room.forget()
            return disputed
        again = commits and claim.committed and not claim.tracked
        brings = counts and not disputed and (comes or again or self.blocks.brings(claim))
        self._take_share(claim, others, brings=brings, commits=commits)
        for each in (claim, *others):
            if each.tracked or (commits and each is claim):
                self.blocks.ahead.look(each)
        if commits:
            self.blocks.ahead.catch_up(claim)
        elif claim.held and not claim.tracked:
            self.blocks.ahead.hold(claim)
        return disputed

    def _take_share(
        self, claim: ClaimRun, others: Sequence[ClaimRun], *, brings: bool, commits: bool
    ) -> None:
        """What is held of a claim's object, or of its contents, is its own; and what it holds is of
        all there.

        Args:
            others: those of which more contents are known by it.
            brings: others on its object may lack what it holds.
        """
        brought = [*claim.held.pairs()] if brings and claim.held else []
        before = claim.held.by_position() if brings else None
        runs = claim.held.runs() if brings else []
        self._place(claim)
        if not claim.unusual.unwatched:
            self._agree(claim, commits=commits, brought=before)
        for each in sorted(others, key=lambda other: not other.tracked):
            self._agree(each, extends=True)
        if others and commits and not claim.unusual.unwatched:  # it is not tracked yet
            self._agree(claim, commits=True, brought=before)
        if (brought or runs) and not claim.unusual.unwatched:
            kin = self.objects.beside(claim)
            self._hold_more(self.blocks.spread(claim, kin, brought, runs))

    def _tell_contents(self, claim: ClaimRun, keys: tuple[str, ...]) -> None:
        """A claim states the contents of its positions; the first statement holds."""
        if self.contents.may_state(claim):
            if claim.keys and claim.keys[: len(keys)] != keys:
                self.blocks.unstate(claim)
            self.contents.state(claim, keys)

    def _agree(
        self,
        claim: ClaimRun,
        *,
        commits: bool = False,
        extends: bool = False,
        brought: Mapping[int, frozenset[int]] | None = None,
    ) -> None:
        """What is held of the contents that are known of a claim is its own, and what it holds is
        of all with these contents.
        """
        if claim.keys:
            more = self.blocks.state(claim, commits=commits, extends=extends, brought=brought)
            self._hold_more(more)
            self.room.put(claim, claim.declared)
            self._doubt_kin(claim)

    def may_join(self, claim: ClaimRun) -> bool:
        """Whether `join` would find a claim where it was, and nothing to give it."""
        return self.objects.is_still_on(claim) and self._is_new_there(claim)

    def _is_new_there(self, claim: ClaimRun) -> bool:
        """Whether `_place` would find nothing: the claim takes no room, holds nothing, and of its
        object no block is held or stated, nor may one be without being known.
        """
        blocks, name = self.blocks, claim.claim_id
        if (
            claim.held
            or claim.declared
            or claim.constants.threshold <= 0
            or claim.unusual.unwatched
        ):
            return False
        if claim.keys or self.contents.are_about(claim) or name in blocks.ahead.followers:
            return False
        if self._unclear or self._track.lost is not None or self.room.has(name):
            return False
        if claim.held.fresh or self.ranks.has(name) or claim.facts[_LEAD]:
            return False
        return blocks.is_untouched(claim)

    def state(self, claim: ClaimRun, keys: tuple[str, ...]) -> None:
        """A commitment states the contents of a claim that holds nothing, alone on its object."""
        self.contents.state(claim, keys)
        self._agree(claim, commits=True)
        self._hold_more([claim], more=False)
        self.blocks.ahead.look(claim)
        self.blocks.ahead.catch_up(claim)

    def late(self, event: Event, claims: Iterable[ClaimRun], at: At) -> None:
        """Blocks of these claims are there, or gone, and the event does not name them. Where one of
        them was forgotten, others may share what it held: those that state contents, or any.
        """
        late = (event.claim_id is None and self.past.others_on(event.object_id)) or any(
            (claim.past is not None or claim.lost) and not (claim.keys or claim.unwatched)
            for claim in claims
        )
        gone = event.kind in BLOCKS_GONE
        if late and (gone or self.past.keyed) and gone not in self._unclear:
            self._unclear[gone] = at
            for claim in self.claims.values():
                self._doubt_kin(claim)

    def track_again(self, at: At | None) -> None:
        """A claim that was forgotten is tracked again: all with its content hold what it held."""
        if self._again is None and at is not None:
            self._again = self._unclear[True] = at
            for claim in self.claims.values():
                self._doubt_kin(claim)

    def may_hold_more(self, claim: ClaimRun) -> bool:
        """Whether a claim may hold blocks that were forgotten: its own, or such as it shares."""
        own = claim.past is not None and not claim.constants.watched
        return own or (bool(claim.keys) and False in self._unclear)

    def _doubt_kin(self, claim: ClaimRun) -> None:
        for gone, at in self._unclear.items():
            if gone or claim.keys:
                claim.doubt(BLOCKS, at, _KIN)
        if self._again is not None and claim.alive:
            claim.distrust(self._again, _KIN, resting_on_losses(claim.compiled))

    def _place(self, claim: ClaimRun) -> None:
        """What the claim holds was held before it came; if it is not watched any more, nothing."""
        self.room.put(claim, claim.declared)
        if claim.unusual.unwatched:
            return
        before = claim.held.total
        self.blocks.come(claim)
        if not self.blocks.join(claim):
            claim.doubt(BLOCKS, None, _TOO_MUCH)
        self._doubt_kin(claim)
        self._hold_more([claim], more=claim.held.total > before)

    def _hold_more(self, claims: Iterable[ClaimRun], *, more: bool = True) -> None:
        """These claims turn out to hold `more` than was known, or need less, and did before."""
        lost = self._track.lost
        for claim in claims:
            if lost is not None and self.blocks.is_stale(claim):
                claim.doubt(BLOCKS, lost[0], f"{lost[1]}, so blocks on its object may be lost")
            claim.held.take_fresh()
            whole = claim.lead >= claim.constants.threshold
            there = bool(claim.fact("there")) or whole
            measure(claim, claim.lead, there=there, more=more)
            self.ranks.note(claim)
            self.room.forget()
