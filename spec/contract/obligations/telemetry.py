"""States the obligations to report that a claim's blocks are materialized or lost."""

from __future__ import annotations

from typing import Final

from spec.claims.states import Mode
from spec.contract.interpretations import CLOSES
from spec.contract.ledgers import kind, live, now, rises, was
from spec.contract.obligation import Answer, Obligation, Place, While
from spec.contract.obligations._build import (
    NOT_PROMISED,
    TABLE_1,
    UNREPORTED,
    discharged,
    due,
    false_report,
    idle,
    moot,
    owed,
    pending,
    satisfied,
    violated,
)
from spec.contract.supply import Depth, Order
from spec.contract.vocabulary import c, e
from spec.events.alphabet import BLOCKS_GONE, Kind
from spec.language.machine import Observer, Register
from spec.language.terms import TRUE, Scope, Sort, Var, conj

__all__ = ["STATED"]

_holds = c.threshold <= now.lead

CLAIM_MATERIALIZED_EVENT = Observer(
    name="claim_materialized_event",
    code="M",
    reason="Stored blocks say nothing about a claim until the runtime reports, for that claim, "
    "that its predicate has become true.",
    source=TABLE_1,
    states=(
        idle("the predicate has not become true"),
        pending("owed", "the predicate became true, and this is not reported yet"),
        satisfied("reported", "the claim was reported as materialized"),
        violated("the predicate became true, and this was not reported in time"),
    ),
    rules=(
        discharged(
            "materialization_reported",
            e.mine & kind(Kind.CLAIM_MATERIALIZED),
            "reported",
            why="the claim is reported as materialized",
        ),
        due(
            "materialization_not_reported",
            CLOSES,
            source=("owed",),
            why="the runtime acted again without reporting that the claim had materialized",
            allowed="claim_materialized before the runtime acts again",
        ),
        moot(
            "report_no_longer_due",
            ~live(now) | ~_holds,
            "idle",
            source=("owed",),
            why="the predicate became false, or responsibility ended, before the report was due",
        ),
        owed(
            "predicate_became_true",
            rises,
            "owed",
            source=("idle", "reported"),
            why="the blocks held make the predicate true",
        ),
    ),
)

_lost = Var(Scope.OWN, "lost", Sort.BOOL)
_fell = conj(e.mine, live(was), c.threshold <= was.lead, ~_holds)
_reports_loss = kind(Kind.CLAIM_UNMATERIALIZED, Kind.CLAIM_HARMED) | (
    kind(Kind.CLAIM_BLOCK_LOST) & e.breaks
)

CLAIM_SCOPED_TELEMETRY = Observer(
    name="claim_scoped_telemetry",
    code="T",
    reason="Block and request events are about blocks and requests. An auditor learns what became "
    "of a claim only if its losses are reported under its own id.",
    source=TABLE_1,
    registers=(Register("lost", Sort.BOOL, False),),
    states=(
        idle("nothing was reported under the claim's id"),
        pending("fallen", "the predicate became false, and this is not reported yet"),
        pending("thinned", "a ranked claim lost a block, and this is not reported yet"),
        satisfied("reported", "what happened to the claim was reported under its id"),
        violated(
            "a loss of the claim was not reported in time, or a loss was reported that did "
            "not happen"
        ),
    ),
    rules=(
        false_report(
            "loss_reported_while_predicate_true",
            e.mine & _reports_loss & _holds,
            why="a loss is reported, but the claim's predicate is still true",
            allowed="the report after the loss",
        ),
        due(
            "loss_not_reported",
            CLOSES | (c.ranked & ~e.mine & kind(Kind.BLOCK_EVICTED)),
            source=("fallen", "thinned"),
            why="the runtime acted again without reporting the loss under the claim's id",
            allowed="a report of the loss that names the claim before the runtime acts again; "
            "where claims are ranked, also before the next eviction",
        ),
        moot(
            "predicate_true_again_by_load",
            e.mine & kind(Kind.LOAD_FINISHED) & _holds & ~c.ranked,
            "idle",
            source=("fallen",),
            why="a load made the predicate true again before the report was due",
        ),
        owed(
            "predicate_true_again_while_loss_due",
            e.mine & kind(Kind.LOAD_FINISHED) & _holds & c.ranked,
            "thinned",
            source=("fallen",),
            why="a load made the predicate true again, but the lost block must still be reported",
        ),
        owed(
            "predicate_became_false",
            _fell,
            "fallen",
            source=("idle", "reported", "thinned"),
            sets={"lost": TRUE},
            why="the predicate became false",
        ),
        owed(
            "ranked_claim_lost_block",
            e.mine & live(was) & c.ranked & kind(*BLOCKS_GONE),
            "thinned",
            source=("idle", "reported"),
            sets={"lost": TRUE},
            why="a claim that is ranked by priority lost a block",
        ),
        false_report(
            "loss_reported_without_new_loss",
            e.mine
            & c.ranked
            & (
                (kind(Kind.CLAIM_BLOCK_LOST) & ~(_lost & e.new_loss))
                | (kind(Kind.CLAIM_UNMATERIALIZED, Kind.CLAIM_HARMED) & ~_lost)
            ),
            source=("idle", "reported"),
            why="a loss of a ranked claim is reported that did not happen, or that was reported "
            "before",
            allowed="one report of each loss, after it",
        ),
        false_report(
            "wrong_block_reported_lost",
            e.mine & c.ranked & kind(Kind.CLAIM_BLOCK_LOST) & ~e.new_loss,
            source=("fallen", "thinned"),
            why="a block is reported lost that was not lost, or was reported before, and the "
            "block that was lost is still not reported",
            allowed="a report of the blocks that were lost",
        ),
        discharged(
            "loss_reported",
            e.mine & _reports_loss,
            "reported",
            source=("fallen",),
            why="the loss is reported under the claim's id",
        ),
        discharged(
            "block_loss_reported",
            e.mine & (kind(Kind.CLAIM_BLOCK_LOST) | _reports_loss),
            "reported",
            source=("thinned",),
            why="the lost block is reported under the claim's id",
        ),
        discharged(
            "observation_reported",
            e.mine
            & kind(
                Kind.CLAIM_MATERIALIZED,
                Kind.CLAIM_UNMATERIALIZED,
                Kind.CLAIM_BLOCK_LOST,
                Kind.ROUTE_COST_REPORTED,
                Kind.ROUTE_PLACEMENT_REPORTED,
                Kind.ROUTE_REUSE_REPORTED,
            ),
            "reported",
            source=("idle", "reported"),
            why="an observation is reported under the claim's id",
        ),
    ),
)

