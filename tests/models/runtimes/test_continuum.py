from __future__ import annotations

from pathlib import Path

import pytest

from models.framework.explore import reach
from models.framework.inference import Inference
from models.framework.shims import Shim
from models.runtimes.continuum.model import (
    INFERENCES,
    SOURCE,
    VARIANTS,
    Continuum,
    Defect,
    State,
    Turn,
)
from proofs.product.search import Answer, search
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from tests.models.runtimes.reached import reached
from tests.models.runtimes.symmetric import counts
from tests.models.runtimes.walk import breaking, searched, shortest, told

SUSPENDED = "a pin expires though its job waits"
SKIPPED = "a pass leaves no pin that is over"
UNRECORDED = "the end of a pin is recorded"
SHARED = "no other conversation ends a pin"
CRASH = "the engine goes on"

BREAKS = {
    Defect.SUSPENDED: SUSPENDED,
    Defect.SKIPPED: SKIPPED,
    Defect.UNRECORDED: UNRECORDED,
    Defect.SHARED: SHARED,
    Defect.OVERLAP: CRASH,
}

EXPIRING, HARD, RECORD, STRANGERS = INFERENCES

WAITS, PRESSES, *_ = [tuple(each.model().turns.values()) for each in INFERENCES]
TWO_JOBS = tuple(
    Turn(f"{job}{number}", job, number, job_id=job, is_last_step=number == 2)
    for job in "ab"
    for number in (1, 2)
)


class TestSource:
    def test_it_has_so_many_states(self) -> None:
        """The scheduler of the source has the states and transitions that it had, and no more."""
        found = reached(Continuum)
        assert (1682, 2796) == (found.states, found.transitions)
        assert () == found.missed

    def test_every_promise_is_broken(self) -> None:
        """The source breaks all that a client of pins relies on, and keeps account of blocks."""
        assert {*BREAKS.values()} == {*reached(Continuum).broken}

    @pytest.mark.parametrize(
        ("name", "run"),
        [
            (CRASH, "arrive(n1) arrive(m1)"),
            (SHARED, "arrive(n1) step finish(n1) arrive(m1) step finish(m1)"),
            (SKIPPED, "arrive(a1) arrive(n1) step finish(a1) finish(n1) step step"),
            (
                UNRECORDED,
                "arrive(a1) arrive(n1) step finish(a1) arrive(a2) step finish(n1) step",
            ),
        ],
    )
    def test_a_shortest_run_breaks_it(self, name: str, run: str) -> None:
        """The checker finds a shortest run to a state in which the promise is broken."""
        assert run.split() == breaking(Continuum(), name)

    def test_overlapping_turns_of_a_job_end_the_engine(self) -> None:
        """Two turns of one job that overlap end the engine, with a job id too."""
        model = Continuum(defects=[Defect.OVERLAP], overlap=True)
        assert ["arrive(a1)", "arrive(a2)"] == breaking(model, CRASH)

    def test_a_pin_whose_job_waits_never_expires(self) -> None:
        """A pin that is over stays, however many steps follow, while its job's turn has no room."""
        model = Continuum(2, WAITS, ttl=1)

        def stays(state: State) -> bool:
            step = next(each for each in model.actions(state) if each.name == "step")
            after = model.apply(state, step)
            over = any(not pin.left for pin in state.pinned)
            return over and bool(state.waiting) and (state, ()) == after

        run, state = shortest(model, stays)
        assert ["arrive(a1)", "arrive(b1)", "step", "finish(a1)", "arrive(a2)", "step"] == run
        assert [("a1", 0, True)] == [tuple(pin) for pin in state.pinned]

    @pytest.mark.parametrize("ttl", [1, 2, 3])
    def test_a_longer_ttl_is_a_longer_run(self, ttl: int) -> None:
        """Two pins that end in one step are over after `ttl` steps, and the pass skips one."""
        run = breaking(Continuum(ttl=ttl), SKIPPED)
        assert ["arrive(a1)", "arrive(n1)", "step", "finish(a1)", "finish(n1)"] == run[:5]
        assert ["step"] * ttl == run[5:]

    def test_two_jobs_wait_for_each_other(self) -> None:
        """Two jobs whose pins hold the room of each other's next turn wait for ever."""

        def stuck(state: State) -> bool:
            names = {each.name for each in source.actions(state)}
            return (
                names == {"step"}
                and (state, ()) == source.apply(state, next(iter(source.actions(state))))
                and bool(state.waiting)
            )

        source = Continuum(2, TWO_JOBS)
        run, _ = shortest(source, stuck)
        assert 9 == len(run)
        source = Continuum(2, TWO_JOBS, defects=SOURCE - {Defect.SUSPENDED})
        with pytest.raises(AssertionError):
            shortest(source, stuck)


