"""What may happen under pressure, and what must be said of it."""

from __future__ import annotations

from spec.alphabet import CONFLICT_ACTIONS, Kind
from spec.ledgers import conflict, contends, kind, live, req, req_was, was
from spec.machine import Guard, Observer, Rule
from spec.obligations._build import TABLE_1, VIOLATED, idle, pending, satisfied, violated
from spec.terms import Const, Term, conj
from spec.vocabulary import e

__all__ = [
    "BLOCKING_CLAIM_IDS",
    "EXPLICIT_CONFLICT_ACTION",
    "PRIORITY_INFLUENCE",
    "VICTIM_EXCLUSION",
    "blame_is_right",
    "names_blockers",
]

_evicted = kind(Kind.BLOCK_EVICTED)
_finished = e.here & kind(Kind.REQUEST_FINISHED)
_acted = e.here & kind(*CONFLICT_ACTIONS)
_arrived = e.here & kind(Kind.REQUEST_ARRIVED)
_in_conflict = contends(was.declared, req_was)

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
            _finished & _in_conflict,
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
            _finished & _in_conflict,
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

    Args:
        own: blocks of this claim while it is responsible, as declared or as committed.
    """
    mine = was.responsible.ite(own, Const(0))
    total = req_was.needed + mine + e.rest
    named = e.blamed.ite(mine, Const(0)) + e.blamed_rest
    least = e.blamed_least
    return ~e.stranger & conflict(own, req_was).ite(
        conj(
            e.blamed.implies(was.responsible),
            total <= req_was.usable + named,
            e.blamed.implies(req_was.usable + named < total + mine),
            (e.blamed_rest >= 1).implies(req_was.usable + named < total + least),
        ),
        ~e.blamed & e.blamed_rest.eq(0),
    )


names_blockers = conj(
    e.here,
    ~e.restore,
    was.responsible | e.blamed,
    kind(*(CONFLICT_ACTIONS - {Kind.REQUEST_DEFERRED})) | (kind(Kind.REQUEST_DEFERRED) & e.accuses),
)  # an action for want of room, in a pool that this claim has or is said to have a part in
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
            _restore_refused & (e.smear | (req_was.failed & ~e.accuses)),
            VIOLATED,
            why="a refusal for a failed restore names nobody, or a claim that did not fail",
            allowed="exactly the claims whose restore failed for this request",
        ),
        Rule(
            Guard.SAID,
            "wrong",
            names_blockers & ~blame_is_right(was.declared),
            VIOLATED,
            why="the blocking ids are not the responsible claims that keep the request out",
            allowed="responsible claims of this pool without which the request fits, and none that "
            "could be put back",
        ),
        Rule(
            Guard.TOLD,
            "named",
            (names_blockers & _in_conflict) | (_restore_refused & req_was.failed & e.blamed),
            "named",
            why="the action names the claims that made it necessary",
        ),
        Rule(
            Guard.DUE,
            "nobody",
            _finished & _in_conflict,
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

_lower_lost = ~e.mine & _evicted & e.rival.eq(-1)
_higher_lost = ~e.mine & _evicted & e.rival.eq(1)
_lost = e.mine & _evicted & live(was)

PRIORITY_INFLUENCE = Observer(
    name="priority_influence",
    code="Pr",
    reason="A priority that changes nothing is a field. Under pressure the claim of lower priority "
    "loses blocks first. (The full statement compares runs: original, swapped and equal.)",
    source=TABLE_1,
    states=(
        idle("no two claims of different priority lost blocks"),
        idle("this claim lost blocks first", name="lost"),
        idle("a claim of lower priority lost blocks first", name="preceded"),
        idle("a claim of higher priority lost blocks first", name="overtaken"),
        satisfied("ordered", "the claim of lower priority lost blocks first"),
        violated("the claim of higher priority lost blocks first"),
    ),
    rules=(
        Rule(
            Guard.BROKE,
            "higher first",
            _lower_lost,
            VIOLATED,
            source=("lost",),
            why="this claim lost blocks before a claim of lower priority did",
            allowed="blocks of the claim of lower priority first",
        ),
        Rule(
            Guard.BROKE,
            "overtaken",
            _lost,
            VIOLATED,
            source=("overtaken",),
            why="a claim of higher priority lost blocks before this one",
            allowed="blocks of this claim, whose priority is lower, first",
        ),
        Rule(
            Guard.TOLD,
            "lower first",
            (_lost | _higher_lost),
            "ordered",
            source=("preceded",),
            why="the claim of lower priority had lost blocks first",
        ),
        Rule(
            Guard.TOLD,
            "this one first",
            _higher_lost,
            "ordered",
            source=("lost",),
            why="this claim, of lower priority, had lost blocks first",
        ),
        Rule(Guard.NOTED, "lost", _lost, "lost", source=("idle",), why="it lost a block first"),
        Rule(
            Guard.NOTED,
            "lower lost",
            _lower_lost,
            "preceded",
            source=("idle",),
            why="a claim of lower priority lost a block first",
        ),
        Rule(
            Guard.NOTED,
            "higher lost",
            _higher_lost,
            "overtaken",
            source=("idle",),
            why="a claim of higher priority lost a block first",
        ),
    ),
)
