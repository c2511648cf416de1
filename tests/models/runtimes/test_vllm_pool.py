"""The block pool of vLLM loses what nobody protects; with hard exclusion it refuses instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.framework.explore import reach
from models.framework.shims import PLAIN, Shim
from models.runtimes.vllm_pool import Policy, Prompt, State, VllmPool
from models.runtimes.vllm_pool_exclusion import VllmPoolExclusion
from monitor import check_files
from proofs.product.search import Answer, search
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.events.canonical import as_jsonl
from tests.models.runtimes.symmetric import counts

HARD = Mode.HARD_PROTECTED
KEEP = Shim(HARD, frozenset({"keep"}))
VICTIM = "victim_exclusion_before_violation"


@pytest.mark.parametrize(
    ("model", "counts"),
    [
        (VllmPool(), (34, 57)),
        (VllmPool(policy=Policy.NO_ADMIT), (34, 57)),
        (VllmPoolExclusion(), (35, 49)),
        (
            VllmPool(6, (Prompt("r1", "a", 2, 1), Prompt("r2", "b", 2, 2)), {"a": 2, "b": 2}),
            (85, 168),
        ),
    ],
    ids=["native", "no-admit", "exclusion", "two claims"],
)
def test_counts(model: VllmPool, counts: tuple[int, int]) -> None:
    """The instances have so many states and transitions, and their properties hold."""
    found = reach(model)
    assert counts == (found.states, found.transitions)
    assert not found.broken


@pytest.mark.parametrize(
    ("blocks", "counts"), [(4, ((34, 57), (34, 57))), (6, ((660, 1493), (470, 1161)))]
)
def test_counts_with_symmetry(blocks: int, counts: tuple[tuple[int, int], ...]) -> None:
    """Without and with symmetry of blocks there are so many states and transitions."""
    prompts = (Prompt("r1", "a", 2, 1), Prompt("r2", "b", 2, 1), Prompt("r3", "a", 2, 2))
    model = VllmPool() if blocks == 4 else VllmPool(6, prompts, {"a": 2, "b": 2})
    found = [reach(model, symmetric=each) for each in (False, True)]
    assert counts == tuple((each.states, each.transitions) for each in found)


def test_what_was_asked_for_can_be_gone() -> None:
    """Some run of the native pool loses a prefix that somebody wants to keep."""
    assert not reach(VllmPool()).missed


@pytest.mark.parametrize("policy", Policy)
def test_a_prefix_is_a_victim(policy: Policy, tmp_path: Path) -> None:
    """A prefix that was computed, finished and asked for is evicted for the next request.

    Whether that request's blocks are admitted to the cache makes no difference.
    """
    found = search(VllmPool(policy=policy), KEEP, HARD, VICTIM, "a")
    assert found.answer is Answer.BROKEN
    assert found.run is not None
    names = [str(action) for action in found.run.actions]
    assert [
        *("arrive(r1)", "admit(r1)", "finish(r1)", "keep(a)", "arrive(r2)", "admit(r2)")
    ] == names
    path = tmp_path / "run.jsonl"
    path.write_bytes(as_jsonl(found.run.events(KEEP)))
    report = check_files([str(path)])
    assert "violated" == report.verdict


def test_exclusion_keeps_all_but_harm() -> None:
    """With hard exclusion every obligation is kept; of harm there is no occasion."""
    answers = {
        name: search(VllmPoolExclusion(), PLAIN, HARD, name, "a").answer
        for name in MODES[HARD].names(Bundle.CONTRACT)
    }
    assert Answer.UNTESTED is answers.pop("claim_harm_attribution")
    assert {Answer.KEPT} == set(answers.values())


class Mru(VllmPool):
    """Takes from the tail of the queue."""

    def _victims(self, state: State, free: tuple[int, ...], need: int) -> tuple[int, ...]:
        return free[len(free) - need :]


class Careless(VllmPoolExclusion):
    """Excludes nothing."""

    def _victims(self, state: State, free: tuple[int, ...], need: int) -> tuple[int, ...]:
        return free[:need]


class Silent(VllmPoolExclusion):
    """Names no claim in a refusal."""

    def _blocking(self, state: State, prompt: Prompt) -> list[str]:
        return []


def test_another_order_of_eviction_is_found() -> None:
    """Taken from the tail, two blocks of the prefix go for a request that the head could serve."""
    one = (Prompt("r1", "a", 2, 0), Prompt("r2", "b", 0, 2))
    assert search(VllmPool(4, one), KEEP, HARD, VICTIM, "a").answer is not Answer.BROKEN
    assert search(Mru(4, one), KEEP, HARD, VICTIM, "a").answer is Answer.BROKEN


def test_refusals_that_name_no_claim_are_found() -> None:
    """A refusal without blocking claims breaks blocking_claim_ids."""
    found = search(Silent(), PLAIN, HARD, "blocking_claim_ids", "a")
    assert found.answer is Answer.BROKEN


def test_exclusion_that_excludes_nothing_is_found() -> None:
    """Without the exclusion, a prefix in front of the queue is a victim though the request fits."""
    prompts = (Prompt("r1", "a", 1, 0), Prompt("r2", "b", 0, 2), Prompt("r3", "c", 0, 1))
    model = Careless(3, prompts, {"a": 1})
    assert search(model, PLAIN, HARD, VICTIM, "a").answer is Answer.BROKEN
    whole = search(VllmPoolExclusion(3, prompts, {"a": 1}), PLAIN, HARD, VICTIM, "a")
    assert whole.answer is Answer.UNTESTED


@pytest.mark.parametrize(
    "name", ["claim_identity", "footprint_accounting", VICTIM, "blocking_claim_ids"]
)
def test_two_claims_two_requests_six_blocks(name: str) -> None:
    """The pool with 2 claims, 2 requests and 6 blocks is searched whole, in so many states."""
    model = VllmPool(6, (Prompt("r1", "a", 2, 2), Prompt("r2", "b", 2, 2)), {"a": 2, "b": 2})
    found = search(model, KEEP, HARD, name, "a")
    assert (297, 453) == (found.states, found.transitions)
    assert found.answer in (Answer.KEPT, Answer.UNTESTED)


@pytest.mark.parametrize("kind", [VllmPool, VllmPoolExclusion])
def test_symmetry(kind: type[VllmPool]) -> None:
    """Requests of one shape are alike, with and without claims."""
    prompts = (Prompt("r1", "a", 1, 0), Prompt("r2", "b", 0, 2), Prompt("r3", "b", 0, 2))
    assert ((248, 502), (98, 217)) == counts(kind(3, prompts, {"a": 1}), "a")
