"""What may happen under pressure, and what must be said of it."""

from __future__ import annotations

from typing import Final

from spec.claims.claim import Mode
from spec.contract.ledgers import (
    conflict,
    contends,
    endures,
    kind,
    live,
    req,
    req_was,
    resident,
    was,
)
from spec.contract.obligation import Obligation, Place, While
from spec.contract.obligations._build import (
    IN_HAND,
    TABLE_1,
    VIOLATED,
    idle,
    pending,
    satisfied,
    violated,
)
from spec.contract.supply import Atom, Depth, Order
from spec.contract.vocabulary import e
from spec.events.alphabet import CONFLICT_ACTIONS, Kind
from spec.language.machine import Guard, Observer, Rule
from spec.language.terms import Const, Term, conj

__all__ = [
    "BLOCKING_CLAIM_IDS",
    "EXPLICIT_CONFLICT_ACTION",
    "PRIORITY_INFLUENCE",
    "STATED",
    "VICTIM_EXCLUSION",
    "blame_is_right",
    "names_blockers",
]

_evicted = kind(Kind.BLOCK_EVICTED)
_finished = e.here & kind(Kind.REQUEST_FINISHED)
_acted = conj(e.here, kind(*CONFLICT_ACTIONS), was.responsible | e.blamed)
_arrived = e.here & kind(Kind.REQUEST_ARRIVED)
_in_conflict = contends(was.declared, req_was)
_to_the_end = endures(was.declared, req_was)

VICTIM_EXCLUSION = Observer(
    name="victim_exclusion_before_violation",
    code="V",
    reason="Protection that yields to pressure is priority. A protected block is no victim until "
    "the promise was ended by another, explicit step.",
    source=TABLE_1,
    per_request=True,
    states=(
        idle("no conflict put the claim to the test"),
        satisfied("spared", "a conflict ended and no block of the claim was taken"),
        violated("a block of a responsible claim was chosen as a victim"),
    ),
    rules=(
        Rule(
            Guard.BROKE,
            "victim",
            e.mine & _evicted & was.responsible,
            VIOLATED,
            why="a block of the claim was chosen as a victim while the runtime was responsible",
            allowed="another victim, or refusing or deferring the request first",
        ),
        Rule(
            Guard.TOLD,
            "spared",
            _finished & _to_the_end,
            "spared",
            why="the request that could not fit ended and the claim's blocks are untouched",
        ),
    ),
)

EXPLICIT_CONFLICT_ACTION = Observer(
    name="explicit_conflict_action",
    code="X",
    aliases=("active_refusal_or_defer",),
    reason="Where not everything fits something must give, and what gives must be chosen aloud: "
    "refuse, defer, route elsewhere, bound, offload, split, or relax the claim.",
    source=TABLE_1,
    per_request=True,
    states=(
        idle("no conflict"),
        pending("owed", "a request does not fit beside the claim and nothing was decided yet"),
        satisfied("acted", "the conflict was met by an explicit action"),
        idle("an action was taken and there was no conflict", name="noted"),
        satisfied("settled", "an earlier conflict was met by an explicit action"),
        violated("a conflict ended without an explicit action"),
    ),
    rules=(
        Rule(
            Guard.TOLD,
            "acted",
            _acted & _in_conflict,
            "acted",
            why="an explicit action was reported for the request that does not fit",
        ),
        Rule(
            Guard.TOLD,
            "relaxed",
            e.mine & kind(Kind.CLAIM_DEMOTED, Kind.CLAIM_EXPIRED) & e.authorised,
            "acted",
            source=("owed",),
            why="the claim was relaxed explicitly",
        ),
        Rule(
            Guard.NOTED,
            "noted",
            _acted,
            "noted",
            source=("idle", "settled"),
            why="an action was reported and there was no conflict",
        ),
        Rule(
            Guard.DUE,
            "silent",
            _finished & _to_the_end,
            VIOLATED,
            source=("idle", "owed", "settled"),
            why="a request that does not fit beside the claim ended and no action was reported",
            allowed="a refusal, deferral or other explicit action before the request ends",
        ),
        Rule(
            Guard.MOOT,
            "no conflict left",
            _finished,
            "idle",
            source=("owed", "noted"),
            why="the conflict had passed when the request ended",
        ),
        Rule(Guard.MOOT, "settled", _finished, "settled", source=("acted",), why="it ended"),
        Rule(
            Guard.OWED,
            "does not fit",
            _arrived & contends(was.declared, req),
            "owed",
            why="a request arrived that does not fit beside the claim",
        ),
        Rule(
            Guard.MOOT,
            "fits",
            _arrived,
            "settled",
            source=("acted",),
            why="a request of the same id arrived that fits",
        ),
    ),
)


def blame_is_right(own: Term) -> Term:
    """The blocking ids of this event are responsible, sufficient and irredundant, or rightly empty.

    In a standing conflict they are judged beside the claims alone. Where the request fits beside
    those, it may still not fit beside what other requests occupy, which is some amount up to all
    that they need: then naming nobody is right, and so are ids that are sufficient and irredundant
    for one such amount.

    Args:
        own: blocks of this claim while it is responsible, as declared or as committed.
    """
    share = was.responsible.ite(own - e.tied, Const(0))
    total = req_was.needed + resident(own)
    room = req_was.usable + e.blamed.ite(share, Const(0)) + e.blamed_rest
    most = total + e.others
    standing = conj(total <= room, _irredundant(room, total, share))
    transient = conj(
        req_was.arrived,
        req_was.needed <= req_was.usable,
        req_was.usable < room,
        req_was.usable < most,
        e.blamed.implies(share >= 1),
        _irredundant(room, most, share),
    )
    return conj(
        ~e.stranger,
        e.blamed.implies(was.responsible),
        conflict(own, req_was).ite(standing, ~e.accuses | transient),
    )


