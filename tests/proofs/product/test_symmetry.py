"""States that differ in names alone are one, and nothing else comes of a search by that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from models.framework.model import Action, Model
from models.framework.shims import Shim
from models.framework.symmetry import relabelled, relabelled_emission, relabelled_state, renamings
from models.registry import RUNTIMES, runtime
from models.runtimes.vllm_pool import Prompt, VllmPool
from proofs.product.accepts import is_run
from proofs.product.graph import Graph
from proofs.product.search import search
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle

KEEP = frozenset({"keep"})
REQUESTS = VllmPool(
    3, (Prompt("r1", "a", 1, 0), Prompt("r2", "b", 0, 2), Prompt("r3", "b", 0, 2)), {"a": 1}
)
CLAIMS = VllmPool(
    3,
    (Prompt("r1", "a", 1, 0), Prompt("r2", "b", 1, 1), Prompt("r3", "c", 1, 1)),
    {"a": 1, "b": 1, "c": 1},
)
POOLS = {"requests": REQUESTS, "claims": CLAIMS}
REACHED = 3_000

ASKED = [
    pytest.param(Mode.HARD_PROTECTED, "claim_identity", marks=pytest.mark.deep),
    pytest.param(Mode.HARD_PROTECTED, "victim_exclusion_before_violation", marks=pytest.mark.deep),
    pytest.param(Mode.HARD_PROTECTED, "claim_harm_attribution", marks=pytest.mark.deep),
    pytest.param(Mode.EXPIRING, "claim_expired_boundary", marks=pytest.mark.deep),
    (Mode.BEST_EFFORT, "claim_scoped_telemetry"),
]
EVERY = [(mode, name) for mode in Mode for name in MODES[mode].names(Bundle.CONTRACT)]


def compare(model: VllmPool, mode: Mode, name: str) -> tuple[int, int, int, int]:
    """States and transitions, with symmetry and of the full product; the rest is the same."""
    shim = Shim(mode, KEEP)
    one = search(model, shim, mode, name, "a")
    all_ = search(model, shim, mode, name, "a", symmetric=False)
    assert one.answer is all_.answer
    assert (one.run is None) is (all_.run is None)
    if one.run is not None and all_.run is not None:
        events = one.run.events(shim)
        assert len(all_.run.events(shim)) == len(events)
        assert is_run(model, shim, events)
    return one.states, one.transitions, all_.states, all_.transitions


@pytest.mark.slow
@pytest.mark.parametrize("which", POOLS)
@pytest.mark.parametrize(("mode", "name"), ASKED)
def test_the_full_product_says_the_same(which: str, mode: Mode, name: str) -> None:
    """The answer and the length of the run are those of the full product, in fewer states."""
    ours, _, whole, _ = compare(POOLS[which], mode, name)
    assert ours < whole


@pytest.mark.slow
@pytest.mark.parametrize("which", POOLS)
@pytest.mark.parametrize(("mode", "name"), EVERY)
@pytest.mark.deep
def test_of_each_obligation(which: str, mode: Mode, name: str) -> None:
    """So they are for each obligation of each mode."""
    compare(POOLS[which], mode, name)


def test_counts() -> None:
    """So many states and transitions there are, with symmetry and without."""
    identity, victim = "claim_identity", "victim_exclusion_before_violation"
    mode = Mode.HARD_PROTECTED
    assert compare(REQUESTS, mode, identity) == (271, 492, 718, 1185)
    assert compare(REQUESTS, mode, victim) == (261, 464, 680, 1095)


@pytest.mark.deep
def test_counts_of_claims() -> None:
    """So many there are where claims are symmetric, too."""
    found = compare(CLAIMS, Mode.HARD_PROTECTED, "claim_identity")
    assert found == (8471, 17593, 21464, 42663)


def automorphic(model: Model[Any], names: dict[str, str]) -> Iterator[bool]:
    """Of each state near the first, whether its transitions under other names are those of it."""
    todo, seen = list(model.initial()), set(model.initial())
    for state in todo:
        theirs = set(_leaving(model, relabelled_state(model, state, names), {}))
        yield theirs == set(_leaving(model, state, names))
        for action in model.actions(state):
            after = model.apply(state, action).state
            if after not in seen and len(seen) < REACHED:
                seen.add(after)
                todo.append(after)


def _leaving(model: Model[Any], state: Any, names: dict[str, str]) -> Iterator[tuple[Any, ...]]:
    for action in model.actions(state):
        after, emits = model.apply(state, action)
        by: Action = relabelled(action, names)
        reached = relabelled_state(model, after, names) if names else after
        yield by, reached, tuple(relabelled_emission(each, names) for each in emits)


@pytest.mark.slow
def test_what_is_interchangeable_is() -> None:
    """Of every model that states rows, in every state, other names make the same transitions."""
    models = [make() for name in RUNTIMES for make in runtime(name).variants.values()]
    found = 0
    for model in (*models, *POOLS.values()):
        for names in renamings(model):
            assert all(automorphic(model, names)), model.name
            found += 1
    assert found >= len(POOLS)


def test_what_is_not_is_found() -> None:
    """A model that calls requests interchangeable that need different blocks is found."""

    class Careless(VllmPool):
        @property
        def interchangeable(self) -> Iterable[Iterable[tuple[str, ...]]]:
            return ((("r1",), ("r2",)),)

    (names,) = renamings(Careless())
    assert not all(automorphic(Careless(), names))


def test_the_claim_that_is_judged_keeps_its_name() -> None:
    """Only what is interchangeable without it is renamed."""
    pair = VllmPool(3, (Prompt("r1", "a", 1, 0), Prompt("r2", "b", 1, 0)), {"a": 1, "b": 1})
    assert list(renamings(pair))
    assert not list(renamings(pair, ("a",)))


def test_numbers_of_states() -> None:
    """A graph with symmetry has fewer states than one with that of blocks, and that than all."""
    graphs = [
        Graph(CLAIMS, symmetric=False),
        Graph(CLAIMS),
        Graph(CLAIMS, fixed=("a",)),
    ]
    for graph in graphs:
        for number, _ in enumerate(graph.states):
            graph.leaving(number)
    assert [1984, 1504, 756] == [len(graph.states) for graph in graphs]
