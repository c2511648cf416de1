"""The reference runtime: the witness that every mode can be kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from models.framework.claims import Claim
from models.framework.model import Action, Model, Next
from models.framework.shims import PLAIN
from models.runtimes import reference_runtime
from models.runtimes.reference_runtime import (
    TAKES,
    VARIANTS,
    ReferenceRuntime,
    Request,
    State,
    Step,
)
from proofs.product.search import Answer, Outcome, search
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.events.alphabet import Kind
from tests.models.runtimes.reached import reached
from tests.models.runtimes.walk import judged, without
from tests.models.runtimes.whole import unkept


def claim(holder: str, object_id: str, mode: Mode) -> Claim:
    return Claim(holder, object_id, 1, mode, None, "9 steps" if mode is Mode.EXPIRING else None)


def small(mode: Mode) -> tuple[Claim | Request, ...]:
    """Two claims on different objects; the second request needs a block that neither has."""
    first, second = claim("c1", "a", mode), claim("c2", "b", mode)
    return first, Request("r1", "a", 1, 0), second, Request("r2", "b", 1, 1)


def again(mode: Mode) -> tuple[Claim | Request, ...]:
    """A claim, and a second request on its object."""
    return claim("c1", "a", mode), Request("r1", "a", 1, 0), Request("r2", "a", 1, 0)


SIZES = {
    Mode.BEST_EFFORT: (249, 827),
    Mode.SOFT_PRIORITY: (1265, 5591),
    Mode.HARD_PROTECTED: (281, 909),
    Mode.DEMOTABLE: (173, 502),
    Mode.EXPIRING: (281, 909),
    Mode.OFFLOADABLE: (1589, 7782),
    Mode.ROUTED_REUSE: (895, 3668),
}


def broken(model: Model[Any], mode: Mode, obligation: str, holder: str = "c1") -> Outcome:
    found = search(model, PLAIN, mode, obligation, holder)
    assert found.answer is Answer.BROKEN
    return found


def names_in(found: Outcome) -> list[str]:
    assert found.run is not None
    return [action.name for action in found.run.actions]


class TestSize:
    @pytest.mark.parametrize("mode", TAKES)
    def test_each_instance_has_so_many_states(self, mode: Mode) -> None:
        """The numbers of states and transitions are as they were counted."""
        found = reached(VARIANTS[mode])
        assert (found.states, found.transitions) == SIZES[mode]
        assert found.ends == 1

    def test_it_takes_every_mode(self) -> None:
        """There is an instance for each mode of the contract."""
        assert set(VARIANTS) == set(Mode)

    def test_it_is_short(self) -> None:
        """It is one module of at most 300 lines."""
        path = Path(reference_runtime.__file__)
        assert path.name == "reference_runtime.py"
        assert len(path.read_text().splitlines()) <= 300

    @pytest.mark.parametrize("mode", TAKES)
    def test_three_claims_and_pressure(self, mode: Mode) -> None:
        """Each instance has claims on two objects, one of them shared, and all its actions."""
        model = VARIANTS[mode]()
        objects = [each.object_id for each in model.comes if isinstance(each, Claim)]
        assert sorted(objects) == ["a", "a", "b"]
        usual = {"admit", "arrive", "claim", "finish", "reset"}
        ends = {"expire"} if mode is Mode.EXPIRING else {"release"}
        more = {
            Mode.HARD_PROTECTED: {"refuse"},
            Mode.EXPIRING: {"refuse"},
            Mode.OFFLOADABLE: {"refuse", "store", "drop", "fail"},
            Mode.ROUTED_REUSE: {"route"},
        }
        assert {*reached(VARIANTS[mode]).actions} == usual | ends | more.get(mode, set())


class TestKept:
    @pytest.mark.parametrize("mode", [Mode.BEST_EFFORT, Mode.DEMOTABLE])
    def test_every_obligation_is_kept(self, mode: Mode) -> None:
        """In a small instance each obligation is put to the test, and never broken."""
        model = ReferenceRuntime(mode, 2, small(mode))
        for name in MODES[mode].names(Bundle.CONTRACT):
            assert search(model, PLAIN, mode, name, "c1").answer is Answer.KEPT

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", [Mode.BEST_EFFORT, Mode.HARD_PROTECTED, Mode.DEMOTABLE])
    @pytest.mark.deep
    def test_it_is_so_for_each_claim(self, mode: Mode) -> None:
        """In one walk with all observers, for each of the three claims."""
        assert unkept(VARIANTS[mode](), mode) == {}

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", TAKES)
    @pytest.mark.deep
    def test_every_obligation_of_every_mode_is_kept(self, mode: Mode) -> None:
        """With claims on two objects and a shared one, for the first claim, one at a time."""
        model = VARIANTS[mode]()
        answers = {
            name: search(model, PLAIN, mode, name, "c1").answer
            for name in MODES[mode].names(Bundle.CONTRACT)
        }
        assert answers == dict.fromkeys(answers, Answer.KEPT)


class _NoHolds(Step):
    """Takes the blocks of claims, too."""

    def place(self, request: Request) -> tuple[list[int], list[int]]:
        watched, self.watched = self.watched, True
        placed = super().place(request)
        self.watched = watched
        return placed


class _Silent(ReferenceRuntime):
    """Leaves out the reports of a kind."""

    def __init__(self, kind: Kind, *args: Any) -> None:
        super().__init__(*args)
        self.kind = kind

    def apply(self, state: State, action: Action) -> Next[State]:
        after, emits = super().apply(state, action)
        return Next(after, without(emits, self.kind))


class TestChanged:
    def test_blocks_that_are_not_held_are_victims(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without the exclusion of claimed blocks, one is evicted while the claim is live."""
        monkeypatch.setattr(reference_runtime, "Step", _NoHolds)
        model = ReferenceRuntime(Mode.HARD_PROTECTED, 2, small(Mode.HARD_PROTECTED))
        found = broken(model, Mode.HARD_PROTECTED, "victim_exclusion_before_violation")
        assert names_in(found) == [
            *("claim", "arrive", "admit", "finish"),
            *("claim", "arrive", "release", "admit"),
        ]
        assert judged(found, PLAIN, Mode.HARD_PROTECTED, "c1", tmp_path) == "violated"

    @pytest.mark.parametrize(
        ("mode", "kind", "obligation", "actions"),
        [
            (
                Mode.HARD_PROTECTED,
                Kind.CLAIM_HARMED,
                "claim_harm_attribution",
                "claim arrive admit reset finish",
            ),
            (
                Mode.HARD_PROTECTED,
                Kind.REQUEST_DEFERRED,
                "explicit_conflict_action",
                "claim arrive claim arrive finish",
            ),
            (
                Mode.HARD_PROTECTED,
                Kind.CLAIM_MATERIALIZED,
                "claim_materialized_event",
                "claim arrive admit finish",
            ),
            (
                Mode.DEMOTABLE,
                Kind.CLAIM_DEMOTED,
                "ordered_lifecycle_events",
                "claim arrive claim arrive finish",
            ),
            (
                Mode.EXPIRING,
                Kind.CLAIM_EXPIRED,
                "claim_expired_boundary",
                "claim arrive expire finish",
            ),
            (
                Mode.BEST_EFFORT,
                Kind.CLAIM_UNMATERIALIZED,
                "claim_scoped_telemetry",
                "claim arrive admit reset finish",
            ),
            (
                Mode.ROUTED_REUSE,
                Kind.ROUTE_COST_REPORTED,
                "route_cost_attribution",
                "claim arrive route finish",
            ),
            (
                Mode.OFFLOADABLE,
                Kind.CLAIM_RESTORED,
                "offload_restorability",
                "claim arrive arrive admit store reset admit",
            ),
        ],
    )
    def test_a_report_that_is_left_out_is_missed(
        self, mode: Mode, kind: Kind, obligation: str, actions: str, tmp_path: Path
    ) -> None:
        """Without one of its reports an obligation is broken, and the monitor says so, too."""
        comes = (again if mode is Mode.OFFLOADABLE else small)(mode)
        found = broken(_Silent(kind, mode, 2, comes), mode, obligation)
        assert names_in(found) == actions.split()
        assert judged(found, PLAIN, mode, "c1", tmp_path) == "violated"
