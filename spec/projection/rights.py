"""Decides who may end a claim, and when its duration elapses by the stream's clock, in ns."""

from __future__ import annotations

from spec.claims.claim import Mode
from spec.claims.durations import Duration, TimeUnit
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.events.fields import RUNTIME
from spec.projection.pool import Claim, Pool
from spec.projection.sight import Sight

__all__ = [
    "authorised",
    "begin",
    "differs",
    "ends_early",
    "is_due",
    "lapses",
    "owner_unknown",
    "some_end_unseen",
    "stop",
    "unclear",
]


def in_steps(claim: Claim) -> bool:
    """Whether the claim's duration counts scheduler steps, which a stream does not number."""
    return claim.duration is not None and Duration.parse(claim.duration).unit is TimeUnit.STEPS


def lapses(claim: Claim, mode: Mode) -> bool:
    """Whether responsibility for the claim ends at its duration: in the mode that it asks for, or
    in the one that judges where it asks for none that there is.
    """
    return claim.goes_by(mode) is Mode.EXPIRING


def enter(claim: Claim, seen_ns: int | None) -> None:
    """The claim is registered or committed to: its duration is over no earlier than if it ran from
    the last time that was seen.
    """
    if claim.duration is not None and not in_steps(claim) and seen_ns is not None:
        claim.least = seen_ns + _length(claim.duration)


def _length(duration: str) -> int:
    return Duration.parse(duration).nanoseconds


def begin(claim: Claim, line: int, time_ns: int | None) -> None:
    """The claim is committed to: from now its duration runs, if it has one."""
    if claim.duration is None:
        return
    claim.elapsed = False
    if in_steps(claim):
        claim.unclear = claim.unclear or (line, True)
    elif time_ns is None:
        claim.unclear = claim.unclear or (line, False)
    else:
        claim.end = time_ns + _length(claim.duration)


def stop(claim: Claim, line: int) -> None:
    """A line has no time: it may stand before or after the end of a duration that runs."""
    if claim.responsible and claim.end is not None and not claim.elapsed:
        claim.unclear = claim.unclear or (line, False)


def differs(claim: Claim, event: Event) -> bool:
    """Whether an event states another duration of the claim than was stated before."""
    stated = (claim.duration, event.duration)
    return None not in stated and len({Duration.parse(each or "") for each in stated}) > 1


def is_due(claim: Claim, time_ns: int | None) -> bool:
    """Whether a line at this time shows that the claim's duration is over."""
    seen = claim.unclear is None and not claim.elapsed
    return seen and time_ns is not None and claim.end is not None and claim.end <= time_ns


def unclear(pool: Pool, claim: Claim) -> int | None:
    """The line since which it is unknown whether the claim's duration has elapsed, if so.

    Steps are stated by facts, where any are.
    """
    if claim.elapsed or claim.unclear is None:
        return None
    line, steps = claim.unclear
    steps_stated = any(other.told and in_steps(other) for other in pool.claims.values())
    return None if steps and steps_stated else line


def some_end_unseen(pool: Pool, mode: Mode) -> bool:
    """Whether it is unknown if the runtime is still responsible for some claim, whose duration is
    in seconds; of one in steps, it is until a fact states its end.
    """
    return any(
        claim.responsible
        and lapses(claim, mode)
        and not in_steps(claim)
        and unclear(pool, claim) is not None
        for claim in pool.claims.values()
    )


def owner_unknown(sight: Sight) -> bool:
    """Whether it is unknown if the end of a claim is by a caller who has the right to it: its owner
    was stated by the runtime's acceptance at most, or whether its duration is over cannot be seen.
    """
    by = sight.event.by
    if by == RUNTIME:
        expires = sight.event.kind is Kind.CLAIM_EXPIRED
        return expires and unclear(sight.pool, sight.claim) is not None
    return by is not None and sight.claim.owner is None


def authorised(sight: Sight) -> bool:
    """Whether the owner is behind the end of a claim, or the runtime within its rights: it may
    demote what is demotable, and expire what is over. An end without a stated caller is accepted.
    """
    event, claim = sight.event, sight.claim
    if event.by is None:
        return True
    if event.by != RUNTIME:
        return event.by == claim.owner
    if event.kind is Kind.CLAIM_DEMOTED:
        return sight.claim.goes_by(sight.moment.mode) is Mode.DEMOTABLE
    return event.kind is Kind.CLAIM_EXPIRED and claim.elapsed and not claim.early


def ends_early(sight: Sight) -> bool:
    """Whether the entry of a claim ends whose duration is not over: the runtime may say later that
    it expired the claim, and the claim was gone too soon.
    """
    claim = sight.claim
    lasts = claim.duration is not None and not claim.elapsed
    return sight.event.kind is Kind.CLAIM_RETIRED and lasts
