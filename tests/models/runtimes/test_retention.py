from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from models.framework.explore import reach
from models.framework.inference import Inference
from models.framework.model import Action, Next, signal
from models.framework.shims import Shim
from models.runtimes import vllm_pool
from models.runtimes.retention.model import INFERENCES, Ask, Directive, Entry, Retention, State
from models.runtimes.vllm_pool import Prompt, VllmPool
from proofs.product.search import Answer, search
from spec.events.alphabet import Kind
from tests.models.runtimes.walk import breaking, searched, told, transitions

STALE, LOW, TTL, HINT, HIGHEST = INFERENCES
ORDER = "the victim has the lowest priority in the queue"

PROMPTS = (Prompt("r1", "a", 2, 0), Prompt("r2", "b", 0, 3), Prompt("r3", "a", 2, 1))

Pair = tuple[State, vllm_pool.State]


class TestSize:
    @pytest.mark.parametrize(
        ("model", "size"),
        [
            (Retention(), (927, 2042)),
            (Retention(generations=False), (1029, 2148)),
            (Retention(threshold=60), (943, 2017)),
        ],
        ids=["generations", "stale tuples", "threshold"],
    )
    def test_it_has_so_many_states(self, model: Retention, size: tuple[int, int]) -> None:
        """The queue has the states and transitions that it had, and every request can end."""
        found = reach(model)
        assert size == (found.states, found.transitions)
        assert () == found.missed


class TestStaleTuples:
    def test_an_old_tuple_decides(self) -> None:
        """Without generations a block at 90 is the victim as if it were at 50, before one at 70."""
        run = breaking(Retention(generations=False), ORDER)
        frees_twice = "arrive(a1) arrive(a2) arrive(b1) admit(a1) finish(a1) admit(a2)"
        assert [*frees_twice.split(), "admit(b1)", "finish(a2)", "finish(b1)"] == run

    def test_generations_leave_no_inversion(self) -> None:
        """With generations the victim has the lowest priority in every state."""
        assert () == reach(Retention()).broken

    def test_the_inversion_breaks_the_order(self, tmp_path: Path) -> None:
        """A shortest run evicts the block at 90 while one at 70 could be taken."""
        found = searched(STALE, "priority_influence")
        assert Answer.BROKEN is found.answer
        assert found.run is not None
        assert 22 == len(found.run.events(STALE.shim))
        evicted = [e for e in found.run.events(STALE.shim) if e.kind is Kind.BLOCK_EVICTED]
        assert [(0, 70)] == [(*event.block_ids, event.lowest_priority) for event in evicted]
        assert "violated" == told(found, STALE, tmp_path)

    def test_generations_keep_the_order(self) -> None:
        """With generations the block at 90 is no victim while one at 70 could be taken."""
        answer = searched(STALE, "priority_influence", Retention()).answer
        assert Answer.UNTESTED is answer

    def test_no_order_below_the_threshold(self, tmp_path: Path) -> None:
        """Two priorities below the threshold are one to the LRU list; above it they are two."""
        found = searched(LOW, "priority_influence")
        assert Answer.BROKEN is found.answer
        assert "violated" == told(found, LOW, tmp_path)
        above = Retention(asks=tuple(LOW.model().asks.values()), threshold=10)  # type: ignore[attr-defined]
        assert Answer.BROKEN is not searched(LOW, "priority_influence", above).answer


def together(asks: tuple[Ask, ...]) -> Iterator[Pair]:
    """Every pair of states that the queue and the pool reach by the same actions.

    Raises:
        AssertionError: one of them does or says what the other does not.
    """
    queue, pool = Retention(4, asks), VllmPool(4, PROMPTS, objects={})
    todo: list[Pair] = list(zip(queue.initial(), pool.initial(), strict=True))
    seen = {*todo}
    while todo:
        ours, theirs = pair = todo.pop()
        yield pair
        actions = list(queue.actions(ours))
        assert actions == list(pool.actions(theirs))
        for action in actions:
            one, other = queue.apply(ours, action), pool.apply(theirs, action)
            assert one.emits == other.emits
            new = (one.state, other.state)
            if new not in seen:
                seen.add(new)
                todo.append(new)


class TestLru:
    ASKS = tuple(Ask(*prompt[:4]) for prompt in PROMPTS)

    def test_without_directives_it_is_the_pool(self) -> None:
        """Nobody states a directive: it does and says what the LRU pool does, in every state."""
        pairs = list(together(self.ASKS))
        assert reach(VllmPool(4, PROMPTS, objects={})).states == len(pairs)
        assert all(ours[:5] == theirs[:5] and not any(ours[5:]) for ours, theirs in pairs)

    def test_with_a_directive_it_is_not(self) -> None:
        """One directive, and the queue is told apart from the LRU pool."""
        first, *rest = self.ASKS
        with pytest.raises(AssertionError):
            list(together((first._replace(directives=(Directive(50, 2),)), *rest)))


