"""Summarises a retired claim: everything that may still matter, except its terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.by_kind import unmoved
from monitor.evaluate.claim import ClaimRun
from monitor.evaluate.claim_record import UNSTATED
from monitor.evaluate.constants import constants_of
from monitor.evaluate.in_hand import InHand
from monitor.evaluate.observer_state import Finding, ObserverState
from spec.claims.claim import Mode
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

__all__ = ["again", "likeness"]

_LASTING: Final = ("registered", "committed", "there", "host", "copied")
_MODES: Final = frozenset(Mode)
_STOOD: Final = "this was its state when the claim was no longer tracked"


def likeness(claim: ClaimRun) -> Hashable:
    """Equal for claims that are over and differ in nothing that their observers will read."""
    standing = (
        *(claim.fact(name) for name in _LASTING),
        *(claim.state, claim.accepted, claim.registered, claim.elapsed, claim.unwatched),
        *(claim.strayed, claim.early, claim.disputed),
        *(mode if mode in _MODES else None for mode in (claim.declared_mode, claim.other_mode)),
    )
    if claim.taint is not None:
        return (*standing, *claim.broken)
    if (product := claim.product) is None:
        return (*standing, *_observed(claim))
    if product.observed is None:
        product.observed = _observed(claim)
    return (*standing, *product.observed)


def _observed(claim: ClaimRun) -> tuple[Hashable, ...]:
    """How the observers stand, but for the places of events."""
    base = tuple((watch.state, watch.own) for watch in claim.base)
    kept = tuple(sorted((index, found.verdict) for index, found in claim.kept.items()))
    retired = frozenset(claim.retired)
    return base, retired, kept, _left(claim), claim.unknown, frozenset(claim.doubts)


def again(like: ClaimRun, claim_id: str) -> ClaimRun:
    """A claim of which no more is known than that it is like another one, which is over."""
    own = like.constants
    constants = constants_of(UNSTATED, own.lapses, own.tiered, own.watched, own.ranked)
    claim = ClaimRun(like.stream, claim_id, like.compiled, constants)
    claim.state, claim.accepted, claim.registered = like.state, like.accepted, like.registered
    claim.elapsed, claim.unwatched = like.elapsed, like.unwatched
    claim.strayed, claim.early, claim.disputed = like.strayed, like.early, like.disputed
    claim.declared_mode, claim.other_mode = like.declared_mode, like.other_mode
    claim.know(**{name: bool(like.fact(name)) for name in _LASTING})
    if like.taint is not None:
        claim.taint = (None, _STOOD)
        kept = dict.fromkeys(like.broken, Verdict.VIOLATED)
    else:
        claim.base = _anew(like.base)
        claim.retired = {
            s: InHand(each.facts, _anew(each.watches)) for s, each in like.retired.items()
        }
        claim.steps, claim.unknown = like.steps, like.unknown
        claim.doubts = dict.fromkeys(like.doubts, (None, _STOOD))
        kept = {index: found.verdict for index, found in like.kept.items()}
    claim.kept = {index: Finding(verdict, None, _STOOD) for index, verdict in kept.items()}
    return claim


def _left(claim: ClaimRun) -> tuple[bool | None, ...]:
    """What is left of each observer: all (True), nothing (None), or what reads no `unknown`."""
    pairs = zip(claim.steps, claim.compiled.steps, strict=True)
    return tuple(None if step is unmoved else step is whole for step, whole in pairs)


def _anew(watches: Sequence[ObserverState]) -> list[ObserverState]:
    """They have these values, and it is unknown since when."""
    return [ObserverState(watch.state, watch.own) for watch in watches]
