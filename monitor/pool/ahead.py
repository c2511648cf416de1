"""Tracks claims that hold blocks before they are tracked, and claims that may hold these unseen.

Blocks of a claim that is not tracked yet may be gone without a report. So they are not given to a
claim with the same content that comes later, which may hold them: it is behind the other one
until that is tracked.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from monitor.pool.groups import Groups
from monitor.pool.shares import shared, where_alike

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from monitor.evaluate.claim import ClaimRun

__all__ = ["Ahead"]

_MOST: Final = 512  # claims that are asked for what they hold


class Ahead:
    """The claims that are early, which hold blocks and are not tracked yet, and those behind them.

    `behind` has, by the id of a claim, those of the claims that it is behind; `followers` the
    claims behind each. A claim that is behind is not taken for one that `joined`, so that no event
    that names it is taken by a short way.
    """

    def __init__(self) -> None:
        self._on: Groups[Hashable] = Groups()
        self._with: dict[tuple[int, str], dict[str, ClaimRun]] = {}
        self.behind: dict[str, dict[str, None]] = {}
        self.followers: dict[str, dict[str, ClaimRun]] = {}

    def hold(self, claim: ClaimRun) -> None:
        """A claim that is not tracked holds blocks of its object."""
        self._on.add(claim.object, claim)
        self.state(claim)

    def state(self, claim: ClaimRun) -> None:
        """The contents of a claim that is not tracked are known; that matters once it holds any."""
        for place in enumerate(claim.keys) if claim.held else ():
            self._with.setdefault(place, {})[claim.claim_id] = claim

    def unstate(self, claim: ClaimRun) -> None:
        """The contents of the claim are not what they were, or it is early no more."""
        for place in enumerate(claim.keys) if self._with else ():
            if (known := self._with.get(place)) is not None:
                known.pop(claim.claim_id, None)
                if not known:
                    del self._with[place]

    def leave(self, claim: ClaimRun, about: Hashable) -> None:
        """The claim holds nothing of this object."""
        self._on.remove(about, claim.claim_id)

    def clear(self) -> None:
        """Nothing is held any more."""
        self._on.clear()

    def look(self, claim: ClaimRun) -> None:
        """A claim is tracked from now on, or comes to some content: find those it is behind."""
        if not (len(self._on) or self._with):
            return
        for other in self._ahead_of(claim):
            self.behind.setdefault(claim.claim_id, {})[other.claim_id] = None
            self.followers.setdefault(other.claim_id, {})[claim.claim_id] = claim
            claim.stir()
            claim.joined = False

    def _ahead_of(self, claim: ClaimRun) -> Iterator[ClaimRun]:
        on = self._on.last_of(claim.object, _MOST + 1)
        for other in _early(on[:_MOST], claim):
            held = claim.held
            if any(
                block not in held.at(p) for p, block in shared(other, claim, other.held.pairs())
            ):
                yield other
                continue
            runs = (run for each in other.held.runs() for run in where_alike(other, claim, *each))
            if not all(held.covers(*run) for run in runs):
                yield other
        yield from on[_MOST:]
        for place in enumerate(claim.keys) if self._with else ():
            alike = [*islice(self._with.get(place, {}).values(), _MOST + 1)]
            for other in _early(alike[:_MOST], claim):
                if _holds_more(other, claim, place[0]):
                    yield other
            yield from alike[_MOST:]

    def catch_up(self, claim: ClaimRun) -> None:
        """A claim is committed to: those that were behind it hold what it does."""
        self.leave(claim, claim.object)
        self.unstate(claim)
        for name in self.followers.pop(claim.claim_id, ()):
            others = self.behind[name]
            del others[claim.claim_id]
            if not others:
                del self.behind[name]

    def exposed(self, gone: Iterable[ClaimRun]) -> list[ClaimRun]:
        """The claims that may have lost what they need of what they hold unseen, where these claims
        lost blocks.
        """
        found: dict[str, ClaimRun] = {}
        for claim in gone if self.behind else ():
            if claim.claim_id in self.behind:
                found[claim.claim_id] = claim
            found |= self.followers.get(claim.claim_id, {})
        return _short(found.values())

    def forget(self, claim: ClaimRun) -> list[ClaimRun]:
        """A claim is forgotten; those that were behind it and may hold what it held."""
        for name in self.behind.pop(claim.claim_id, ()):
            if (others := self.followers.get(name)) is not None:
                others.pop(claim.claim_id, None)
                if not others:
                    del self.followers[name]
        return _short(self.followers.pop(claim.claim_id, {}).values())


def _early(claims: Iterable[ClaimRun], claim: ClaimRun) -> Iterator[ClaimRun]:
    """Those of these claims, but for one, that are not tracked yet."""
    return (each for each in claims if each is not claim and each.is_early)


def _short(claims: Iterable[ClaimRun]) -> list[ClaimRun]:
    """Those of these claims that are not known to hold all that they need."""
    return [each for each in claims if each.tracked and each.lead < each.constants.threshold]


def _holds_more(one: ClaimRun, other: ClaimRun, position: int) -> bool:
    """Whether a claim holds a position in blocks in which another one does not."""
    more = one.held.unnamed_at(position) and not other.held.unnamed_at(position)
    return more or not one.held.at(position) <= other.held.at(position)
