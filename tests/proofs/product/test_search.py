"""The search finds what a product with everything at once finds, and the shortest run to it."""

from __future__ import annotations

import gc
from collections import deque
from typing import Any

import pytest

from models.framework.explore import reach, walk
from models.framework.model import Action, Next, fact
from models.framework.shims import Shim, claim_of, events_of
from models.runtimes.vllm_pool import Prompt, VllmPool
from proofs.product.accepts import is_run
from proofs.product.search import Answer, search, search_each
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.events.alphabet import Kind
from spec.language.errors import SpecError
from spec.language.verdicts import Verdict
from spec.stream.breaks import Line
from spec.stream.judge import Judge
from spec.stream.value import freeze, thaw
from tests.proofs.judging import judged

PROMPTS = (Prompt("r1", "a", 1, 0), Prompt("r2", "b", 1, 1))
SMALL = VllmPool(3, PROMPTS, {"a": 1, "b": 1})
KEEP = frozenset({"keep"})

LONG = (Mode.HARD_PROTECTED, Mode.OFFLOADABLE, Mode.EXPIRING, Mode.DEMOTABLE)
MODES_QUICK = [pytest.param(m, marks=pytest.mark.slow) if m in LONG else m for m in Mode]
"""The modes with obligations that read the whole pool take longer."""


def everything(mode: Mode, names: tuple[str, ...]) -> dict[str, set[Verdict]]:
    """Each verdict that each obligation has in some state of the whole product.

    Nothing is left out of what the judge knows of any claim, and what is violated goes on.
    """
    shim, judge = Shim(mode, KEEP), Judge(mode)

    def verdicts() -> dict[str, Verdict]:
        claim = judge.claims.get(claim_of("a"))
        findings = {} if claim is None else claim.findings()
        return {n: findings[n].verdict if findings else Verdict.UNEXERCISED for n in names}

    found: dict[str, set[Verdict]] = {name: {verdict} for name, verdict in verdicts().items()}
    first = [(state, freeze(judge)) for state in SMALL.initial()]
    seen, todo = set(first), deque(first)
    while todo:
        state, frozen = todo.popleft()
        for action in SMALL.actions(state):
            after, emits = SMALL.apply(state, action)
            thaw(judge, frozen)
            for event in events_of(shim, emits):
                judge.take(Line(1, (event,)))
            assert judge.breaks == []
            for name, verdict in verdicts().items():
                found[name].add(verdict)
            reached = (after, freeze(judge))
            if reached not in seen:
                seen.add(reached)
                todo.append(reached)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES_QUICK)
def test_one_obligation_at_a_time_is_all_at_once(mode: Mode) -> None:
    """An obligation that is searched for by itself comes to what the whole product comes to."""
    names = tuple(MODES[mode].names(Bundle.CONTRACT))
    whole = everything(mode, names)
    for name in names:
        found = search(SMALL, Shim(mode, KEEP), mode, name, "a")
        assert (found.answer is Answer.BROKEN) == (Verdict.VIOLATED in whole[name]), name
        if found.answer is Answer.KEPT:
            assert Verdict.SATISFIED in whole[name]
        if found.answer is Answer.UNTESTED:
            assert whole[name] <= {Verdict.UNEXERCISED, Verdict.PENDING}


@pytest.mark.parametrize("mode", MODES_QUICK)
def test_blocks_are_symmetric(mode: Mode) -> None:
    """Where blocks that look alike are one, the same is found, in runs of the same length."""
    for name in MODES[mode].names(Bundle.CONTRACT):
        one, all_ = (
            search(SMALL, Shim(mode, KEEP), mode, name, "a", symmetric=symmetric)
            for symmetric in (True, False)
        )
        assert one.answer is all_.answer, name
        assert one.states <= all_.states
        if one.run is not None and all_.run is not None:
            events = one.run.events(Shim(mode, KEEP))
            assert len(events) == len(all_.run.events(Shim(mode, KEEP))), name
            assert is_run(SMALL, Shim(mode, KEEP), events), name


def test_names_do_not_matter() -> None:
    """Claims, requests and blocks are symmetric: with other names the same is found."""
    other = VllmPool(3, (Prompt("x", "q", 1, 0), Prompt("y", "p", 1, 1)), {"q": 1, "p": 1})
    mode = Mode.HARD_PROTECTED
    for name in ("victim_exclusion_before_violation", "ordered_lifecycle_events"):
        one = search(SMALL, Shim(mode, KEEP), mode, name, "a")
        two = search(other, Shim(mode, KEEP), mode, name, "q")
        assert (one.answer, one.states, one.transitions) == (
            two.answer,
            two.states,
            two.transitions,
        )


