"""What must be said of a claim's blocks: materialized, lost, harmed."""

from __future__ import annotations

from typing import Final

from spec.claims.claim import Mode
from spec.claims.states import ClaimState
from spec.contract.ledgers import kind, live, now, rises, was
from spec.contract.obligation import Answer, Obligation, Place, While
from spec.contract.obligations._build import (
    NOT_PROMISED,
    TABLE_1,
    UNSAID,
    VIOLATED,
    idle,
    pending,
    satisfied,
    violated,
)
from spec.contract.readings import CLOSES
from spec.contract.supply import Depth, Order
from spec.contract.vocabulary import c, e
from spec.events.alphabet import BLOCKS_GONE, Kind
from spec.language.machine import Guard, Observer, Register, Rule
from spec.language.terms import TRUE, Scope, Sort, Var, conj

__all__ = ["CLAIM_MATERIALIZED_EVENT", "CLAIM_SCOPED_TELEMETRY", "STATED"]

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

_UNRANKED = "only where ranks matter is each lost block owed"
_THINNED = (
    ".block told",
    ".invented",
    ".not lost",
    ".thinned",
    ":thinned",
    ".back again, but lost",
)
_NO_RANKS = dict.fromkeys(_THINNED, _UNRANKED)

STATED: Final = (
    Obligation(
        CLAIM_MATERIALIZED_EVENT,
        row=6,
        places=(
            Place(Mode.BEST_EFFORT, printed=3),
            Place(
                Mode.HARD_PROTECTED,
                added=(
                    "nobody else owes the report that the predicate became true, so an "
                    "auditor's belief in it would be right one way only"
                ),
            ),
        ),
        order=Order.CLAIM_BEFORE_EVENTS,
        depths=frozenset({Depth.TELEMETRY_JOIN}),
        answers=(
            Answer(
                "tell the restore",
                Kind.CLAIM_RESTORED,
                ("owed",),
                {"from_tier": TRUE},
                (ClaimState.RESTORING,),
            ),
            Answer("tell the rise", Kind.CLAIM_MATERIALIZED, ("owed",)),
        ),
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
                unreached={".back again": "where ranks matter a lost block is owed even so"},
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
                {"breaks": was.lead < c.threshold, "unsaid": UNSAID},
            ),
        ),
        invariants=(
            While("a fall owed is not held", ("fallen",), was.lead < c.threshold),
            While("a loss owed is registered", ("fallen", "thinned"), was.registered & live(was)),
            While("a lost block owed is unsaid", ("fallen", "thinned"), c.ranked.implies(UNSAID)),
        ),
    ),
)
