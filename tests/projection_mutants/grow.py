"""Looks for streams that notice what no written one does, and writes them down.

`python -m tests.projection_grow NAMES --minutes M` reads names of changes that survive
`tests.projection_mutants.campaign`, one a line, finds streams on which each can matter, and edits
these until one shows another verdict. What it finds is made as short as it goes and added to
`tests/projection_cases/found.jsonl`: a stream a line, in the canonical form, with the change that
it was found for. It ends with 0 where a stream was found for each, and with 1 where some are left.
A stream on which the monitor and the projection differ by themselves is printed, too.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import msgspec

from spec.claims.claim import Mode
from spec.events.alphabet import FACTS
from spec.events.canonical import Event, Mark, StreamMark
from spec.projection.lines import Line, line_of
from tests.differential.compare import Differs, follow, heard
from tests.projection_cases import FOUND, Found
from tests.projection_mutants.campaign import Killed, followed, streams
from tests.projection_mutants.changes import MODULES, Change, changes
from tests.projection_mutants.live import Reached, Stream
from tests.streams.edited import edit

__all__ = ["Item", "as_items", "as_lines", "main"]

Item = Event | StreamMark | None
"""A line of a stream, or one that is missing."""

_NEAR: Final = 12  # streams on which a change can matter that are kept to be edited
_SPLICED: Final = 6  # lines that are taken over from another stream at most
_LONGEST: Final = 40
_DRIFT: Final = 0.1  # how often a stream that was edited is edited further


class _Sought(NamedTuple):
    """A change, and streams of some modes on which it can matter."""

    change: Change
    near: list[tuple[Mode, list[Item]]]


def as_items(lines: Sequence[Line]) -> list[Item]:
    """The lines of a stream, to be edited; where numbers are left out a line is missing."""
    found: list[Item] = []
    last = None
    for line in lines:
        jumps = last is not None and line.sequence is not None and line.sequence > last + 1
        found += [None] if jumps else []
        last = line.sequence
        if line.mark is None:
            found += [msgspec.structs.replace(each, sequence=None) for each in line.events]
        else:
            states = None if line.observes is None else tuple(sorted(line.observes))
            found.append(StreamMark(kind=line.mark, observes=states, time_ns=line.time_ns))
    return found


def as_lines(items: Sequence[Item]) -> list[Event | StreamMark]:
    """The lines in order; they have numbers where one is missing."""
    numbered = None in items
    times = sorted(each.time_ns for each in items if each and each.time_ns is not None)
    found: list[Event | StreamMark] = []
    for number, item in enumerate(items):
        if item is not None:
            time_ns = times.pop(0) if item.time_ns is not None else None
            at = number if numbered else None
            found.append(msgspec.structs.replace(item, sequence=at, time_ns=time_ns))
    return found


def _stream(mode: Mode, items: Sequence[Item]) -> Stream:
    return Stream("grown", [line_of(e, at) for at, e in enumerate(as_lines(items), 1)], mode)


# Edits.


def _edited(rng: Random, items: list[Item], others: Sequence[list[Item]]) -> list[Item]:
    """The stream with one to four edits."""
    found = [*items]
    for _ in range(rng.choice((1, 1, 2, 3, 4))):
        at, how = rng.randint(0, len(found)), rng.random()
        if how < 0.55 and all(isinstance(each, Event) for each in found) and found:
            events = [each for each in found if isinstance(each, Event)]
            edit(rng, events)
            found = [*events]
        elif how < 0.85:
            other = rng.choice(others)
            first = rng.randrange(len(other) or 1)
            found[at:at] = other[first : first + rng.randint(1, _SPLICED)]
        elif how < 0.9:
            found = found[: max(1, at)]
        elif how < 0.93:
            found.insert(at, None)
        elif how < 0.96:
            unseen = set(rng.sample(sorted(FACTS), rng.randint(1, 3)))
            states = tuple(sorted(FACTS - unseen))
            found.insert(0, StreamMark(kind=Mark.STREAM_OPENED, observes=states))
        elif at < len(found):
            del found[at]
    return found[:_LONGEST]


def _shortest(items: list[Item], is_enough: Callable[[list[Item]], bool]) -> list[Item]:
    """The items less all that can be left out."""
    size = max(1, len(items) // 2)
    while size:
        at = 0
        while at < len(items):
            less = items[:at] + items[at + size :]
            if is_enough(less):
                items = less
            else:
                at += size
        size //= 2
    return items


# The search.


def _near(sought: Sequence[_Sought], each: Iterator[Stream], until: float) -> list[list[Item]]:
    """Puts by each change the streams on which it can matter; returns those looked at."""
    every = []
    for stream in each:
        if time.monotonic() > until or all(len(s.near) >= _NEAR for s in sought):
            break
        items = as_items(stream.lines)
        every.append(items)
        open_to = {s.change.name: s for s in sought if len(s.near) < _NEAR}
        said = heard(stream.lines, stream.mode)
        asked = [s.change for s in open_to.values()]
        for name in Reached(asked, stream).follow(stream, said)[0]:
            open_to[name].near.append((stream.mode, items))
    return every


def _kills(change: Change, mode: Mode, items: Sequence[Item]) -> bool:
    """Whether the stream notices the change, and there is no difference without it."""
    stream = _stream(mode, items)
    said = heard(stream.lines, mode)
    if not isinstance(followed(change, stream, said), Killed):
        return False
    try:
        follow(stream.lines, mode, said)
    except Differs as error:
        print(f"differs: {error}: {_written(change.name, mode, items)!r}", flush=True)
        return False
    return True


def _can_matter(change: Change, mode: Mode, items: Sequence[Item]) -> bool:
    stream = _stream(mode, items)
    said = heard(stream.lines, mode)
    return change.name in Reached([change], stream).follow(stream, said)[0]


def _found(
    rng: Random, sought: _Sought, others: Sequence[list[Item]], tries: int
) -> tuple[Mode, list[Item]] | None:
    """A stream that notices the change."""
    for _ in range(tries):
        mode, items = rng.choice(sought.near)
        grown = _edited(rng, items, others)
        if _kills(sought.change, mode, grown):
            return mode, _shortest(grown, partial(_kills, sought.change, mode))
        if rng.random() < _DRIFT and _can_matter(sought.change, mode, grown):
            sought.near[rng.randrange(len(sought.near))] = (mode, grown)
    return None


def _written(name: str, mode: Mode, items: Sequence[Item]) -> bytes:
    """The line of the stream."""
    said = [msgspec.to_builtins(each) for each in as_lines(items)]
    return msgspec.json.encode(Found(name, mode, said))


def main(argv: Sequence[str] | None = None) -> int:
    """Look for streams for some changes."""
    parser = argparse.ArgumentParser(prog="python -m tests.projection_grow", description=__doc__)
    parser.add_argument("names", type=Path, help="a file with names of changes, one a line")
    parser.add_argument("--minutes", type=float, default=10, help="how long to look (10)")
    parser.add_argument("--tries", type=int, default=60, help="of each change in a turn (60)")
    parser.add_argument("--seed", type=int, default=0, help="of the edits (0)")
    parser.add_argument("--out", type=Path, default=FOUND, help="where streams are added")
    asked = parser.parse_args(argv)
    try:
        names = set(asked.names.read_text(encoding="utf-8").split())
    except OSError as error:
        parser.error(f"{asked.names}: {error.strerror}")
    every = [change for module in MODULES for change in changes(module) if change.name in names]
    if not names or (odd := names - {change.name for change in every}):
        parser.error(f"{asked.names}: " + (f"no change {min(odd)}" if names else "no names"))
    rng, until = Random(asked.seed), time.monotonic() + 60 * asked.minutes
    sought = [_Sought(change, []) for change in every]
    others = _near(sought, streams(40), time.monotonic() + 15 * asked.minutes)
    left = {each.change.name: each for each in sought}
    while left and time.monotonic() < until:
        for name in [*left]:
            if name not in left or not left[name].near or time.monotonic() > until:
                continue
            if (found := _found(rng, left[name], others, asked.tries)) is None:
                continue
            mode, items = found
            with asked.out.open("ab") as file:
                file.write(_written(name, mode, items) + b"\n")
            dead = [n for n in left if n == name or _kills(left[n].change, mode, items)]
            for one in dead:
                del left[one]
            print(
                f"{name} in {len(items)} lines, and {len(dead) - 1} others; {len(left)} left",
                file=sys.stderr,
                flush=True,
            )
    for name, (change, near) in left.items():
        print(f"{name} ({len(near)} streams): {change.says}")
    return int(bool(left))
