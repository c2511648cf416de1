"""What must be reported of a claim's blocks: materialized, lost, harmed."""

from __future__ import annotations

from spec.contract.ledgers import fails, kind, live, loss, now, req_was, rises, was
from spec.contract.obligations._build import TABLE_1, VIOLATED, idle, pending, satisfied, violated
from spec.contract.readings import CLOSES
from spec.contract.vocabulary import c, e
from spec.events.alphabet import BLOCKS_GONE, ENDS, Kind
from spec.language.machine import Guard, Observer, Register, Rule
from spec.language.terms import TRUE, Const, Scope, Sort, Var, conj

__all__ = ["CLAIM_HARM_ATTRIBUTION", "CLAIM_MATERIALIZED_EVENT", "CLAIM_SCOPED_TELEMETRY"]

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
        satisfied("told", "the claim was reported as materialized"),
        violated("the predicate became true, and this was not reported in time"),
    ),
    rules=(
        Rule(
            Guard.TOLD,
            "materialization_reported",
            e.mine & kind(Kind.CLAIM_MATERIALIZED),
            "told",
            why="the claim is reported as materialized",
        ),
        Rule(
            Guard.DUE,
            "materialization_not_reported",
            CLOSES,
            VIOLATED,
            source=("owed",),
            why="the runtime acted again without reporting that the claim had materialized",
            allowed="claim_materialized before the runtime acts again",
        ),
        Rule(
            Guard.MOOT,
            "report_no_longer_due",
            ~live(now) | ~_holds,
            "idle",
            source=("owed",),
            why="the predicate became false, or responsibility ended, before the report was due",
        ),
        Rule(
            Guard.OWED,
            "predicate_became_true",
            rises,
            "owed",
            source=("idle", "told"),
            why="the blocks held make the predicate true",
        ),
    ),
)

_lost = Var(Scope.OWN, "lost", Sort.BOOL)
_fell = conj(e.mine, live(was), c.threshold <= was.lead, ~_holds)
_speaks_of_loss = kind(Kind.CLAIM_UNMATERIALIZED, Kind.CLAIM_HARMED) | (
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
        satisfied("told", "what happened to the claim was reported under its id"),
        violated(
            "a loss of the claim was not reported in time, or a loss was reported that did "
            "not happen"
        ),
    ),
    rules=(
        Rule(
            Guard.SAID,
            "loss_reported_while_predicate_true",
            e.mine & _speaks_of_loss & _holds,
            VIOLATED,
            why="a loss is reported, but the claim's predicate is still true",
            allowed="the report after the loss",
        ),
        Rule(
            Guard.DUE,
            "loss_not_reported",
            CLOSES | (c.ranked & ~e.mine & kind(Kind.BLOCK_EVICTED)),
            VIOLATED,
            source=("fallen", "thinned"),
            why="the runtime acted again without reporting the loss under the claim's id",
            allowed="a report of the loss that names the claim before the runtime acts again; "
            "where claims are ranked, also before the next eviction",
        ),
        Rule(
            Guard.MOOT,
            "predicate_true_again_by_load",
            e.mine & kind(Kind.LOAD_FINISHED) & _holds & ~c.ranked,
            "idle",
            source=("fallen",),
            why="a load made the predicate true again before the report was due",
        ),
        Rule(
            Guard.OWED,
            "predicate_true_again_while_loss_due",
            e.mine & kind(Kind.LOAD_FINISHED) & _holds & c.ranked,
            "thinned",
            source=("fallen",),
            why="a load made the predicate true again, but the lost block must still be reported",
        ),
        Rule(
            Guard.OWED,
            "predicate_became_false",
            _fell,
            "fallen",
            source=("idle", "told", "thinned"),
            sets={"lost": TRUE},
            why="the predicate became false",
        ),
        Rule(
            Guard.OWED,
            "ranked_claim_lost_block",
            e.mine & live(was) & c.ranked & kind(*BLOCKS_GONE),
            "thinned",
            source=("idle", "told"),
            sets={"lost": TRUE},
            why="a claim that is ranked by priority lost a block",
        ),
        Rule(
            Guard.SAID,
            "loss_reported_without_new_loss",
            e.mine
            & c.ranked
            & (
                (kind(Kind.CLAIM_BLOCK_LOST) & ~(_lost & e.unsaid))
                | (kind(Kind.CLAIM_UNMATERIALIZED, Kind.CLAIM_HARMED) & ~_lost)
            ),
            VIOLATED,
            source=("idle", "told"),
            why="a loss of a ranked claim is reported that did not happen, or that was reported "
            "before",
            allowed="one report of each loss, after it",
        ),
        Rule(
            Guard.SAID,
            "wrong_block_reported_lost",
            e.mine & c.ranked & kind(Kind.CLAIM_BLOCK_LOST) & ~e.unsaid,
            VIOLATED,
            source=("fallen", "thinned"),
            why="a block is reported lost that was not lost, or was reported before, and the "
            "block that was lost is still not reported",
            allowed="a report of the blocks that were lost",
        ),
        Rule(
            Guard.TOLD,
            "loss_reported",
            e.mine & _speaks_of_loss,
            "told",
            source=("fallen",),
            why="the loss is reported under the claim's id",
        ),
        Rule(
            Guard.TOLD,
            "block_loss_reported",
            e.mine & (kind(Kind.CLAIM_BLOCK_LOST) | _speaks_of_loss),
            "told",
            source=("thinned",),
            why="the lost block is reported under the claim's id",
        ),
        Rule(
            Guard.TOLD,
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
            "told",
            source=("idle", "told"),
            why="an observation is reported under the claim's id",
        ),
    ),
)

