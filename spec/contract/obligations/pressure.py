"""States the obligations under memory pressure: victims, actions, blame and priority."""

from __future__ import annotations

from typing import Final

from spec.claims.states import Mode
from spec.contract.ledgers import (
    conflict,
    contends,
    demotes,
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
    discharged,
    due,
    false_report,
    forbidden,
    idle,
    moot,
    noted,
    owed,
    pending,
    satisfied,
    violated,
)
from spec.contract.supply import Atom, Depth, Order
from spec.contract.vocabulary import e
from spec.events.alphabet import CONFLICT_ACTIONS, Kind
from spec.language.machine import Observer
from spec.language.terms import Const, Term, conj

__all__ = ["STATED", "blame_is_right", "names_blockers"]

_evicted = kind(Kind.BLOCK_EVICTED)
_finished = e.here & kind(Kind.REQUEST_FINISHED)
_acted = conj(e.here, kind(*CONFLICT_ACTIONS), was.responsible | e.blamed)
_arrived = e.here & kind(Kind.REQUEST_ARRIVED)
_in_conflict = contends(was.declared, req_was)
_to_the_end = endures(was.declared, req_was)

VICTIM_EXCLUSION = Observer(
    name="victim_exclusion_before_violation",
    code="V",
    reason="Protection that yields to pressure is only priority. A protected block must not be a "
    "victim until another, explicit step has ended the promise.",
    source=TABLE_1,
    per_request=True,
    states=(
        idle("no request conflicted with the claim"),
        satisfied("spared", "a conflict ended, and no block of the claim was evicted"),
        violated("a block of the claim was chosen as a victim while the runtime was responsible"),
    ),
    rules=(
        forbidden(
            "evicted_while_responsible",
            e.mine & _evicted & was.responsible,
            why="a block of the claim was chosen as a victim while the runtime was responsible",
            allowed="another victim, or refusing or deferring the request first",
        ),
        discharged(
            "conflict_ended_without_eviction",
            _finished & _to_the_end,
            "spared",
            why="the request that could not fit ended, and no block of the claim was evicted",
        ),
    ),
)

EXPLICIT_CONFLICT_ACTION = Observer(
    name="explicit_conflict_action",
    code="X",
    aliases=("active_refusal_or_defer",),
    reason="When not everything fits, something must give way, and the runtime must choose "
    "explicitly: refuse, defer, route elsewhere, bound, offload, split, or relax the claim.",
    source=TABLE_1,
    per_request=True,
    states=(
        idle("no request conflicted with the claim"),
        pending(
            "owed", "a request does not fit together with the claim, and no action is reported yet"
        ),
        satisfied("acted", "an explicit action was reported for the conflict"),
        idle("an action was reported, but there was no conflict", name="noted"),
        satisfied("settled", "an explicit action was reported for an earlier conflict"),
        violated("a conflict ended without an explicit action"),
    ),
    rules=(
        discharged(
            "conflict_action_reported",
            _acted & _in_conflict,
            "acted",
            why="an explicit action is reported for the request that does not fit",
        ),
        discharged(
            "demotion_or_expiry_reported",
            e.mine & (demotes | kind(Kind.CLAIM_EXPIRED)) & e.authorised,
            "acted",
            source=("owed",),
            why="the conflict is resolved by a reported demotion, offload or expiry of the claim",
        ),
        noted(
            "action_outside_conflict",
            _acted,
            "noted",
            source=("idle", "settled"),
            why="an action is reported, but there is no conflict",
        ),
        due(
            "conflict_action_not_reported",
            _finished & _to_the_end,
            source=("idle", "owed", "settled"),
            why="a request that does not fit together with the claim ended, and no action was "
            "reported",
            allowed="a refusal, a deferral or another explicit action before the request ends",
        ),
        moot(
            "request_ended_without_conflict",
            _finished,
            "idle",
            source=("owed", "noted"),
            why="the conflict was over when the request ended",
        ),
        moot(
            "request_ended_after_action",
            _finished,
            "settled",
            source=("acted",),
            why="the request ended after an action was reported",
        ),
        owed(
            "request_conflicts",
            _arrived & contends(was.declared, req),
            "owed",
            why="a request arrived that does not fit together with the claim",
        ),
        moot(
            "reused_request_id_fits",
            _arrived,
            "settled",
            source=("acted",),
            why="another request with the same id arrived, and it fits",
        ),
    ),
)


