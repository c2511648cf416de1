"""Tests of models that state what cannot be: every command that takes a model refuses them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from models.__main__ import main as models
from models.framework.explore import LOADED, Step, check_facts, walk
from models.framework.model import Action, Emitted, Event, Fact, Model, Next, fact, signal
from models.framework.stepper import Stepper
from models.registry import RUNTIMES, model_of, runtime
from models.runtimes.vllm_pool import INFERENCES, VllmPool
from models.runtimes.vllm_pool.model import Prompt
from proofs.__main__ import main as proofs
from spec.events.alphabet import Kind
from spec.language.errors import SpecError

NAME: Final = "planted"


class Faulty(VllmPool):
    """A pool of which one action emits more than it should."""

    after: str = "finish"

    def more(self, action: Action, emits: tuple[Emitted, ...]) -> tuple[Any, ...]:
        """What the action emits, too."""
        raise NotImplementedError

    def apply(self, state: Any, action: Action) -> Next[Any]:
        """The pool after an action."""
        after, emits = super().apply(state, action)
        if action.name != self.after:
            return Next(after, emits)
        return Next(after, (*emits, *self.more(action, emits)))


class EndsTwice(Faulty):
    def more(self, action: Action, emits: tuple[Emitted, ...]) -> tuple[Any, ...]:
        return emits


class ArrivesTwice(Faulty):
    after = "arrive"

    def more(self, action: Action, emits: tuple[Emitted, ...]) -> tuple[Any, ...]:
        return emits


class CachesElsewhere(Faulty):
    """A block of the object, at another position: only a reader with a claim sees it."""

    after = "admit"

    def more(self, action: Action, emits: tuple[Emitted, ...]) -> tuple[Any, ...]:
        found = [e.event for e in emits if isinstance(e, Fact)]
        of = [e for e in found if e.kind is Kind.BLOCK_CACHED and e.object_id == "a"]
        where = {"request_id": str(action.what[0]), "object_id": "a", "positions": (1,)}
        return tuple(fact(Kind.BLOCK_CACHED, **where, block_ids=e.block_ids[:1]) for e in of)


class NoKind(Faulty):
    def more(self, action: Action, emits: tuple[Emitted, ...]) -> tuple[Any, ...]:
        return (fact("request_finnished"),)  # type: ignore[arg-type]


class NoKindByHand(Faulty):
    def more(self, action: Action, emits: tuple[Emitted, ...]) -> tuple[Any, ...]:
        return (Fact(Event(kind="request_finnished")),)  # type: ignore[arg-type]


class NoField(Faulty):
    def more(self, action: Action, emits: tuple[Emitted, ...]) -> tuple[Any, ...]:
        return (fact(Kind.BLOCK_LOST, priority=3),)


class WrongType(Faulty):
    def more(self, action: Action, emits: tuple[Emitted, ...]) -> tuple[Any, ...]:
        return (fact(Kind.BLOCK_LOST, block_ids=(1.5,)),)


class Changeable(Faulty):
    def more(self, action: Action, emits: tuple[Emitted, ...]) -> tuple[Any, ...]:
        return (fact(Kind.BLOCK_LOST, block_ids=[0]),)


class ChangeableCall(Faulty):
    def more(self, action: Action, emits: tuple[Emitted, ...]) -> tuple[Any, ...]:
        return (signal("keep", "a", block_ids=[0]),)


class Lacking(Faulty):
    def more(self, action: Action, emits: tuple[Emitted, ...]) -> tuple[Any, ...]:
        return (fact(Kind.REQUEST_FINISHED),)


class Stranger(Faulty):
    def more(self, action: Action, emits: tuple[Emitted, ...]) -> tuple[Any, ...]:
        return (fact(Kind.REQUEST_ARRIVED, request_id="r9", needed=1, usable=4),)


class NoEvent(Faulty):
    def more(self, action: Action, emits: tuple[Emitted, ...]) -> tuple[Any, ...]:
        return ("request_finished",)


FAULTY: Final[dict[type[Faulty], str]] = {
    EndsTwice: "a request ends that has not arrived or has already ended",
    ArrivesTwice: "a request arrives that is still unfinished",
    CachesElsewhere: "holds two contents, with no loss between",
    NoKind: "no kind of event 'request_finnished'",
    NoKindByHand: "no kind of event 'request_finnished'",
    NoField: "block_lost has no field priority",
    WrongType: "block_lost: Expected `int | str`, got `float`",
    Changeable: "block_lost with block_ids: unhashable type: 'list'",
    ChangeableCall: "keep with block_ids: unhashable type: 'list'",
    Lacking: "request_finished has no request_id",
    Stranger: "names r9, which is no request of it",
    NoEvent: "'request_finished' is no event and no signal",
}
"""Models that state what cannot be, each with what is said of it."""

COMMANDS: Final[dict[str, tuple[Callable[[list[str]], int], list[str]]]] = {
    "show": (models, ["show", NAME]),
    "walk": (models, ["walk", NAME]),
    "walk inferred": (models, ["walk", NAME, "--inference", "planted -> hard_protected"]),
    "check": (proofs, ["check", "hard_protected", "--runtime", NAME]),
    "compare": (proofs, ["compare", NAME]),
    "counterexamples": (proofs, ["counterexamples", "--runtime", NAME, "-o", "suite"]),
    "accepts": (proofs, ["accepts", NAME, "trace.jsonl"]),
}


@pytest.fixture
def plant(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[Callable[[], Model[Any]]], None]:
    """Adds a model to the registry, with an inference about it, for one test."""

    def add(make: Callable[[], Model[Any]]) -> None:
        module: Any = ModuleType(f"models.runtimes.{NAME}")
        of_pool = next(each for each in INFERENCES if each.name.startswith("write no-admit"))
        module.VARIANTS = {"usual": make}
        module.INFERENCES = (replace(of_pool, name="planted -> hard_protected", model=make),)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(RUNTIMES, NAME, "vllm_upstream")  # type: ignore[arg-type]
        runtime.cache_clear()

    monkeypatch.chdir(tmp_path)
    line = {"kind": "request_arrived", "request_id": "r1", "needed": 2, "usable": 4, "stream": "s"}
    Path("trace.jsonl").write_text(json.dumps({**line, "sequence": 0}) + "\n", encoding="utf-8")
    yield add  # type: ignore[misc]
    runtime.cache_clear()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("faulty", FAULTY, ids=lambda each: each.__name__)
def test_every_command_refuses(
    faulty: type[Faulty],
    command: str,
    plant: Callable[[Callable[[], Model[Any]]], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It exits with 2 and one line, which names the action and says why, and writes nothing."""
    plant(faulty)
    run, arguments = COMMANDS[command]
    assert 2 == run(arguments)
    out, error = capsys.readouterr()
    assert ("", 1) == (out, error.count("\n"))
    assert f"vllm_pool, action {faulty.after}(r" in error
    assert FAULTY[faulty] in error
    assert ["trace.jsonl"] == [each.name for each in Path().iterdir()]


