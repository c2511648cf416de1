"""Generates sessions of agents: turns with tool calls between them, on shared system prompts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Any, Final

from models.simulation.request import Request, Workload
from models.simulation.workload.mooncake import MOST_TOKENS
from models.simulation.workload.pauses import Distribution, parse_distribution
from models.simulation.workload.spool import MOST, Spool
from spec.language.errors import SpecError
from spec.language.suggest import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PREFIX", "Agents", "agents"]

PREFIX: Final = "agents:"

_Turns = tuple[Distribution, ...]
"""One distribution for each turn; after the last one they begin again."""

_COMMA: Final = re.compile(r",(?![^()]*\))")
_TOOL: Final = re.compile(r"[\w.-]{1,64}")
_NUMBER: Final = re.compile(r"\d{1,9}(?:\.\d{1,6})?")
_SPAN: Final = MOST_TOKENS  # keys from one session to the next
_COUNTS: Final = {
    "sessions": (1, MOST),
    "turns": (1, 10_000),
    "prompts": (1, 1 << 16),
    "system": (0, 1 << 20),
    "owners": (0, 1 << 16),
    "block": (1, 1 << 16),
}
_FLOWS: Final = ("task", "output", "result")
_NAMES: Final = (*_COUNTS, *_FLOWS, "jps", "pause", "tools")


@dataclass(frozen=True, slots=True)
class Agents:
    """The requests of all sessions, session by session; the same seed makes the same ones.

    Sessions arrive at random, `jps` of them a second (a Poisson process). A session takes one of
    `prompts` system prompts of `system` tokens, and adds a task. Each turn answers with some output
    tokens and calls a tool, and the next prompt has the answer and the tool's result at its end.
    The last turn calls none. Times are in whole milliseconds.
    """

    jps: float = 2.0
    sessions: int = 200
    turns: int = 8
    prompts: int = 1
    system: int = 1024
    owners: int = 0
    block: int = 16
    task: _Turns = (Distribution("constant", (100.0,)),)
    output: _Turns = (Distribution("constant", (100.0,)),)
    result: _Turns = (Distribution("constant", (300.0,)),)
    tools: tuple[tuple[str, Distribution], ...] = (("tool", Distribution("lognormal", (1.0, 1.0))),)
    seed: int = 0

    def __iter__(self) -> Iterator[Request]:
        arrivals, came = Random(f"arrivals:{self.seed}"), 0.0
        for session in range(self.sessions):
            yield from self._session(session, came)
            came += arrivals.expovariate(self.jps)

    def _session(self, session: int, came: float) -> Iterator[Request]:
        chance = Random(f"session:{self.seed}:{session}")
        shared = chance.randrange(self.prompts) * _SPAN
        own = (self.prompts + session) * _SPAN
        full = self.system // self.block
        owner = f"owner{session % self.owners}" if self.owners else None
        prompt = max(1, self.system + _tokens(self.task, 0, chance))
        name, arrives = None, came
        for turn in range(self.turns):
            output = max(1, _tokens(self.output, turn, chance))
            if prompt + output > MOST_TOKENS:
                reason = f"a session of over {MOST_TOKENS} tokens"
                raise SpecError(reason, "generate fewer turns, or shorter ones")
            blocks = (prompt + output) // self.block
            keys = (*range(shared, shared + min(full, blocks)), *range(own + full, own + blocks))
            last = turn == self.turns - 1
            tool, pause = self.tools[turn % len(self.tools)]
            before, name = name, str(session * self.turns + turn + 1)
            yield Request(
                name,
                round(arrives * 1000) / 1000,
                prompt,
                output,
                keys,
                before,
                f"s{session + 1}",
                None if last else tool,
                owner,
            )
            prompt += output + _tokens(self.result, turn, chance)
            arrives = pause.draw(chance)


def _tokens(of: _Turns, turn: int, chance: Random) -> int:
    return round(of[turn % len(of)].draw(chance))


def agents(spec: str, *, limit: int | None, seed: int) -> Workload:
    """The workload that a text such as `agents:sessions=200,turns=8,pause=lognormal(2,1)` states.

    Raises:
        SpecError: a parameter is unknown, stands twice or has no such value.
    """
    given: dict[str, str] = {}
    for part in filter(None, _COMMA.split(spec.removeprefix(PREFIX).strip())):
        name, equals, value = (each.strip() for each in part.partition("="))
        if not equals:
            raise SpecError(f"{PREFIX} {part[:60]!r} states no value", "write name=value")
        name = resolve(name, _NAMES, what="parameter of agents:")
        if name in given:
            raise SpecError(f"{PREFIX} {name} is given twice", "give it once")
        given[name] = value
    if {"pause", "tools"} <= given.keys():
        raise SpecError(f"{PREFIX} pause and tools exclude each other", "give one of them")
    values: dict[str, Any] = {"jps": _rate(given.get("jps", "2")), "tools": _tools(given)}
    values |= {name: _count(name, given[name]) for name in _COUNTS if name in given}
    values |= {name: _flow(name, given[name]) for name in _FLOWS if name in given}
    made = Agents(**values, seed=seed)
    if made.sessions * made.turns > MOST:
        raise SpecError(f"{PREFIX} over {MOST} requests", "give fewer sessions or turns")
    spool = Spool()
    for request in islice(made, limit):
        spool.add(request)
    return Workload(spec, made.block, spool)


def _rate(text: str) -> float:
    if not _NUMBER.fullmatch(text) or not float(text):
        raise SpecError(f"jps: {text[:60]!r} is no rate", "give sessions a second, such as 2.0")
    return float(text)


def _count(name: str, text: str) -> int:
    least, most = _COUNTS[name]
    if not re.fullmatch(r"\d{1,9}", text) or not least <= int(text) <= most:
        reason = f"{name}: {text[:60]!r} is no whole number from {least} to {most}"
        raise SpecError(reason, f"give one, such as {name}={max(least, 16)}")
    return int(text)


def _flow(name: str, text: str) -> _Turns:
    return tuple(parse_distribution(part.strip(), name) for part in text.split("/"))


def _tools(given: dict[str, str]) -> tuple[tuple[str, Distribution], ...]:
    if "tools" not in given:
        return (("tool", parse_distribution(given.get("pause", "lognormal(1,1)"), "pause")),)
    found = []
    for part in given["tools"].split("/"):
        name, colon, pause = (each.strip() for each in part.partition(":"))
        if not colon or not _TOOL.fullmatch(name):
            reason = f"tools: {part[:60]!r} is no tool"
            raise SpecError(reason, "write NAME:DISTRIBUTION, separated by /")
        found.append((name, parse_distribution(pause, f"tools: {name}")))
    return tuple(found)