_outcome_of_failure = (e.mine & kind(Kind.CLAIM_DEMOTED, Kind.CLAIM_EXPIRED)) | (
    e.here
    & ~e.echo
    & (
        (e.mine & kind(Kind.CLAIM_RESTORATION_FAILED) & e.outcome)
        | (kind(Kind.REQUEST_REFUSED) & e.blamed)
    )
)

_harm_stated = conj(e.mine, e.here, ~e.echo, kind(Kind.CLAIM_RESTORATION_FAILED), e.outcome, e.harm)
_good_news = kind(*ENDS, Kind.CLAIM_MATERIALIZED, Kind.CLAIM_RESTORED)
_untold = Var(Scope.OWN, "untold", Sort.INT)

CLAIM_HARM_ATTRIBUTION = Observer(
    name="claim_harm_attribution",
    code="H",
    reason="The same lost block is ordinary replacement or a broken promise. When a responsible "
    "runtime loses what the predicate needs, it must report, for that claim, that the promise is "
    "broken.",
    source=TABLE_1,
    per_request=True,
    registers=(Register("untold", Sort.INT, 0),),
    states=(
        idle("nothing was lost while the runtime was responsible"),
        pending("owed", "the claim was lost, and harm is not reported yet"),
        pending("failed", "a restore of the claim failed, and no outcome is reported yet"),
        idle("a restore of the claim failed for another request", name="aside"),
        satisfied("told", "each loss was attributed to the claim"),
        satisfied("stated", "harm was announced as the outcome of a failed restore"),
        violated("a loss was not attributed to the claim, or harm was reported falsely"),
    ),
    rules=(
        Rule(
            Guard.SAID,
            "harm_reported_without_loss",
            e.mine & kind(Kind.CLAIM_HARMED),
            VIOLATED,
            source=("idle", "told"),
            why="harm is reported, but the claim lost nothing that was promised",
            allowed="claim_harmed only after a loss that makes the predicate false while the "
            "runtime is responsible",
        ),
        Rule(
            Guard.SAID,
            "harm_reported_while_predicate_true",
            conj(e.mine, kind(Kind.CLAIM_HARMED), ~c.tiered, _holds),
            VIOLATED,
            source=("failed", "aside", "stated"),
            why="harm is reported for a failed restore, but the claim's predicate is true",
            allowed="claim_harmed only while the predicate is false",
        ),
        Rule(
            Guard.OWED,
            "one_of_several_losses_reported",
            e.mine & kind(Kind.CLAIM_HARMED) & (_untold >= 2),
            "owed",
            source=("owed",),
            sets={"untold": _untold - 1},
            why="one loss is reported as harm of this claim, and another is not reported yet",
        ),
        Rule(
            Guard.TOLD,
            "harm_reported",
            e.mine & kind(Kind.CLAIM_HARMED),
            "told",
            source=("owed", "failed", "aside", "stated"),
            sets={"untold": Const(0)},
            why="the loss or the failed restore is reported as harm of this claim",
        ),
        Rule(
            Guard.TOLD,
            "harm_announced",
            _harm_stated,
            "stated",
            source=("failed",),
            why="claim_restoration_failed announces harm as the outcome, which claim_harmed may "
            "repeat",
        ),
        Rule(
            Guard.TOLD,
            "outcome_reported",
            _outcome_of_failure,
            "told",
            source=("failed",),
            why="the failed restore ended in an outcome that names the claim",
        ),
        Rule(
            Guard.DUE,
            "harm_not_reported",
            CLOSES | (e.mine & _good_news),
            VIOLATED,
            source=("owed",),
            why="the claim was lost, and the runtime acted again, or reported its end or its "
            "return, without reporting harm",
            allowed="claim_harmed with this claim's id before the runtime acts again, and before "
            "the end or the return of the claim is reported",
        ),
        Rule(
            Guard.DUE,
            "outcome_not_reported",
            e.here & kind(Kind.REQUEST_FINISHED) & req_was.failed,
            VIOLATED,
            source=("failed",),
            why="the request ended, and its failed restore has no outcome that names the claim",
            allowed="a refusal, demotion, expiry or harm that names the claim, before the request "
            "ends",
        ),
        Rule(
            Guard.OWED,
            "lost_while_responsible",
            loss,
            "owed",
            source=("idle", "told", "failed", "aside", "stated"),
            sets={"untold": Const(1)},
            why="the claim was lost while the runtime was responsible",
        ),
        Rule(
            Guard.OWED,
            "lost_again_while_responsible",
            loss,
            "owed",
            source=("owed",),
            sets={"untold": _untold + 1},
            why="the claim was lost once more while the runtime was responsible",
        ),
        Rule(
            Guard.OWED,
            "restore_failed",
            fails & e.here,
            "failed",
            source=("idle", "told", "aside", "stated"),
            why="a restore of the claim failed while the runtime was responsible",
        ),
        Rule(
            Guard.NOTED,
            "restore_failed_for_another_request",
            fails,
            "aside",
            source=("idle", "told", "stated"),
            why="a restore of the claim failed for another request, for which an outcome is due",
        ),
    ),
)
