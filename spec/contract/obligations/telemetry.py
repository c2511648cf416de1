"""What must be said of a claim's blocks: materialized, lost, harmed."""

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
    reason="That blocks were stored says nothing of a claim until the runtime says, for that "
    "claim, that its predicate has become true.",
    source=TABLE_1,
    states=(
        idle("the predicate has not become true"),
        pending("owed", "the predicate became true and nobody has said so"),
        satisfied("told", "the claim was said to be materialized"),
        violated("the claim became usable and was never said to be"),
    ),
    rules=(
        Rule(
            Guard.TOLD,
            "materialized",
            e.mine & kind(Kind.CLAIM_MATERIALIZED),
            "told",
            why="the claim is reported materialized",
        ),
        Rule(
            Guard.DUE,
            "silent",
            CLOSES,
            VIOLATED,
            source=("owed",),
            why="the runtime went on without saying that the claim had materialized",
            allowed="claim_materialized before the next thing done with the claim",
        ),
        Rule(
            Guard.MOOT,
            "gone again",
            ~live(now) | ~_holds,
            "idle",
            source=("owed",),
            why="the predicate or the responsibility ended before the report was due",
        ),
        Rule(
            Guard.OWED,
            "rose",
            rises,
            "owed",
            source=("idle", "told"),
            why="the predicate became true of the blocks held",
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
    reason="Block and request events are about blocks and requests. For an auditor to learn what "
    "became of a claim, its losses must be told under its own name.",
    source=TABLE_1,
    registers=(Register("lost", Sort.BOOL, False),),
    states=(
        idle("nothing claim-scoped was observed"),
        pending("fallen", "the predicate became false and nobody has said so"),
        pending("thinned", "a ranked claim lost a block and nobody has said so"),
        satisfied("told", "what happened to the claim was told under its name"),
        violated("a loss of the claim was not told, or one was told that did not happen"),
    ),
    rules=(
        Rule(
            Guard.SAID,
            "untrue",
            e.mine & _speaks_of_loss & _holds,
            VIOLATED,
            why="the claim is said to have lost its predicate, which still holds",
            allowed="the report after the loss",
        ),
        Rule(
            Guard.DUE,
            "silent",
            CLOSES | (c.ranked & ~e.mine & kind(Kind.BLOCK_EVICTED)),
            VIOLATED,
            source=("fallen", "thinned"),
            why="the runtime went on without telling, for this claim, what it had lost",
            allowed="a report of the loss that names the claim, before the next thing done with it",
        ),
        Rule(
            Guard.MOOT,
            "back again",
            e.mine & kind(Kind.LOAD_FINISHED) & _holds & ~c.ranked,
            "idle",
            source=("fallen",),
            why="a load made the predicate true again before the report was due",
        ),
        Rule(
            Guard.OWED,
            "back again, but lost",
            e.mine & kind(Kind.LOAD_FINISHED) & _holds & c.ranked,
            "thinned",
            source=("fallen",),
            why="a load made the predicate true again, and that a block was lost still matters",
        ),
        Rule(
            Guard.OWED,
            "fell",
            _fell,
            "fallen",
            source=("idle", "told", "thinned"),
            sets={"lost": TRUE},
            why="the predicate became false",
        ),
        Rule(
            Guard.OWED,
            "thinned",
            e.mine & live(was) & c.ranked & kind(*BLOCKS_GONE),
            "thinned",
            source=("idle", "told"),
            sets={"lost": TRUE},
            why="a claim whose rank matters lost a block",
        ),
        Rule(
            Guard.SAID,
            "invented",
            e.mine
            & c.ranked
            & (
                (kind(Kind.CLAIM_BLOCK_LOST) & ~(_lost & e.unsaid))
                | (kind(Kind.CLAIM_UNMATERIALIZED, Kind.CLAIM_HARMED) & ~_lost)
            ),
            VIOLATED,
            source=("idle", "told"),
            why="a loss is reported of a claim whose rank matters, and it lost nothing, or nothing "
            "that was not reported before",
            allowed="a report of what was lost, after it",
        ),
        Rule(
            Guard.SAID,
            "not lost",
            e.mine & c.ranked & kind(Kind.CLAIM_BLOCK_LOST) & ~e.unsaid,
            VIOLATED,
            source=("fallen", "thinned"),
            why="a block is reported lost that was not lost, or was reported before, and the one "
            "that was lost is not",
            allowed="a report of the blocks that were lost",
        ),
        Rule(
            Guard.TOLD,
            "loss told",
            e.mine & _speaks_of_loss,
            "told",
            source=("fallen",),
            why="the loss is reported under the claim's name",
        ),
        Rule(
            Guard.TOLD,
            "block told",
            e.mine & (kind(Kind.CLAIM_BLOCK_LOST) | _speaks_of_loss),
            "told",
            source=("thinned",),
            why="the lost block is reported under the claim's name",
        ),
        Rule(
            Guard.TOLD,
            "observed",
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
            why="an observation is reported under the claim's name",
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
    reason="The same lost block is ordinary replacement or a broken promise. Which it was must be "
    "said, for the claim, when a responsible runtime loses what the predicate needs.",
    source=TABLE_1,
    per_request=True,
    registers=(Register("untold", Sort.INT, 0),),
    states=(
        idle("nothing was lost while the runtime was responsible"),
        pending("owed", "the claim was lost and nobody has said so"),
        pending("failed", "a restore of the claim failed and has no outcome yet"),
        idle("a restore of the claim failed for another request", name="aside"),
        satisfied("told", "each loss was attributed to the claim"),
        satisfied("stated", "harm was stated as the outcome of a failed restore"),
        violated("a loss went without attribution, or harm was invented"),
    ),
    rules=(
        Rule(
            Guard.SAID,
            "invented",
            e.mine & kind(Kind.CLAIM_HARMED),
            VIOLATED,
            source=("idle", "told"),
            why="harm is reported and the claim lost nothing that it was promised",
            allowed="harm only after a loss that breaks the predicate while responsible",
        ),
        Rule(
            Guard.SAID,
            "still whole",
            conj(e.mine, kind(Kind.CLAIM_HARMED), ~c.tiered, _holds),
            VIOLATED,
            source=("failed", "aside", "stated"),
            why="harm is reported of a failed restore, and the claim is whole all the same",
            allowed="harm of a claim whose predicate does not hold",
        ),
        Rule(
            Guard.OWED,
            "harmed, and once more",
            e.mine & kind(Kind.CLAIM_HARMED) & (_untold >= 2),
            "owed",
            source=("owed",),
            sets={"untold": _untold - 1},
            why="one loss is reported as harm of this claim, and another is not",
        ),
        Rule(
            Guard.TOLD,
            "harmed",
            e.mine & kind(Kind.CLAIM_HARMED),
            "told",
            source=("owed", "failed", "aside", "stated"),
            sets={"untold": Const(0)},
            why="the loss is reported as harm of this claim",
        ),
        Rule(
            Guard.TOLD,
            "outcome harm",
            _harm_stated,
            "stated",
            source=("failed",),
            why="the failed restore ended in harm of this claim, which claim_harmed may repeat",
        ),
        Rule(
            Guard.TOLD,
            "outcome",
            _outcome_of_failure,
            "told",
            source=("failed",),
            why="the failed restore ended in an outcome that names the claim",
        ),
        Rule(
            Guard.DUE,
            "silent",
            CLOSES | (e.mine & _good_news),
            VIOLATED,
            source=("owed",),
            why="the claim was lost and the runtime went on without saying so",
            allowed="claim_harmed, naming the claim, before the next thing done with it, and "
            "before its end or its return is reported",
        ),
        Rule(
            Guard.DUE,
            "unanswered",
            e.here & kind(Kind.REQUEST_FINISHED) & req_was.failed,
            VIOLATED,
            source=("failed",),
            why="the request whose restore failed ended without an outcome that names the claim",
            allowed="a refusal, demotion, expiry or harm naming the claim before the request ends",
        ),
        Rule(
            Guard.OWED,
            "lost",
            loss,
            "owed",
            source=("idle", "told", "failed", "aside", "stated"),
            sets={"untold": Const(1)},
            why="the predicate broke while the runtime was responsible",
        ),
        Rule(
            Guard.OWED,
            "lost again",
            loss,
            "owed",
            source=("owed",),
            sets={"untold": _untold + 1},
            why="the predicate broke once more while the runtime was responsible",
        ),
        Rule(
            Guard.OWED,
            "restore failed",
            fails & e.here,
            "failed",
            source=("idle", "told", "aside", "stated"),
            why="a restore of the claim failed while the runtime was responsible",
        ),
        Rule(
            Guard.NOTED,
            "failed elsewhere",
            fails,
            "aside",
            source=("idle", "told", "stated"),
            why="a restore of the claim failed for another request, which answers for it",
        ),
    ),
)
