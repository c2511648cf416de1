"""Defines the lines of JSON that `watch` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from monitor.follow.verdict_line import LossLine, key_of
from monitor.watch.compare import Compared, Disagreement
from monitor.watch.preconditions import Evaluated
from monitor.watch.standing import Loss, State
from spec.stream.outcome import ModeVerdict
from spec.stream.pool import GPU

if TYPE_CHECKING:
    from monitor.watch.join import Change, Join
    from monitor.watch.standing import Standing

__all__ = [
    "ChangeLine",
    "DisagreementLine",
    "EndLine",
    "EngineLine",
    "Known",
    "WatchLine",
    "change_line",
    "known",
    "loss_line",
]


class Known(msgspec.Struct, frozen=True):
    """What is known of a claim on one engine.

    `since_ns` and the times of losses are of the engine's wall clock. `needed` counts the blocks
    that a hit needs; `held` those of them on the GPU, and `unknown` those that may be. `leading`
    counts those that a hit would find, from the first one on; None if groups of caches have
    windows, or if batches may be missing. `tiers` counts copies in other tiers. `periods` says how
    often the claim was registered with the judge: if never, no verdict on it is possible.
    """

    claim_id: str
    state: State
    since_ns: int | None
    needed: int
    held: int
    unknown: int
    leading: int | None
    tiers: dict[str, int]
    losses: int
    last_loss: Loss | None
    periods: int


class ChangeLine(
    msgspec.Struct, frozen=True, tag_field="schema", tag="resident-claims/watched-change/1"
):
    """The state of a claim changed, or is the first; `why` is empty if there is no reason."""

    stream: str
    time_ns: int
    claim: Known
    why: str


class EngineLine(msgspec.Struct, frozen=True):
    """What is known of each claim on one engine."""

    stream: str
    claims: list[Known]


class EndLine(msgspec.Struct, frozen=True, tag_field="schema", tag="resident-claims/watched-end/1"):
    """How it ended: the last line. `forms` says what was read of each source; `compared` has each
    engine with each observer that `--compare` names.
    """

    verdict: ModeVerdict
    why: str
    read: int
    engines: list[EngineLine]
    preconditions: list[Evaluated]
    breaks: list[str]
    forms: dict[str, str]
    compared: list[Compared] = []


class DisagreementLine(
    msgspec.Struct, frozen=True, tag_field="schema", tag="resident-claims/watched-disagreement/1"
):
    """An observer that is compared disagrees on a claim; `over` says why it does not any more, and
    is empty while it does.
    """

    stream: str
    peer: str
    time_ns: int
    disagreement: Disagreement
    over: str


WatchLine: TypeAlias = ChangeLine | DisagreementLine | EndLine | LossLine


def change_line(change: Change) -> ChangeLine:
    """The line of a change."""
    join, standing = change.join, change.standing
    return ChangeLine(join.stream, join.now_ns, known(join, standing), standing.why)


def loss_line(change: Change) -> LossLine:
    """The line of a change that is a loss."""
    join, standing = change.join, change.standing
    claim, loss = standing.claim, standing.last
    assert loss is not None
    return LossLine(
        key_of("", join.stream, claim.claim_id, loss.time_ns, loss.why),
        join.stream,
        claim.claim_id,
        claim.mode,
        loss.time_ns,
        GPU,
        standing.needed,
        join.counts(standing)[0],
        loss.why,
    )


def known(join: Join, standing: Standing) -> Known:
    """What is known of a claim now."""
    held, unknown = join.counts(standing)
    return Known(
        standing.claim.claim_id,
        standing.state,
        standing.since_ns,
        standing.needed,
        held,
        unknown,
        join.leading(standing),
        dict(standing.tiers),
        standing.losses,
        standing.last,
        standing.periods,
    )
