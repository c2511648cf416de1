"""Measures a real engine for the cost model of a simulation, and writes the figures.

Prompts of random tokens are computed one after another by an idle engine. The time of a prompt is
fitted as `step_s` and its tokens by `prefill_tokens_s`. A token of an answer takes what a longer
answer takes more. With an offload tier, the GPU's cache is emptied, and the same prompt is loaded.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from random import Random
from statistics import linear_regression, median
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import msgspec

from models.simulation.cost import SCHEMA
from spec.files.json_text import decode_json
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Figures", "Measured", "Timed", "engine_arguments", "measure"]

REPEATS: Final = 3
"""Runs of which the median counts, after one that does not."""

_ANSWER: Final = 33
_IDLE: Final = "run it on an idle machine, or give longer --lengths"


class Run(NamedTuple):
    """One request: its seconds, and the tokens of its prompt that were not computed."""

    seconds: float
    cached: int


class Timed(Protocol):
    """An idle engine that serves one request at a time.

    Attributes:
        block: tokens of a block.
        longest: the most tokens of a prompt with its answer.
        vocabulary: token ids are below it.
        tiers: whether a connector loads blocks from another tier.
        about: what the engine is, for the file.
    """

    block: int
    longest: int
    vocabulary: int
    tiers: bool
    about: dict[str, str]

    def run(self, prompt: list[int], output: int) -> Run:
        """Serve a prompt with an answer of so many tokens."""

    def forget(self) -> None:
        """Empty the cache of the GPU, and leave the other tiers."""


class Figures(msgspec.Struct, frozen=True, omit_defaults=True):
    """The cost model's figures; without `load_blocks_s` none was measured."""

    prefill_tokens_s: float
    decode_s: float
    step_s: float
    load_blocks_s: float | None = None


class Measured(msgspec.Struct, frozen=True):
    """The file: the figures, and the runs behind them, in tokens and seconds."""

    schema: str
    cost: Figures
    measured: dict[str, Any]


def measure(
    engine: Timed,
    lengths: Sequence[int] | None = None,
    *,
    says: Callable[[str], object] = lambda text: None,
) -> Measured:
    """Measure an engine.

    Args:
        lengths: tokens of the prompts, two or more; by default up to half of the longest prompt.
        says: is given what is measured next.

    Raises:
        SpecError: the lengths do not fit, or the times do not grow with them.
    """
    sizes = sorted(set(lengths or _lengths(engine)))
    if len(sizes) < 2 or sizes[0] < 1 or sizes[-1] + _ANSWER > engine.longest:
        reason = f"prompts of {', '.join(map(str, sizes))} tokens"
        remedy = f"give two or more lengths up to {engine.longest - _ANSWER}"
        raise SpecError(reason, remedy)
    prompts, prefill = _Prompts(engine), {}
    says("first prompts, which do not count")
    prompts.times(sizes[-1], _ANSWER)
    for size in sizes:
        says(f"prompts of {size} tokens")
        prefill[size] = prompts.times(size, 1)
    medians = [median(times) for times in prefill.values()]
    slope, start = linear_regression(sizes, medians)
    if slope <= 0:
        raise SpecError("longer prompts did not take longer", _IDLE)
    says(f"answers of {_ANSWER} tokens")
    answers = prompts.times(sizes[0], _ANSWER)
    decode = (median(answers) - medians[0]) / (_ANSWER - 1)
    if decode <= 0:
        raise SpecError("longer answers did not take longer", _IDLE)
    step = max(0.0, start)
    load, loads = None, []
    if engine.tiers:
        says("loads from the other tier")
        loads = prompts.loads(sizes[-1], slope, step)
        load = median(loads) if loads else None
    figures = Figures(1 / slope, decode, step, load)
    runs = {
        **engine.about,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "block": engine.block,
        "prefill": list(prefill.items()),
        "decode": (_ANSWER, answers),
        "load_blocks_s": loads or None,
    }
    return Measured(SCHEMA, figures, runs)


def _lengths(engine: Timed) -> list[int]:
    return [max(1, engine.longest // part) for part in (16, 8, 4, 2)]


class _Prompts:
    """Prompts that the engine has not served before."""

    def __init__(self, engine: Timed) -> None:
        self._engine, self._chance = engine, Random(0)

    def _fresh(self, size: int) -> list[int]:
        return [self._chance.randrange(1, self._engine.vocabulary) for _ in range(size)]

    def times(self, size: int, output: int) -> list[float]:
        """The seconds of some prompts with their answers."""
        runs = [self._engine.run(self._fresh(size), output) for _ in range(REPEATS + 1)]
        if any(run.cached for run in runs):
            raise SpecError("the engine had parts of random prompts cached", "serve nobody else")
        return [run.seconds for run in runs[1:]]

    def loads(self, size: int, slope: float, step: float) -> list[float]:
        """Blocks loaded in a second, of each prompt that was loaded for the most part."""
        found = []
        for at in range(REPEATS + 1):
            prompt = self._fresh(size)
            self._engine.run(prompt, 1)
            self._engine.run(self._fresh(1), 1)  # stores end in a later step
            self._engine.forget()
            run = self._engine.run(prompt, 1)
            seconds = run.seconds - step - (size - run.cached) * slope
            if at and 2 * run.cached >= size and seconds > 0:
                found.append(run.cached / self._engine.block / seconds)
        return found


def engine_arguments(text: str | None) -> dict[str, Any]:
    """The engine arguments of a JSON object; raises SpecError."""
    if text is None:
        return {}
    try:
        return decode_json(text.encode(), dict[str, Any])
    except ValueError as problem:
        remedy = """write a JSON object, such as '{"tensor_parallel_size": 2}'"""
        raise SpecError(f"--engine: {problem}", remedy) from None


def seconds(work: Callable[[], object]) -> tuple[float, Any]:
    """How long some work takes, and what it returns."""
    start = time.perf_counter()
    made = work()
    return time.perf_counter() - start, made