def blame_is_right(own: Term) -> Term:
    """The blocking ids of this event are responsible, sufficient and irredundant, or rightly empty.

    In a standing conflict they are judged beside the claims alone. Where the request fits beside
    those, it may still not fit beside what other requests occupy, which is some amount up to all
    that they need: then naming no claim is right, and so are ids that are sufficient and
    irredundant for one such amount.

    Args:
        own: blocks of this claim while it is responsible, as declared or as committed.
    """
    share = was.responsible.ite(own - e.shared_unblamed, Const(0))
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
        ~e.invalid_blocker,
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
)  # an action for want of room, in a pool that this claim has or is reported to have a part in
_has_part = req_was.failed | was.responsible | e.blamed
_restore_refused = e.here & e.restore & kind(Kind.REQUEST_REFUSED)

BLOCKING_CLAIM_IDS = Observer(
    name="blocking_claim_ids",
    code="B",
    reason="An action that names no cause, or a wrong one, cannot be attributed to the promise "
    "that made it necessary.",
    source=TABLE_1,
    per_request=True,
    states=(
        idle("no action in a conflict named blocking claims"),
        pending(
            "unnamed", "a request was deferred in a conflict, and no blocking claim is named yet"
        ),
        satisfied(
            "named", "the claims that the action names are those that made the request infeasible"
        ),
        violated("the claims that the action names do not explain it"),
    ),
    rules=(
        false_report(
            "restore_refusal_blames_wrong_claims",
            _restore_refused & (_has_part & e.blames_unfailed | (req_was.failed & ~e.accuses)),
            why="a refusal for a failed restore names no claim, or one whose restore did not fail",
            allowed="exactly the claims whose restore failed for this request",
        ),
        false_report(
            "blames_wrong_claims",
            names_blockers & ~blame_is_right(was.declared),
            why="the action names no claim, too many claims, or others than those that keep the "
            "request out",
            allowed="ids of responsible claims of this pool: the request fits if all of them give "
            "way, and does not fit if any one of them stays",
        ),
        discharged(
            "blockers_reported",
            (names_blockers & (_in_conflict | e.accuses))
            | (_restore_refused & req_was.failed & e.blamed),
            "named",
            why="the action names the claims that made it necessary",
        ),
        due(
            "blockers_not_reported",
            _finished & _to_the_end,
            source=("unnamed",),
            why="a request that was deferred in a conflict ended, and no blocking claim was ever "
            "named",
            allowed="the blocking ids in the deferral, or in a later action on the request",
        ),
        moot(
            "request_ended_without_conflict",
            _finished,
            "idle",
            source=("unnamed",),
            why="the conflict was over when the request ended",
        ),
        owed(
            "deferred_without_blockers",
            _acted & kind(Kind.REQUEST_DEFERRED) & ~e.accuses & ~e.restore & _in_conflict,
            "unnamed",
            source=("idle",),
            why="a deferral in a conflict names no claim",
        ),
    ),
)

_lost = e.mine & _evicted & live(was)

PRIORITY_INFLUENCE = Observer(
    name="priority_influence",
    code="Pr",
    reason="A priority that changes nothing is only a field. Under pressure the claim of lower "
    "priority must lose blocks first. (The full statement compares runs with original, swapped "
    "and equal priorities.)",
    source=TABLE_1,
    states=(
        idle("no eviction had to choose between claims of different priority"),
        satisfied("ordered", "this claim lost blocks, and a claim of higher priority kept its own"),
        violated(
            "this claim lost a block, although one of a claim of lower priority could be taken"
        ),
    ),
    rules=(
        forbidden(
            "evicted_before_lower_priority",
            _lost & e.lower_priority_available,
            why="a block of this claim was evicted, although one of a claim of lower priority "
            "could be taken",
            allowed="the block of the claim of lower priority as the victim",
        ),
        discharged(
            "evicted_before_higher_priority",
            _lost & e.higher_priority_kept,
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
                unreached={".reused_request_id_fits": "a request id arrives once"},
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
