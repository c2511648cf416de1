"""Many streams through the monitor and the naive projection (`make differential`).

`python -m tests.differential_run 150000 --jobs 2` compares so many streams over all modes: two of
three are of a whole runtime (`tests.streams.wide`), every second one of these of an honest one;
most others are written by hand but for a few edits (`tests.streams.edited`), and some tell a single
story (`tests.streams.strategies`). Of 100,000 and more, all of `tests.projection_cases` are the
first.
`--mode MODE --seed N` compares the streams of one seed again. One seed in eight is compared with
forgetting turned on, too: equal or inconclusive. In one of three the claims state several modes
(`tests.streams.mixed`). It names each difference when it is found, and ends with 1 where there is
one, where few streams are kept, or where 100,000 streams and more take a rule too seldom.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from multiprocessing import Pool
from random import Random
from typing import Final, NamedTuple

from hypothesis import HealthCheck, Phase, given, seed, settings

from monitor.evaluate import claim
from monitor.stream.keep import Keep
from spec.claims.claim import Mode
from tests.differential.compare import BARRED, Differs, Tally, asking, compare, lines
from tests.projection_cases import FAMILIES
from tests.streams.edited import edited
from tests.streams.mixed import mixed
from tests.streams.strategies import Stamped, streams
from tests.streams.wide import told

MODES: Final = (*Mode, *(Mode.OFFLOADABLE,) * 2, Mode.ROUTED_REUSE, Mode.HARD_PROTECTED)
"""The modes as often as streams of them are compared: where more can happen, more often."""

LEAST: Final = 100
"""How often each rule is to be taken."""

MANY: Final = 100_000
"""Streams that are enough for that."""

KEPT: Final = 30
"""The least share of all streams that are kept, and of the honest ones, in percent."""

_FORGETFUL: Final = 8  # of so many seeds one is compared with forgetting, too
_CROWDED: Final = 5  # of so many seeds the requests of claims are a crowd in one
_MIXED: Final = 3  # of so many seeds one is of a stream whose claims state several modes
_SHARE: Final = 40  # seeds from the first of one share to that of the next
_STORIES, _EDITED, _WIDE = 4, 16, 19  # streams of a share; of those of a runtime so many seeds
_STREAMS: Final = _STORIES + _EDITED + 2 * _WIDE


class Found(NamedTuple):
    """What a share of the streams came to: all of them, the honest ones, and the difference."""

    every: Tally
    honest: Tally
    differs: str = ""


def compare_seed(mode: Mode, number: int, found: Found) -> None:
    """One stream of an honest runtime, and one of any other, compared; of some seeds also with a
    monitor that forgets what ended.

    Raises:
        Differs: the two projections disagree on one of them.
    """
    with _crowded(number % _CROWDED == 0):
        for lies, tally in ((0, found.honest), (None, found.every)):
            of = mixed if number % _MIXED == 0 else told
            stream = of(Random(number), mode, lies)
            compare(stream, mode, tally)
            if number % _FORGETFUL == 0:
                compare(stream, mode, keep=Keep(ended=0))


@contextmanager
def _crowded(crowded: bool) -> Iterator[None]:
    """In a crowd the requests of a claim are compared with each other, as those of one with very
    many are.
    """
    few = claim.FEW
    claim.FEW = 1 if crowded else few
    try:
        yield
    finally:
        claim.FEW = few


def compare_edited(mode: Mode, first: int, count: int, tally: Tally) -> None:
    """So many short streams that are written by hand but for a few edits, compared.

    Raises:
        Differs: the two projections disagree on one of them.
    """
    for number in range(first, first + count):
        compare(edited(Random(number), mode), mode, tally)


def compare_stories(mode: Mode, number: int, count: int, tally: Tally) -> None:
    """So many streams that tell single stories, compared.

    Raises:
        Differs: the two projections disagree on one of them.
    """

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(streams())
    def agree(stream: list[Stamped]) -> None:
        compare(lines(asking(stream, mode)), mode, tally)

    try:
        agree()
    except Differs as error:  # without the stream that Hypothesis adds to it
        raise Differs(*error.args) from None


def _compare_share(share: tuple[Mode, int]) -> Found:
    """The streams of these seeds, and with them the edited ones and the stories."""
    mode, first = share
    found = Found(Tally(), Tally())
    for number in range(first, first + _WIDE + 1):
        try:
            if number == first:
                compare_stories(mode, first, _STORIES, found.every)
                compare_edited(mode, first, _EDITED, found.every)
            else:
                compare_seed(mode, number, found)
        except Differs as error:
            again = f"python -m tests.differential_run --mode {mode} --seed {number}"
            return found._replace(differs=f"{error}; {again}")
    found.every.add(found.honest)
    return found


def _compare_family(name: str) -> Found:
    """The written cases of a family, all of them."""
    found = Found(Tally(), Tally())
    for case in FAMILIES[name]:
        try:
            compare(case.lines, case.mode, found.every)
        except Differs as error:
            return found._replace(differs=f"{error}; the case {case.name!r} of {name}")
    return found


def _shares(count: int, first: int) -> Iterator[tuple[Mode, int]]:
    for number in range(-(-count // _STREAMS)):
        yield MODES[number % len(MODES)], first + number * _SHARE


def report(every: Tally, honest: Tally) -> str:
    """How the streams came out, and which rules were taken too seldom."""
    kept, total = honest.streams["kept"], honest.streams.total()
    counts = ", ".join(f"{number} {verdict}" for verdict, number in every.streams.most_common())
    said = [
        f"{every.streams.total()} streams agree line by line: {counts}",
        f"of {total} honest streams {kept} are kept ({100 * kept // max(1, total)} %)",
        *(f"never taken: {name}, {rule}: {why}" for (name, rule), why in BARRED.items()),
    ]
    said += [f"taken {count} times: {name}, {rule}" for (name, rule), count in _seldom(every)]
    return "\n".join(said)


def _seldom(every: Tally) -> list[tuple[tuple[str, str], int]]:
    """The rules that were taken too seldom, and how often."""
    taken = every.taken().items()
    return [(ruled, number) for ruled, number in taken if number < LEAST and ruled not in BARRED]


def main(argv: Sequence[str] | None = None) -> int:
    """Compare so many streams, and say how they came out; 1 where they do not all agree."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential_run", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=150_000, help="how many streams")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes compare")
    parser.add_argument("--minutes", type=float, help="stop after so long, and say what was found")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--mode", choices=list(Mode), help="of a seed that is compared again")
    parser.add_argument("--seed", type=int, help="the one seed that is compared again")
    asked = parser.parse_args(argv)
    every, honest, began = Tally(), Tally(), time.monotonic()
    if asked.mode is not None and asked.seed is not None:
        compare_stories(Mode(asked.mode), asked.seed, _STORIES, every)
        compare_edited(Mode(asked.mode), asked.seed, _EDITED, every)
        compare_seed(Mode(asked.mode), asked.seed, Found(every, honest))
        print("no difference")
        return 0
    differ = 0
    with Pool(asked.jobs) as workers:
        names = FAMILIES if asked.count >= MANY else ()
        families = workers.imap_unordered(_compare_family, names)
        shares = workers.imap_unordered(_compare_share, _shares(asked.count, asked.first))
        for found in chain(families, shares):
            if found.differs:
                print(f"differs: {found.differs}", file=sys.stderr, flush=True)
                differ += 1
            every.add(found.every)
            honest.add(found.honest)
            done, seconds = every.streams.total(), time.monotonic() - began
            print(f"{done} streams in {seconds:.0f} s", file=sys.stderr, flush=True)
            if asked.minutes is not None and seconds > 60 * asked.minutes:
                break
    print(report(every, honest))
    if differ:
        print(f"{differ} shares of the streams differ, and were not compared to their end")
        return 1
    few = any(100 * t.streams["kept"] < KEPT * t.streams.total() for t in (every, honest))
    return int(few or (every.streams.total() >= MANY and bool(_seldom(every))))