_UNRANKED = "only where ranks matter is each lost block owed"
_RANKED = (
    ".block_loss_reported",
    ".loss_reported_without_new_loss",
    ".wrong_block_reported_lost",
    ".ranked_claim_lost_block",
    ":thinned",
    ".predicate_true_again_while_loss_due",
)
_NO_RANKS = dict.fromkeys(_RANKED, _UNRANKED)

STATED: Final = (
    Obligation(
        CLAIM_MATERIALIZED_EVENT,
        row=6,
        places=(
            Place(Mode.BEST_EFFORT, printed=3),
            Place(
                Mode.HARD_PROTECTED,
                added=(
                    "no other obligation requires the report that the predicate became true, "
                    "so an auditor could not conclude that it is true"
                ),
            ),
        ),
        order=Order.CLAIM_BEFORE_EVENTS,
        depths=frozenset({Depth.TELEMETRY_JOIN}),
        answers=(Answer("tell the rise", Kind.CLAIM_MATERIALIZED, ("owed",)),),
        invariants=(
            While(
                "a rise owed is held",
                ("owed",),
                conj(c.threshold <= was.lead, was.registered, live(was)),
            ),
        ),
    ),
    Obligation(
        CLAIM_SCOPED_TELEMETRY,
        row=15,
        places=(
            Place(Mode.BEST_EFFORT, printed=4, unreached=_NO_RANKS),
            Place(
                Mode.SOFT_PRIORITY,
                printed=3,
                unreached={
                    ".predicate_true_again_by_load": (
                        "where ranks matter a lost block is owed even so"
                    )
                },
            ),
            Place(Mode.ROUTED_REUSE, printed=6, redundant=NOT_PROMISED, unreached=_NO_RANKS),
        ),
        order=Order.CLAIM_BEFORE_EVENTS,
        depths=frozenset({Depth.TELEMETRY_JOIN, Depth.ROUTING_HOOK}),
        answers=(
            Answer("tell the fall", Kind.CLAIM_UNMATERIALIZED, ("fallen",)),
            Answer(
                "tell the lost block",
                Kind.CLAIM_BLOCK_LOST,
                ("thinned",),
                {"breaks": was.lead < c.threshold, "new_loss": UNREPORTED},
            ),
        ),
        invariants=(
            While("a fall owed is not held", ("fallen",), was.lead < c.threshold),
            While("a loss owed is registered", ("fallen", "thinned"), was.registered & live(was)),
            While(
                "a lost block owed is unreported",
                ("fallen", "thinned"),
                c.ranked.implies(UNREPORTED),
            ),
        ),
    ),
)