class TestRepaired:
    @pytest.mark.parametrize(
        ("overlap", "size"), [(False, (2217, 4081)), (True, (4986, 9529))], ids=str
    )
    def test_nothing_is_broken(self, overlap: bool, size: tuple[int, int]) -> None:
        """The repaired scheduler keeps every promise, and every turn ends in some run."""
        found = reach(Continuum(defects=(), overlap=overlap))
        assert size == (found.states, found.transitions)
        assert ((), ()) == (found.broken, found.missed)

    @pytest.mark.parametrize("defect", Defect)
    def test_each_defect_breaks_its_own_promise(self, defect: Defect) -> None:
        """One defect alone breaks the promise that it is about, and no other."""
        model = Continuum(defects=[defect], overlap=defect is Defect.OVERLAP)
        assert (BREAKS[defect],) == reach(model).broken

    @pytest.mark.parametrize("defect", Defect)
    def test_each_repair_is_needed(self, defect: Defect) -> None:
        """All repairs but one leave a promise broken, so each promise tells of one defect."""
        model = Continuum(defects=SOURCE - {defect}, overlap=True)
        assert BREAKS[defect] not in reach(model).broken


RUNS = [
    (
        EXPIRING,
        "claim_expired_boundary",
        "arrive(a1) arrive(b1) step finish(a1) arrive(a2) step finish(b1)",
        13,
    ),
    (
        HARD,
        "ordered_lifecycle_events",
        "arrive(a1) arrive(b1) step finish(a1) step",
        13,
    ),
    (
        RECORD,
        "victim_exclusion_before_violation",
        "arrive(a1) arrive(b1) step finish(a1) step",
        12,
    ),
    (
        STRANGERS,
        "ordered_lifecycle_events",
        "arrive(n1) step finish(n1) step arrive(m1) step finish(m1)",
        14,
    ),
]


class TestInferences:
    @pytest.mark.parametrize(("inference", "obligation", "run", "events"), RUNS)
    def test_a_run_breaks_it(
        self, inference: Inference, obligation: str, run: str, events: int, tmp_path: Path
    ) -> None:
        """A shortest run of the source breaks the obligation, and the monitor says so of it."""
        found = searched(inference, obligation)
        assert Answer.BROKEN is found.answer
        assert found.run is not None
        assert run.split() == [*map(str, found.run.actions)]
        assert events == len(found.run.events(inference.shim))
        assert "violated" == told(found, inference, tmp_path)

    def test_a_repair_keeps_the_boundary(self) -> None:
        """Pins that expire though their job waits, all else as in the source, keep the boundary."""
        model = Continuum(2, WAITS, ttl=1, defects=SOURCE - {Defect.SUSPENDED})
        assert Answer.KEPT is searched(EXPIRING, "claim_expired_boundary", model).answer

    def test_a_recorded_drop_is_no_victim(self) -> None:
        """With a record of each end, no block is evicted whose pin is recorded."""
        model = Continuum(2, PRESSES, defects=SOURCE - {Defect.UNRECORDED})
        answer = searched(RECORD, "victim_exclusion_before_violation", model).answer
        assert Answer.UNTESTED is answer

    def test_a_recorded_drop_is_no_expiry(self) -> None:
        """Of the recorded end of a pin under pressure nobody knows whether its TTL was over."""
        model = Continuum(2, PRESSES, defects=())
        assert Answer.UNCLEAR is searched(HARD, "ordered_lifecycle_events", model).answer

    def test_a_recorded_drop_is_a_demotion(self) -> None:
        """What the repaired scheduler records before the loss is a demotion, of the source not."""
        shim = Shim(
            Mode.DEMOTABLE,
            frozenset({"pin"}),
            {"pin_dropped": Kind.CLAIM_RETIRED, "unpinned_time": Kind.CLAIM_DEMOTED},
        )
        answers = [
            search(Continuum(2, PRESSES, defects=each), shim, Mode.DEMOTABLE, name, "a1").answer
            for each in (SOURCE, frozenset[Defect]())
            for name in ("ordered_lifecycle_events", "claim_demoted_before_loss")
        ]
        assert [Answer.BROKEN, Answer.KEPT, Answer.KEPT, Answer.KEPT] == answers


@pytest.mark.parametrize(
    ("variant", "without", "with_it"),
    [("source", (1682, 2796), (854, 1431)), ("repaired", (4986, 9529), (2510, 4828))],
)
def test_symmetry(variant: str, without: tuple[int, int], with_it: tuple[int, int]) -> None:
    """Conversations of one turn that state no job are alike."""
    assert (without, with_it) == counts(VARIANTS[variant](), "a1")
