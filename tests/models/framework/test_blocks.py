"""Of several blocks with one content the one that was cached first is found."""

from __future__ import annotations

from models.framework.blocks import filed, filed_again, hits
from models.framework.explore import reach
from models.framework.model import Action
from models.runtimes.vllm_pool import Prompt, State, VllmPool

X, Y = ("x", 0), ("y", 0)


def test_the_first_is_found() -> None:
    """A block with a higher number may have been cached first; then the others in their order."""
    assert {X: [2, 0, 1]} == filed((X, X, X), again=(0, 1))
    assert (2,) == hits((X, X, X), [X, Y], again=(0, 1))


def test_without_the_first() -> None:
    """Where the first lost its content, the second is found, and is no later one any more."""
    again = filed_again((X, X, None), (0, 1), ())
    assert ((1,), (0,)) == (again, hits((X, X, None), [X], again))


def test_cached_again_in_its_place() -> None:
    """A block that lost a content and caches it again is the last that did."""
    again = filed_again((X, X), (1,), [0])
    assert ((0,), (1,)) == (again, hits((X, X), [X], again))


def test_another_content() -> None:
    """A later block that caches something else is the first with that."""
    assert () == filed_again((X, Y), (1,), [1])


EXACT = tuple(Prompt(f"r{at}", "a", 1, 0, exact=True) for at in range(3))
LONG = Prompt("long", "a", 1, 1)


def test_an_unused_block_before_one_in_use() -> None:
    """A prompt finds the unused block that was cached first, and not the later one in use."""
    model = VllmPool(4, (*EXACT, LONG), {})
    (state,) = model.initial()
    for step, name in (
        ("arrive", "r0"), ("admit", "r0"), ("finish", "r0"),
        ("arrive", "r1"), ("admit", "r1"), ("arrive", "long"), ("admit", "long"),
    ):  # fmt: skip
        state = model.apply(state, Action(step, (name,))).state
    blocks = dict(state.running)
    assert (("a", 0),) * 2 == (state.cached[blocks["r1"][0]], state.cached[blocks["long"][0]])
    assert (0, 1) == (blocks["long"][0], blocks["r1"][0])
    assert (1,) == state.again


def test_symmetry() -> None:
    """Blocks that are renamed keep their order: what can be reached is the same up to names."""

    class Plain(VllmPool):
        """Names of requests are not exchanged."""

        interchangeable = ()

    model = Plain(3, (*EXACT, LONG), {})
    seen, todo = set[State](), [*model.initial()]
    while todo:
        state = todo.pop()
        if state not in seen:
            seen.add(state)
            todo += [model.apply(state, each).state for each in model.actions(state)]
    assert any(state.again for state in seen)
    assert len({model.canonical(state)[0] for state in seen}) == reach(model, symmetric=True).states
