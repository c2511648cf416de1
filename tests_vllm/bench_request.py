"""What a cold request costs: with the monitor in the process, and with the hooks alone.

Each comparison is of pairs of short rounds in one engine, in random order within a pair. A round
lasts until the journal's thread has handed on the lines that waited, which it does about five times
a second: what a round states is written and judged in that round. In rounds without the monitor
its lines are set aside, and judged between rounds.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from vllm import SamplingParams

from runtime_hooks.demo.tiny import tokens
from tests.bench_pairs import Ratio, in_pairs, ratio
from tests.bench_switch import Switch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests_vllm.engine import Engine

__all__ = ["Compared", "cold_requests"]

PAIRS: Final = 200
READY: Final = 1_000
"""Prompts that are made before a round, so that none is made in it."""

WARM: Final = 4  # rounds of each before the first pair
_LENGTH: Final = 33  # tokens of a prompt: a full block, and one token of the next


class Compared(NamedTuple):
    """A request without something, and with it, in milliseconds: the medians over the rounds; and
    the ratios by the clock, and of the processor time of all threads.
    """

    what: str
    without: float
    with_it: float
    clock: Ratio
    processor: Ratio


class _Cost(NamedTuple):
    """Milliseconds of one request in a round."""

    clock: float
    processor: float


class _Requests:
    """Serves cold requests in an engine, whose hooks and monitor can be off for a round."""

    def __init__(self, engine: Engine) -> None:
        (attachment,) = engine.armed.attachments
        self.switch, self._wraps = Switch(attachment.journal), attachment._wraps
        self._llm = engine.llm
        self._numbers, self._prompts = itertools.count(), deque[list[int]]()
        self._one = SamplingParams(max_tokens=1, detokenize=False)

    def monitored(self) -> _Cost:
        """A round with hooks and monitor."""
        return self._round(monitor=True)

    def hooked(self) -> _Cost:
        """A round with the hooks alone; what they state is written."""
        return self._round(monitor=False)

    def bare(self) -> _Cost:
        """A round of the bare engine.

        What is cached in it, no line states: no round with the monitor may come after it.
        """
        wrapped = [*self._wraps._wrapped]
        kept = [(owner, name, vars(owner)[name]) for owner, name, _ in wrapped]
        self._wraps.remove()
        try:
            return self._round(monitor=False)
        finally:
            for owner, name, method in kept:
                setattr(owner, name, method)
            self._wraps._wrapped = wrapped

    def _round(self, *, monitor: bool) -> _Cost:
        switch = self.switch
        self._prepare()
        switch.catch_up()
        switch.on, turn, served = monitor, switch.turns, 0
        worked, began = time.process_time(), time.perf_counter()
        while switch.turns == turn:
            self._serve()
            served += 1
        ended, done = time.perf_counter(), time.process_time()
        return _Cost((ended - began) / served * 1e3, (done - worked) / served * 1e3)

    def _prepare(self) -> None:
        while len(self._prompts) < READY:
            self._prompts.append(tokens(f"cold {next(self._numbers)}", 2)[:_LENGTH])

    def _serve(self) -> None:
        if not self._prompts:
            self._prepare()
        prompt = {"prompt_token_ids": self._prompts.popleft()}
        self._llm.generate([prompt], self._one, use_tqdm=False)


def cold_requests(engine: Engine, pairs: int = PAIRS) -> tuple[Compared, Compared]:
    """What the monitor adds to a cold request of 33 tokens, the plugin being armed; and what the
    hooks add to it, the monitor being off.
    """
    requests, chance = _Requests(engine), Random(0)
    for _ in range(WARM):
        requests.hooked()
        requests.monitored()
    monitor = list(in_pairs(requests.hooked, requests.monitored, pairs, chance))
    requests.switch.catch_up()
    _is_as_usual(engine, requests.switch)
    hooks = list(in_pairs(requests.bare, requests.hooked, pairs, chance))
    return (
        _compared("the monitor: a cold request", monitor),
        _compared("the hooks: a cold request", hooks),
    )


def _compared(what: str, pairs: Sequence[tuple[_Cost, _Cost]]) -> Compared:
    without, with_it = zip(*pairs, strict=True)
    return Compared(
        what,
        median(each.clock for each in without),
        median(each.clock for each in with_it),
        ratio([(one.clock, other.clock) for one, other in pairs]),
        ratio([(one.processor, other.processor) for one, other in pairs]),
    )


def _is_as_usual(engine: Engine, switch: Switch) -> None:
    """The monitor has judged every line so far, and none was unusual, which would cost more."""
    (attachment,) = engine.armed.attachments
    streams = switch.inline._live._streams.found()
    assert switch.whole
    assert not attachment.journal.dropped
    assert [None] == [stream.left for stream in streams]
