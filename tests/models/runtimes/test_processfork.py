from __future__ import annotations

from pathlib import Path

import pytest

from models.framework.explore import reach
from models.framework.model import Action, Fact, Next
from models.runtimes.processfork.model import INFERENCES, Image, ProcessFork, Slip, State
from proofs.product.search import Answer
from spec.events.alphabet import Kind
from tests.models.runtimes.walk import breaking, searched, shortest, told, transitions

(SNAPSHOT,) = INFERENCES

PARTIAL = "no manifest is partial"

BREAKS = {
    Slip.NO_PAUSE: (
        "an image is of one moment",
        "serve(r1) pause decode(r1) read write(0) write(1) manifest",
    ),
    Slip.MANIFEST_FIRST: (PARTIAL, "serve(r1) pause read manifest"),
    Slip.COLLECTS: (
        PARTIAL,
        "serve(r1) pause read write(0) write(1) collect manifest",
    ),
    Slip.NO_COUNT: (
        "no page is loaded that is not there",
        "serve(r1) pause read write(0) write(1) manifest lose(prompt) crash restore",
    ),
    Slip.COPIES: (
        "shared pages stay shared",
        "serve(r1) serve(r2) pause read write(0) write(1) write(2) manifest crash restore",
    ),
}


class TestDocumented:
    @pytest.mark.parametrize(("losses", "size"), [(1, (1958, 5085)), (0, (930, 2205))], ids=str)
    def test_every_promise_holds(self, losses: int, size: tuple[int, int]) -> None:
        """As documented, images and what is loaded from them are as promised, in every state."""
        found = reach(ProcessFork(losses=losses))
        assert size == (found.states, found.transitions)
        assert ((), ()) == (found.broken, found.missed)

    def test_a_crash_follows_every_step_of_a_capture(self) -> None:
        """A crash comes after each step of a capture, and leaves a whole image or none."""
        model = ProcessFork()
        stages = set()
        for step in transitions(model):
            capture = step.before.capture
            if step.action.name == "crash" and capture is not None:
                image: Image | None = step.after.image
                assert image is None or {*image.pages} <= {*step.after.store, *step.after.lost}
                stages.add((capture.table is not None, len(capture.written), image is not None))
        read = {(True, pages, False) for pages in range(4)}
        assert {(False, 0, False), *read, (True, 2, True), (True, 3, True)} == stages

    def test_a_page_that_is_missing_refuses_the_restore(self) -> None:
        """The count of pages does not match: nothing is loaded, and the worker stays as it was."""
        model = ProcessFork()
        refused = [
            step
            for step in transitions(model)
            if step.action.name == "restore" and step.before.lost
        ]
        assert refused
        assert all(step.after.pages == step.before.pages for step in refused)
        assert all(["restore_refused"] == [e.name for e in step.emits] for step in refused)  # type: ignore[union-attr]

    def test_sequences_share_after_a_restore(self) -> None:
        """Both sequences are restored, and their first page is one block again."""
        model = ProcessFork()
        _, state = shortest(model, lambda state: state.restored and len(state.table) == 2)
        assert 1 == len({blocks[0] for _, blocks in state.table})
        assert 3 == len({block for _, blocks in state.table for block in blocks})

    def test_a_shared_page_is_stored_once(self) -> None:
        """Two sequences of two pages each are three pages in the store."""
        _, state = shortest(ProcessFork(), lambda s: s.image and len(s.image.sequences) == 2)
        assert ("a0", "b0", "prompt") == state.store


class TestSlips:
    @pytest.mark.parametrize("slip", Slip)
    def test_a_shortest_run_breaks_a_promise(self, slip: Slip) -> None:
        """A step that is left out or misplaced breaks one promise, by this shortest run."""
        name, run = BREAKS[slip]
        model = ProcessFork(slips=[slip])
        assert (name,) == reach(model).broken
        assert run.split() == breaking(model, name)


class Restoring(ProcessFork):
    """A worker that is restored before it serves again."""

    def apply(self, state: State, action: Action) -> Next[State]:
        after, emits = super().apply(state, action)
        whole = after.image and {*after.image.pages} <= {*after.store}
        if action.name == "crash" and whole:
            after, back = super().apply(after, Action("restore"))
            return Next(after, (*emits, *back))
        return Next(after, emits)


class TestInference:
    def test_a_snapshot_is_not_looked_up(self, tmp_path: Path) -> None:
        """After a crash a request computes the prompt again, although the image has it."""
        found = searched(SNAPSHOT, "offload_restorability")
        assert Answer.BROKEN is found.answer
        assert found.run is not None
        run = "serve(r1) pause read write(0) write(1) manifest crash serve(r2)"
        assert run.split() == [*map(str, found.run.actions)]
        assert 12 == len(found.run.events(SNAPSHOT.shim))
        assert "violated" == told(found, SNAPSHOT, tmp_path)

    def test_a_crash_in_mid_capture_is_silent(self, tmp_path: Path) -> None:
        """A crash before the manifest loses the prompt, and no report names the snapshot."""
        found = searched(SNAPSHOT, "claim_harm_attribution")
        assert Answer.BROKEN is found.answer
        assert found.run is not None
        assert ["serve(r1)", "pause", "crash"] == [*map(str, found.run.actions)]
        assert "violated" == told(found, SNAPSHOT, tmp_path)

    def test_a_restore_before_serving_keeps_it(self) -> None:
        """A worker that restores the image after each crash recomputes nothing that is stored."""
        asks, losses = {"r1": "a", "r2": "a"}, 0
        for model, answer in (
            (ProcessFork(asks=asks, losses=losses), Answer.BROKEN),
            (Restoring(asks=asks, losses=losses), Answer.UNTESTED),
        ):
            assert answer is searched(SNAPSHOT, "offload_restorability", model).answer

    def test_a_lost_page_is_a_lost_copy(self) -> None:
        """The loss of the prompt's page is a lost copy of it; the loss of another page is not."""
        lost = {
            step.action.what[0]: [e.event.kind for e in step.emits if isinstance(e, Fact)]
            for step in transitions(ProcessFork())
            if step.action.name == "lose"
        }
        assert [Kind.HOST_COPY_LOST] == lost.pop("prompt")
        assert {"a0": [], "a1": [], "b0": [], "b1": []} == lost
