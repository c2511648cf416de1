"""MicroRuntime shows tables 5 to 8: three resources, and what each answer to a conflict does."""

from __future__ import annotations

from typing import Any

import pytest

from models.framework.explore import reach
from models.framework.shims import PLAIN
from models.runtimes.micro import Mechanism, Micro, MicroState
from proofs.product.search import Answer, search
from spec.claims.predicates import parse_predicate
from spec.contract.modes import MODES, Bundle

M = Mechanism


def states(model: Micro) -> list[MicroState]:
    """The states of the only run of a model, in order."""
    (state,) = model.initial()
    found = [state]
    while actions := list(model.actions(found[-1])):
        found.append(model.apply(found[-1], actions[0]).state)
    return found


def broken(model: Micro) -> set[str]:
    """The obligations of the claim's mode that a run breaks."""
    names = MODES[model.mode].names(Bundle.CONTRACT)
    answers = {n: search(model, PLAIN, model.mode, n, "resident").answer for n in names}
    assert Answer.UNCLEAR not in answers.values()
    assert Answer.OWED not in answers.values()
    return {name for name, answer in answers.items() if answer is Answer.BROKEN}


SILENT = {
    "victim_exclusion_before_violation",
    "explicit_conflict_action",
    "claim_harm_attribution",
}

TABLE_5 = [
    # mechanism, request, blocks of the claim that are there, blocks left for reuse, broken
    (M.NATIVE, "served", 10, 70, SILENT),
    (M.NO_ADMIT, "served", 10, 0, SILENT),
    (M.EXCLUSION, "turned away", 60, 0, set()),
    (M.DEFER, "served", 10, 70, set()),
    (M.RESERVE, "turned away", 60, 0, set()),
    (M.OFFLOAD_RESIDENT, "served", 60, 70, set()),
    (M.OFFLOAD_ACTIVE, "served", 60, 20, set()),
    (M.BOUND, "served", 60, 20, set()),
    (M.SPLIT, "served", 60, 20, set()),
    (M.ROUTE, "served", 60, 0, set()),
    (M.RELAX, "served", 10, 70, set()),
    (M.LARGER, "served", 60, 70, set()),
    (M.ORACLE, "served", 60, 20, set()),
]


@pytest.mark.parametrize(
    ("mechanism", "request_is", "resident", "reusable", "breaks"),
    TABLE_5,
    ids=[str(row[0]) for row in TABLE_5],
)
def test_table_5(
    mechanism: Mechanism, request_is: str, resident: int, reusable: int, breaks: set[str]
) -> None:
    """Each of the thirteen answers to 60 + 70 > 80 has its outcome, and breaks the contract or not.

    Native eviction and no-admit break three obligations of hard_protected; all others keep theirs.
    """
    model = Micro(mechanism)
    end = states(model)[-1]
    assert (request_is, resident, reusable) == (end.phase, end.resident, end.reusable)
    assert breaks == broken(model)
    assert not reach(model).broken


def test_all_thirteen() -> None:
    """The table has every mechanism once."""
    assert list(Mechanism) == [row[0] for row in TABLE_5]
    assert 13 == len(TABLE_5)


def test_a_deferred_request_waits_for_the_owner() -> None:
    """The claim is whole until its owner gives it up, and only then is the request served."""
    phases = [(s.phase, s.resident) for s in states(Micro(M.DEFER))]
    assert phases.index(("waiting", 60)) < phases.index(("running", 10))


def test_an_offloaded_claim_is_restored_before_its_reuse() -> None:
    """The claim leaves the GPU whole, and is whole again before it is used."""
    found = states(Micro(M.OFFLOAD_RESIDENT))
    phases = [state.resident for state in found if state.phase in ("claimed", "running")]
    assert (60, 0, 60) == (phases[0], phases[-1], found[-1].resident)


def test_the_oracle_takes_what_is_to_be_had() -> None:
    """With headroom elsewhere the oracle routes, without it bounds the request."""
    assert M.ROUTE is Micro(M.ORACLE, headroom=True).mechanism
    assert M.BOUND is Micro(M.ORACLE).mechanism


def test_table_7() -> None:
    """No-admit leaves nothing of the request for later, and the claim is lost all the same.

    70 blocks of 16 tokens are the 1,120 tokens that a repeat of the request finds otherwise.
    """
    cached, unadmitted = (states(Micro(m))[-1] for m in (M.NATIVE, M.NO_ADMIT))
    assert (1120, 0) == (cached.reusable * 16, unadmitted.reusable * 16)
    assert cached.resident == unadmitted.resident < 60


def test_table_8() -> None:
    """Chunks of 20, 20, 20 and 10 blocks accumulate to 20, 40, 60 and 70 live blocks."""
    live = [s.live for s in states(Micro(M.NATIVE)) if s.phase == "running"]
    assert [0, 20, 40, 60, 70] == live


def test_bounded_chunks_do_not_accumulate() -> None:
    """A bounded request holds no more live blocks than are left beside the claim."""
    assert 20 == max(s.live for s in states(Micro(M.BOUND)))


TABLE_6: list[tuple[str, tuple[int, int, int], int]] = [
    ("naive fair share", (30, 20, 19), 0),
    ("complete prefixes", (40, 40, 0), 2),
    ("nothing shared", (0, 0, 0), 0),
]


@pytest.mark.parametrize(("policy", "kept", "useful"), TABLE_6, ids=[r[0] for r in TABLE_6])
def test_table_6(policy: str, kept: tuple[int, int, int], useful: int) -> None:
    """Retained is not useful: 69 blocks of three spans satisfy no predicate, 80 of two satisfy two.

    Each span needs its 40 leading blocks; 69 blocks are the 1,104 tokens that fair share retains.
    """
    needs = parse_predicate("leading_prefix_at_least(40)")
    assert useful == sum(needs.holds(range(each)) for each in kept)
    assert (policy != "naive fair share") or 1104 == 16 * sum(kept)


@pytest.mark.parametrize(
    ("mechanism", "counts"),
    [(M.NATIVE, (9, 8)), (M.EXCLUSION, (4, 3)), (M.DEFER, (11, 10)), (M.OFFLOAD_RESIDENT, (10, 9))],
)
def test_counts(mechanism: Mechanism, counts: tuple[int, int]) -> None:
    """The instances have so many states and transitions."""
    found = reach(Micro(mechanism))
    assert counts == (found.states, found.transitions)


class Unreported(Micro):
    """Refuses without a report."""

    def apply(self, state: MicroState, action: Any) -> Any:
        after, emits = super().apply(state, action)
        return after, tuple(e for e in emits if "refused" not in e.event.kind)  # type: ignore[union-attr]


class Early(Micro):
    """Demotes only after the blocks are gone."""

    def apply(self, state: MicroState, action: Any) -> Any:
        after, emits = super().apply(state, action)
        return after, emits[::-1] if action.name == "decide" else emits


def test_planted_changes_are_found() -> None:
    """A refusal without a report, and a demotion after the loss, break what they should."""
    assert {"explicit_conflict_action"} == broken(Unreported(M.EXCLUSION))
    assert broken(Early(M.RELAX)) & {"demotion_before_loss", "ordered_lifecycle_events"}
