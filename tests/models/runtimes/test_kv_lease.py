"""The model of leases of KV blocks between two engines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from models.framework.explore import reach
from models.framework.model import Action
from models.runtimes.kv_lease import INFERENCES, VARIANTS, KvLease, Lease, Reader, State
from proofs.product.search import Answer
from spec.claims.states import Mode
from tests.models.runtimes.judged import Found, found, kinds, transitions

R, RF = "offload_restorability", "restoration_failure_outcome"
SHIM = INFERENCES[0].shim


def _found(model: KvLease, obligation: str, folder: Path) -> Found:
    return found(model, Mode.OFFLOADABLE, obligation, "a", folder, SHIM)


@pytest.mark.parametrize(
    ("model", "states", "moves"),
    [
        (VARIANTS["heartbeats"](), 33, 50),
        (VARIANTS["checks"](), 26, 44),
        (KvLease({"a": 1, "b": 2}), 801, 2404),
    ],
)
def test_size(model: KvLease, states: int, moves: int) -> None:
    """Each has so many states and transitions, and its properties hold."""
    found = reach(model)
    assert (found.states, found.transitions) == (states, moves)
    assert found.broken == found.missed == ()


def test_served_from_released_blocks(tmp_path: Path) -> None:
    """Without a heartbeat the blocks are released and given away, and the request reads them."""
    run = _found(KvLease(), R, tmp_path)
    assert (run.answer, run.rule) == (Answer.BROKEN, "restore_reported_while_incomplete")
    assert run.actions[:5] == ["prefill(a)", "tick", "tick", "tick", "reap(a)"]
    assert run.actions[-2:] == ["reuse(a)", "read(a)"]
    assert "load_failed" not in kinds(run.events)  # the read itself succeeds


def test_check(tmp_path: Path) -> None:
    """With a check the request does not read, and its error names no claim."""
    assert _found(KvLease(checks=True), R, tmp_path).answer is Answer.KEPT
    run = _found(KvLease(checks=True), RF, tmp_path)
    assert (run.answer, run.rule) == (Answer.BROKEN, "outcome_not_reported")
    assert kinds(run.events)[-2:] == ["load_failed", "request_finished"]


class _Punctual(KvLease):
    """The request comes at once, and a heartbeat in each step while it waits."""

    def actions(self, state: State) -> Iterator[Action]:
        late = Reader.ABSENT in state.readers or not state.beat
        for action in super().actions(state):
            if action.name != "tick" or not (Lease.HELD in state.leases and late):
                yield action


def test_heartbeats(tmp_path: Path) -> None:
    """Heartbeats in each step keep the lease, if each extends it by more than a step."""
    assert _found(_Punctual(), R, tmp_path).answer is Answer.KEPT
    short = _found(_Punctual(extension=1), R, tmp_path)
    assert short.answer is Answer.BROKEN
    assert short.actions.count("heartbeat") == short.actions.count("tick") == 3


def test_a_heartbeat_shortens_nothing() -> None:
    """A heartbeat never makes a lease shorter, and none brings back one that is over."""
    for before, action, after, _ in transitions(KvLease({"a": 1, "b": 1})):
        if action.name == "heartbeat":
            assert after.leases == before.leases
            assert all(new >= old for new, old in zip(after.left, before.left, strict=True))


class _Generous(KvLease):
    """Planted: blocks whose lease is over are given to nobody."""

    def actions(self, state: State) -> Iterator[Action]:
        return (each for each in super().actions(state) if each.name != "reuse")


def test_released_and_intact(tmp_path: Path) -> None:
    """Planted: where blocks that were released stay as they are, nothing is broken."""
    for name in (R, "claim_harm_attribution"):
        assert _found(_Generous(), name, tmp_path).answer in {Answer.KEPT, Answer.UNTESTED}


def test_inference(tmp_path: Path) -> None:
    """The inference is refuted in the line where the restore is reported."""
    (it,) = INFERENCES
    run = found(it.model(), it.mode, R, it.tracked, tmp_path, it.shim)
    assert (run.answer, run.line) == (Answer.BROKEN, 10)
    assert kinds(run.events)[9] == "claim_restored"