@pytest.mark.parametrize("command", COMMANDS)
def test_without_a_fault_none_does(
    command: str,
    plant: Callable[[Callable[[], Model[Any]]], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The pool itself is refused by no command, so that the refusals are those of the faults."""
    plant(VllmPool)
    run, arguments = COMMANDS[command]
    assert run(arguments) in (0, 1)
    assert "cannot be" not in capsys.readouterr().err


class Long(VllmPool):
    """A pool of four requests, of which an action that only late states have ends one twice."""

    def __init__(self) -> None:
        prompts = [Prompt(f"r{n}", "a" if n % 2 else "b", 1, n) for n in range(1, 5)]
        super().__init__(8, tuple(prompts), {"a": 1, "b": 1})

    def apply(self, state: Any, action: Action) -> Next[Any]:
        """The pool after an action."""
        after, emits = super().apply(state, action)
        ends = len(after.ended) == len(self.requests) and action.name == "finish"
        return Next(after, emits * 2 if ends else emits)


LATE: Final = (
    ["walk", NAME, "--steps", "60"],
    pytest.param(["check", "hard_protected", "--runtime", NAME], marks=pytest.mark.deep),
)


@pytest.mark.parametrize("arguments", LATE)
def test_what_comes_late_is_refused_where_it_comes(
    arguments: Sequence[str],
    plant: Callable[[Callable[[], Model[Any]]], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A fault behind the states that are looked at first is refused by who comes to it."""
    plant(Long)
    check_facts(Long())
    assert 2 == (models if arguments[0] == "walk" else proofs)(list(arguments))
    out, error = capsys.readouterr()
    assert ("", 1) == (out, error.count("\n"))
    assert "vllm_pool, action finish(r" in error
    assert FAULTY[EndsTwice] in error


def test_a_run_is_refused_at_the_action() -> None:
    """Of a random run each step is given until the one that contradicts those before it."""
    model, steps = EndsTwice(), list[Step]()
    with pytest.raises(SpecError, match=r"action finish\(r\d\)"):
        steps.extend(walk(model, 0, 60, Stepper(model)))
    assert steps
    assert steps == list(walk(model, 0, len(steps)))
    assert "finish" not in {step.action.name for step in steps}


@pytest.mark.parametrize("name", RUNTIMES)
def test_no_model_of_the_registry_is_refused(name: str) -> None:
    """The models state what can be, each variant by itself, and as its inferences read it."""
    found = runtime(name)
    for variant in found.names:
        check_facts(model_of(variant))
    for each in found.inferences:
        check_facts(each.model(), each.shim, each.mode)


def test_symmetric_states_are_looked_at_once() -> None:
    """The states are those of the search: a pool of ten blocks has no more than one of six."""

    class Counted(VllmPool):
        calls = 0

        def apply(self, state: Any, action: Action) -> Next[Any]:
            type(self).calls += 1
            return super().apply(state, action)

    counts = []
    for blocks in (6, 10):
        Counted.calls = 0
        check_facts(Counted(blocks, (Prompt("r1", "a", 2, 1), Prompt("r2", "a", 2, 1))))
        counts.append(Counted.calls)
    assert counts[0] == counts[1] < LOADED