def entries(second: Ask, third: Ask | None = None, *, owns: bool = True) -> set[Entry | None]:
    """The entries of a block at 50 that scope s owns, after later requests of the same object."""
    first = Ask("x", "a", 1, directives=(Directive(50, 1),), scope="s")
    asks = (first, second, third) if third else (first, second)
    model = Retention(3, asks, escalator_owns=owns)
    last = Action("admit", (asks[-1].request_id,))
    before = [ask.request_id for ask in asks[:-1]]
    return {
        dict(step.after.sidecar).get(0)
        for step in transitions(model)
        if step.action == last and [*step.before.ended, *dict(step.before.running)] == before
    }


class TestOwnership:
    @pytest.mark.parametrize(
        ("directives", "scope", "priority", "owner"),
        [
            ((Directive(60, 1),), "t", 60, "t"),
            ((Directive(60, 1),), None, 60, None),
            ((Directive(40, 1),), "t", 50, "s"),
            ((Directive(40, 1),), None, 50, "s"),
            ((Directive(40, 1),), "s", 40, "s"),
            ((), "t", 50, "s"),
            ((), None, 50, "s"),
            (None, None, 50, "s"),
        ],
    )
    def test_who_may_change_an_entry(
        self,
        directives: tuple[Directive, ...] | None,
        scope: str | None,
        priority: int,
        owner: str | None,
    ) -> None:
        """Anyone may raise an entry; only its owner may lower it, and no one else clears it."""
        found = entries(Ask("y", "a", 1, directives=directives, scope=scope))
        assert {(priority, owner)} == {(e.priority, e.scope) for e in found if e is not None}
        assert None not in found

    def test_the_owner_clears(self) -> None:
        """Directives of the owner that do not match clear the entry."""
        assert {None} == entries(Ask("y", "a", 1, directives=(), scope="s"))

    @pytest.mark.parametrize(("owns", "left"), [(True, set()), (False, {60})])
    def test_a_stranger_raises_and_clears(self, owns: bool, left: set[int]) -> None:
        """If to raise an entry is to own it, a stranger clears it with a second request."""
        raises = Ask("y", "a", 1, directives=(Directive(60, 1),), scope="t")
        clears = Ask("z", "a", 1, directives=(), scope="t")
        found = entries(raises, clears, owns=owns)
        assert left == {each.priority for each in found if each is not None}


class Telling(Retention):
    """A queue that reports each expiry."""

    def apply(self, state: State, action: Action) -> Next[State]:
        after, emits = super().apply(state, action)
        reports = [
            signal("expired", each.holder, object_id=each.fields["object_id"], by="runtime")
            for each in emits
            if getattr(each, "name", "") == "ttl_elapsed"
        ]
        return Next(after, (*emits, *reports))


class TestInferences:
    @pytest.mark.parametrize(
        ("inference", "obligation", "run", "events"),
        [
            (TTL, "claim_expired_boundary", "arrive(a1) admit(a1) tick finish(a1)", 8),
            (HINT, "explicit_acceptance", "arrive(a1)", 3),
            (
                HIGHEST,
                "victim_exclusion_before_violation",
                "arrive(a1) admit(a1) arrive(c1) finish(a1) admit(c1)",
                11,
            ),
        ],
    )
    def test_a_run_breaks_it(
        self, inference: Inference, obligation: str, run: str, events: int, tmp_path: Path
    ) -> None:
        """A shortest run breaks the obligation, and the monitor says so of it."""
        found = searched(inference, obligation)
        assert Answer.BROKEN is found.answer
        assert found.run is not None
        assert run.split() == [*map(str, found.run.actions)]
        assert events == len(found.run.events(inference.shim))
        assert "violated" == told(found, inference, tmp_path)

    def test_a_reported_expiry_keeps_the_boundary(self) -> None:
        """A queue that reports each expiry breaks no boundary by it."""
        means = {**TTL.shim.means, "expired": Kind.CLAIM_EXPIRED}
        inference = replace(TTL, shim=Shim(TTL.mode, TTL.shim.accepts, means))
        model = Telling(asks=tuple(TTL.model().asks.values()))  # type: ignore[attr-defined]
        assert Answer.KEPT is searched(inference, "claim_expired_boundary", model).answer

    def test_an_applied_entry_is_accepted(self) -> None:
        """Taken of `applied` alone, acceptance follows the entry: it is `deferred` that claims."""
        means = {k: v for k, v in HINT.shim.means.items() if k != "deferred"}
        shim = Shim(HINT.mode, means=means)
        found = search(HINT.model(), shim, HINT.mode, "explicit_acceptance", "a1")
        assert Answer.KEPT is found.answer
