"""A toy obligation: each loss of blocks of an expiring claim is reported, whole or not."""

from __future__ import annotations

from typing import Final

from spec.claims.states import Mode
from spec.contract.interpretations import CLOSES
from spec.contract.ledgers import kind, was
from spec.contract.obligation import Answer, Obligation, Place, While
from spec.contract.obligations._build import (
    UNREPORTED,
    VIOLATED,
    idle,
    pending,
    satisfied,
    violated,
)
from spec.contract.supply import Depth, Order
from spec.contract.vocabulary import c, e
from spec.events.alphabet import BLOCKS_GONE, Kind
from spec.language.machine import Guard, Observer, Rule

__all__ = ["BLOCK_NOTICE", "STATED"]

BLOCK_NOTICE = Observer(
    name="block_notice",
    code="BN",
    reason="A claim that lost a block it did not need is closer to its end, and nobody knows.",
    source="tests/toys",
    states=(
        idle("no block was lost while the runtime was responsible"),
        pending("owed", "blocks were lost and nobody has said so"),
        satisfied("reported", "each loss of blocks was reported"),
        violated("a loss of blocks was not reported, or one was reported that did not happen"),
    ),
    rules=(
        Rule(
            Guard.DISCHARGED,
            "block_loss_reported",
            e.mine & kind(Kind.CLAIM_BLOCK_LOST),
            "reported",
            source=("owed",),
            why="the loss of blocks is reported",
        ),
        Rule(
            Guard.DUE,
            "block_loss_not_reported",
            CLOSES,
            VIOLATED,
            source=("owed",),
            why="blocks were lost and the runtime went on without saying so",
            allowed="claim_block_lost before the next thing done with the claim",
        ),
        Rule(
            Guard.OWED,
            "claim_lost_block",
            e.mine & kind(*BLOCKS_GONE) & was.responsible & (e.lead < was.lead),
            "owed",
            source=("idle", "reported"),
            why="blocks of the claim were lost while the runtime was responsible",
        ),
    ),
)

STATED: Final = (
    Obligation(
        BLOCK_NOTICE,
        row=0,
        places=(
            Place(
                Mode.EXPIRING,
                added="blocks that the predicate does not need are lost in silence without it",
                redundant="the clauses speak of the predicate, not of each block",
            ),
        ),
        order=Order.LOSS_BEFORE_HARM,
        depths=frozenset({Depth.CLAIM_REGISTRY}),
        beyond_telemetry=True,
        answers=(
            Answer(
                "tell the lost blocks",
                Kind.CLAIM_BLOCK_LOST,
                ("owed",),
                {"breaks": was.lead < c.threshold, "new_loss": UNREPORTED},
            ),
        ),
        invariants=(
            While("lost blocks owed are of a commitment", ("owed",), UNREPORTED & was.committed),
        ),
    ),
)