def test_the_run_is_a_run_and_breaks_at_its_end() -> None:
    """The run is one of the model, the reference breaks at its last event, and at none before."""
    model, mode = VllmPool(), Mode.HARD_PROTECTED
    shim = Shim(mode, KEEP)
    found = search(model, shim, mode, "victim_exclusion_before_violation", "a")
    assert found.run is not None
    events = found.run.events(shim)
    assert is_run(model, shim, events)
    verdicts = [
        claims[claim_of("a")].findings()["victim_exclusion_before_violation"].verdict
        if claim_of("a") in (claims := judged(events[:end], mode).claims)
        else Verdict.UNEXERCISED
        for end in range(1, len(events) + 1)
    ]
    first = verdicts.index(Verdict.VIOLATED)
    assert first == 8
    assert set(verdicts[first:]) == {Verdict.VIOLATED}


def test_no_event_can_be_left_out() -> None:
    """Without any one event the stream is no run of the model, or breaks nothing."""
    model, mode, name = VllmPool(), Mode.HARD_PROTECTED, "victim_exclusion_before_violation"
    shim = Shim(mode, KEEP)
    found = search(model, shim, mode, name, "a")
    assert found.run is not None
    events = found.run.events(shim)[:9]
    for left_out in range(len(events)):
        rest = events[:left_out] + events[left_out + 1 :]
        claim = judged(rest, mode).claims.get(claim_of("a"))
        breaks = claim is not None and claim.findings()[name].verdict is Verdict.VIOLATED
        assert not (breaks and is_run(model, shim, rest))


def test_a_bound_is_said() -> None:
    """A search that stops at its bound says so, and not that the obligation is kept."""
    mode = Mode.HARD_PROTECTED
    found = search(SMALL, Shim(mode, KEEP), mode, "claim_identity", "a", limit=5)
    assert found.answer is Answer.BOUNDED


def test_an_interrupt_leaves_what_was_found() -> None:
    """Ctrl-C ends a search with an answer that says that it was stopped."""

    class Interrupted(VllmPool):
        def actions(self, state: Any) -> Any:
            if state.running:
                raise KeyboardInterrupt
            return super().actions(state)

    mode = Mode.HARD_PROTECTED
    found = search(Interrupted(), Shim(mode, KEEP), mode, "claim_identity", "a")
    assert found.answer is Answer.STOPPED
    (each,) = search_each(Interrupted(), Shim(mode, KEEP), mode, "a").values()
    assert each.answer is Answer.STOPPED


def test_facts_that_contradict_are_refused() -> None:
    """A model that ends a request twice is refused, and the action is named."""

    class Twice(VllmPool):
        def apply(self, state: Any, action: Action) -> Next[Any]:
            after, emits = super().apply(state, action)
            if action.name == "finish":
                emits += (fact(Kind.REQUEST_FINISHED, request_id=str(action.what[0])),)
            return Next(after, emits)

    mode = Mode.HARD_PROTECTED
    with pytest.raises(SpecError, match=r"action finish\(r\d\)"):
        search(Twice(), Shim(mode, KEEP), mode, "blocking_claim_ids", "a")


@pytest.mark.parametrize(
    ("emits", "says"),
    [
        (lambda: fact("nonsense"), "there is no kind of event 'nonsense'"),  # type: ignore[arg-type]
        (lambda: fact(Kind.REQUEST_FINISHED, priority=3), "request_finished has no field priority"),
        (lambda: "hello", "'hello' is no event and no signal"),
    ],
    ids=["no kind", "no field", "no event"],
)
def test_what_is_no_event_is_refused(emits: Any, says: str) -> None:
    """A model that emits it is refused, whoever asks, and the action is named."""

    class Strange(VllmPool):
        def apply(self, state: Any, action: Action) -> Next[Any]:
            after, said = super().apply(state, action)
            return Next(after, (*said, emits()) if action.name == "finish" else said)

    mode = Mode.HARD_PROTECTED
    refused = rf"vllm_pool, action finish\(r\d\) in State.*: {says}"
    with pytest.raises(SpecError, match=refused):
        search(Strange(), Shim(mode, KEEP), mode, "claim_identity", "a")
    with pytest.raises(SpecError, match=refused):
        list(walk(Strange(), 0, 60))
    with pytest.raises(SpecError, match=refused):
        reach(Strange())


@pytest.mark.parametrize("collects", [True, False])
def test_the_collector_is_as_before(collects: bool) -> None:
    """A search has the collector stay away, and leaves it as it was, also where it raises."""
    mode, seen = Mode.HARD_PROTECTED, set[bool]()

    class Looking(VllmPool):
        def actions(self, state: Any) -> Any:
            seen.add(gc.isenabled())
            if state.ended:
                raise SpecError("enough")
            return super().actions(state)

    was = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        with pytest.raises(SpecError, match="enough"):
            search(Looking(), Shim(mode, KEEP), mode, "claim_identity", "a")
        assert ({False}, collects) == (seen, gc.isenabled())
        search(SMALL, Shim(mode, KEEP), mode, "claim_identity", "a", limit=5)
        assert collects is gc.isenabled()
    finally:
        (gc.enable if was else gc.disable)()
