"""Tests of the figures that are measured of an engine; tests_vllm measures a real one."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from models.simulation.calibrate import Run, engine_arguments, measure
from models.simulation.cost import Cost, read_cost
from spec.cli.common import json_page
from spec.cli.console import main
from spec.language.errors import SpecError


@dataclass
class Exact:
    """An engine whose times are known: those of the cost model, with one late run in seven."""

    prefill: float = 8_000.0
    decode: float = 0.02
    step: float = 0.05
    load: float = 500.0
    tiers: bool = True
    lost: bool = False
    block: int = 16
    longest: int = 4096
    vocabulary: int = 1000
    about: dict[str, str] = field(default_factory=dict)
    runs: int = 0
    gpu: set[tuple[int, ...]] = field(default_factory=set)
    tier: set[tuple[int, ...]] = field(default_factory=set)

    def run(self, prompt: list[int], output: int) -> Run:
        """Serve a prompt."""
        self.runs += 1
        blocks = (len(prompt) - 1) // self.block
        key = tuple(prompt)
        loaded = blocks if key in self.tier and key not in self.gpu else 0
        cached = blocks * self.block if key in self.gpu | self.tier else 0
        self.gpu.add(key)
        if self.tiers and not self.lost:
            self.tier.add(key)
        seconds = self.step + (len(prompt) - cached) / self.prefill + loaded / self.load
        late = 1.0 if self.runs % 7 == 0 else 0.0
        return Run(seconds + self.decode * (output - 1) + late, cached)

    def forget(self) -> None:
        """Empty the first cache."""
        self.gpu.clear()


def test_known_times() -> None:
    """The figures of a known engine come out, though one run in seven takes a second longer."""
    found = measure(Exact())
    cost = found.cost
    assert (8000.0, 0.02, 0.05) == pytest.approx(
        (cost.prefill_tokens_s, cost.decode_s, cost.step_s)
    )
    assert 500.0 == pytest.approx(cost.load_blocks_s)
    assert [256, 512, 1024, 2048] == [size for size, _ in found.measured["prefill"]]


def test_loads_that_count() -> None:
    """The first prompt does not count, and each later one does, also where the first was lost."""
    engine = Exact()
    forgotten = iter(range(9))

    def forget() -> None:
        engine.gpu.clear()
        if next(forgotten) == 0:
            engine.tier.clear()

    engine.forget = forget  # type: ignore[method-assign]
    assert 3 == len(measure(engine).measured["load_blocks_s"])


@pytest.mark.parametrize("engine", [Exact(tiers=False), Exact(lost=True)])
def test_no_loads(engine: Exact) -> None:
    """Without a tier, or with one that has lost the blocks, no speed of loads is stated."""
    found = measure(engine)
    assert found.cost.load_blocks_s is None
    assert found.measured["load_blocks_s"] is None


@pytest.mark.parametrize(
    ("engine", "lengths", "says"),
    [
        (Exact(), [100], "two or more lengths"),
        (Exact(), [100, 100], "two or more lengths"),
        (Exact(), [0, 100], "two or more lengths"),
        (Exact(), [100, 4090], "up to 4063"),
        (Exact(prefill=-5.0), None, "did not take longer"),
        (Exact(decode=0.0), None, "longer answers"),
    ],
)
def test_what_cannot_be_measured(engine: Exact, lengths: list[int] | None, says: str) -> None:
    """Lengths that do not fit, and times that do not grow, are refused."""
    with pytest.raises(SpecError, match=says):
        measure(engine, lengths)


@pytest.mark.parametrize("tiers", [True, False])
def test_cost_file(tiers: bool, tmp_path: Path) -> None:
    """The simulation reads what is written; without a tier it has its own figure for loads."""
    found = measure(Exact(tiers=tiers))
    (tmp_path / "cost.json").write_bytes(json_page(found))
    cost = read_cost(tmp_path / "cost.json")
    assert found.cost.prefill_tokens_s == cost.prefill_tokens_s
    assert cost.load_blocks_s == pytest.approx(500.0 if tiers else Cost().load_blocks_s)


def test_arguments() -> None:
    """Engine arguments are one JSON object."""
    assert {} == engine_arguments(None)
    assert {"seed": 1} == engine_arguments('{"seed": 1}')
    for text in ("[1]", "{", '{"a": 1, "a": 2}'):
        with pytest.raises(SpecError, match="--engine"):
            engine_arguments(text)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--engine", "3"], "--engine"),
        (["--lengths", "a,b"], "--lengths"),
        (["--model", "none"], "has no config.json"),
        ([], "vLLM cannot be imported"),
    ],
)
def test_the_command(
    options: list[str], says: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is wrong is said before an engine starts, also that there is none."""
    monkeypatch.setitem(__import__("sys").modules, "vllm", None)
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    output = tmp_path / "cost.json"
    given = ["calibrate", "--model", str(tmp_path), "-o", str(output), *options]
    assert 2 == main(given)
    assert says in capsys.readouterr().err
    assert not output.exists()


def test_the_model_stays(tmp_path: Path, capsys: Any) -> None:
    """The cost file is not written over the config of the model."""
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    given = ["calibrate", "--model", str(tmp_path), "-o", str(tmp_path / "config.json")]
    assert 2 == main(given)
    assert "it is also an input" in capsys.readouterr().err