def _irredundant(room: Term, total: Term, share: Term) -> Term:
    """With any one of those named put back, `total` blocks do not fit into `room`."""
    return conj(
        e.blamed.implies(room < total + share),
        (e.blamed_least >= 1).implies(room < total + e.blamed_least),
    )


names_blockers = conj(
    e.here,
    ~e.restore,
    was.responsible | e.blamed,
    kind(*(CONFLICT_ACTIONS - {Kind.REQUEST_DEFERRED})) | (kind(Kind.REQUEST_DEFERRED) & e.accuses),
)  # an action for want of room, in a pool that this claim has or is said to have a part in
_has_part = req_was.failed | was.responsible | e.blamed
_restore_refused = e.here & e.restore & kind(Kind.REQUEST_REFUSED)

BLOCKING_CLAIM_IDS = Observer(
    name="blocking_claim_ids",
    code="B",
    reason="An action that names no cause, or the wrong one, cannot be charged to the promise that "
    "made it necessary.",
    source=TABLE_1,
    per_request=True,
    states=(
        idle("no action named blockers in a conflict"),
        pending("unnamed", "a request was deferred in a conflict and nobody was named yet"),
        satisfied("named", "the claims named are those that made the request infeasible"),
        violated("the claims named do not explain the action"),
    ),
    rules=(
        Rule(
            Guard.SAID,
            "smeared",
            _restore_refused & (_has_part & e.smear | (req_was.failed & ~e.accuses)),
            VIOLATED,
            why="a refusal for a failed restore names nobody, or a claim that did not fail",
            allowed="exactly the claims whose restore failed for this request",
        ),
        Rule(
            Guard.SAID,
            "wrong",
            names_blockers & ~blame_is_right(was.declared),
            VIOLATED,
            why="nobody is named, or others than the responsible claims that keep the request out",
            allowed="responsible claims of this pool without which the request fits, and none that "
            "could be put back",
        ),
        Rule(
            Guard.TOLD,
            "named",
            (names_blockers & (_in_conflict | e.accuses))
            | (_restore_refused & req_was.failed & e.blamed),
            "named",
            why="the action names the claims that made it necessary",
        ),
        Rule(
            Guard.DUE,
            "nobody",
            _finished & _to_the_end,
            VIOLATED,
            source=("unnamed",),
            why="a request that was deferred in a conflict ended and nobody was ever named",
            allowed="the blocking ids with the deferral, or with a later action on the request",
        ),
        Rule(
            Guard.MOOT,
            "no conflict left",
            _finished,
            "idle",
            source=("unnamed",),
            why="the conflict had passed when the request ended",
        ),
        Rule(
            Guard.OWED,
            "deferred",
            _acted & kind(Kind.REQUEST_DEFERRED) & ~e.accuses & ~e.restore & _in_conflict,
            "unnamed",
            source=("idle",),
            why="a deferral in a conflict names nobody",
        ),
    ),
)

_lost = e.mine & _evicted & live(was)

PRIORITY_INFLUENCE = Observer(
    name="priority_influence",
    code="Pr",
    reason="A priority that changes nothing is a field. Under pressure the claim of lower priority "
    "loses blocks first. (The full statement compares runs: original, swapped and equal.)",
    source=TABLE_1,
    states=(
        idle("no eviction had to choose between claims of different priority"),
        satisfied("ordered", "this claim lost blocks, and a claim of higher priority kept its own"),
        violated("this claim lost a block where one of a claim of lower priority could be taken"),
    ),
    rules=(
        Rule(
            Guard.BROKE,
            "passed over",
            _lost & e.passed,
            VIOLATED,
            why="a block of this claim was taken where one of a claim of lower priority could be",
            allowed="the block of the claim of lower priority",
        ),
        Rule(
            Guard.TOLD,
            "lower first",
            _lost & e.spared,
            "ordered",
            why="this claim lost blocks, and a claim of higher priority kept its own",
        ),
    ),
)


STATED: Final = (
    Obligation(
        VICTIM_EXCLUSION,
        row=11,
        places=(Place(Mode.HARD_PROTECTED, printed=5, critical=True, rejects=True),),
        order=Order.EXCLUSION_BEFORE_LOSS,
        depths=frozenset({Depth.ALLOCATOR_HOOK}),
        beyond_telemetry=True,
    ),
    Obligation(
        EXPLICIT_CONFLICT_ACTION,
        row=12,
        places=(
            Place(
                Mode.HARD_PROTECTED,
                printed=6,
                critical=True,
                rejects=True,
                unreached={".fits": "a request id arrives once"},
            ),
        ),
        order=Order.ACTION_BEFORE_END,
        depths=frozenset({Depth.SCHEDULER_HOOK}),
        beyond_telemetry=True,
        invariants=(
            While("what was decided was seen", ("owed", "acted", "noted", "settled"), req_was.seen),
            While(IN_HAND, ("owed",), req_was.arrived),
        ),
    ),
    Obligation(
        BLOCKING_CLAIM_IDS,
        row=13,
        places=(Place(Mode.HARD_PROTECTED, printed=7, critical=True, rejects=True),),
        order=Order.ACTION_BEFORE_END,
        depths=frozenset({Depth.SCHEDULER_HOOK}),
        beyond_telemetry=True,
        invariants=(While(IN_HAND, ("unnamed",), req_was.arrived),),
    ),
    Obligation(
        PRIORITY_INFLUENCE,
        row=16,
        places=(Place(Mode.SOFT_PRIORITY, printed=2, critical=True),),
        order=Order.PRESSURE_BEFORE_LOSS,
        depths=frozenset({Depth.TELEMETRY_JOIN}),
        atoms=frozenset(Atom),
    ),
)
