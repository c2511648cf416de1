"""Changes the definitions of the naive projection one at a time; each must be noticed.

`python -m tests.projection_mutants [MODULE ...] [--streams N] [--only FILE]` makes every change of
`tests.projection_mutants.changes`. A change is killed if with it the naive projection holds another
verdict than the monitor on some stream, or raises an exception. Of each stream the original is
asked first: it agrees with the monitor, and shows which changes can matter there: those of
functions that compute something else with the same arguments, and of statements that are executed.
What matters on `--tries` streams of one sort, of a mode or a family of cases, and is noticed on
none, is asked of no more of that sort; a statement matters where it leaves another state at the
end. What no stream notices is asked of the examples, the tests in `tests/spec/projection`. What
these do not notice either survives, unless `tests/projection_mutants/equal.txt` says why it is no
change. It ends with 0 where none survives, 1 where some do, or where one is killed that is called
no change, and 3 where the time was over before.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final, Literal, NamedTuple

from spec.projection.lines import line_of
from tests.differential.compare import Differs, Heard, follow, heard
from tests.differential.run import MODES as EACH
from tests.projection_cases import FAMILIES
from tests.projection_mutants.changes import MODULES, OPERATORS, Change, changes
from tests.projection_mutants.equal import EQUAL
from tests.projection_mutants.examples import noticed
from tests.projection_mutants.live import Reached, Stream, in_time, made, state_of
from tests.streams.edited import edited, written
from tests.streams.wide import told

__all__ = ["Fates", "Killed", "followed", "judge", "of_families", "streams"]

_CASES: Final = 250  # of one family
_EDITED: Final = 4  # streams of a few edits, for one of a whole runtime
TRIES: Final = 20
"""On how many streams of each sort on which it can matter a change is tried at most."""


class Fates(NamedTuple):
    """The changes that are killed, each by its name with what shows it; how many streams were
    judged, and whether nothing is left to be asked. `tries` are the streams on which each could
    matter.
    """

    exception: dict[str, str]
    verdict: dict[str, str]
    example: dict[str, str]
    tries: Counter[str]
    streams: int
    whole: bool

    @property
    def killed(self) -> dict[str, str]:
        """What shows each of the changes that are killed."""
        return self.exception | self.verdict | self.example


# Streams.


def streams(count: int, cases_each: int = _CASES) -> Iterator[Stream]:
    """Traces written by hand, those that fooled somebody, some of each family of cases, edits of
    all these, and so many by chance.

    Args:
        cases_each: of one family at most.
    """
    if not count:
        return
    for name, mode, events in written():
        whole = [line_of(event, at) for at, event in enumerate(events, 1)]
        yield Stream(name, whole, mode, f"files, {mode}")
    yield from _cases(FAMILIES, Random(count), cases_each)
    for number in range(_EDITED * count):
        mode = EACH[number % len(EACH)]
        yield Stream(f"edited {number}", edited(Random(number), mode), mode, f"edited, {mode}")
    for number in range(count):
        mode = EACH[number % len(EACH)]
        lies = 0 if number % 7 == 6 else None
        yield Stream(f"seed {number}", told(Random(number), mode, lies), mode, f"wide, {mode}")


def of_families(names: Sequence[str], cases_each: int = _CASES) -> Iterator[Stream]:
    """Some of each family whose name contains one of these.

    Args:
        cases_each: of one family at most.
    """
    wanted = [sort for sort in FAMILIES if any(name in sort for name in names)]
    return _cases(wanted, Random(0), cases_each)


def _cases(sorts: Iterable[str], chance: Random, cases_each: int) -> Iterator[Stream]:
    """So many cases of each family, in no order."""
    families = ((sort, FAMILIES[sort]) for sort in sorts)
    cases = [
        (sort, case)
        for sort, family in families
        for case in chance.sample(family, min(cases_each, len(family)))
    ]
    chance.shuffle(cases)
    for sort, case in cases:
        yield Stream(case.name, case.lines, case.mode, sort)


# The fates of changes.


def judge(
    changed: Sequence[Change],
    each: Iterator[Stream],
    tries: int = TRIES,
    until: float | None = None,
) -> Fates:
    """What became of these changes, each on the streams on which it can matter, until it is killed.

    Args:
        tries: on how many of these at most, of each sort.
        until: when no more streams are begun, by the monotonic clock.

    Raises:
        Differs: the original does not agree with the monitor.
    """
    fates, alive = (
        Fates({}, {}, {}, Counter(), 0, whole=True),
        {change.name: change for change in changed},
    )
    for change in changed:
        try:
            with made(change):
                pass
        except Exception as error:  # whatever the checks of a module raise
            fates.exception[change.name] = f"refused: {error}"
            del alive[change.name]
    spent, idle = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for number, stream in enumerate(each):
        if until is not None and time.monotonic() > until:
            return fates._replace(streams=number, whole=False)
        asked = [
            c
            for name, c in alive.items()
            if spent[name, stream.sort] < tries and idle[name, stream.sort] < tries
        ]
        if not asked:
            continue
        said = heard(stream.lines, stream.mode)
        found, left = Reached(asked, stream).follow(stream, said)
        for name in sorted(found):
            came_to = followed(alive[name], stream, said)
            if came_to == left:
                idle[name, stream.sort] += 1
                continue
            fates.tries[name] += 1
            spent[name, stream.sort] += 1
            if isinstance(came_to, Killed):
                getattr(fates, came_to.by)[name] = f"{stream.name}: {came_to.why}"
                del alive[name]
        fates = fates._replace(streams=number + 1)
        dead = len(fates.exception) + len(fates.verdict)
        _say(number + 1, f"{dead} of {len(changed)} changes are killed, {len(alive)} go on")
    return fates


def ask_examples(changed: Sequence[Change], fates: Fates, until: float | None = None) -> Fates:
    """The same fates, once the examples were asked of every change that no stream notices."""
    left = [change for change in changed if change.name not in fates.killed]
    for number, change in enumerate(left, 1):
        if until is not None and time.monotonic() > until:
            return fates._replace(whole=False)
        if why := noticed(change):
            fates.example[change.name] = why
        _say(number, f"of {len(left)} changes {len(fates.example)} are noticed", "examples")
    return fates


class Killed(NamedTuple):
    """A stream notices a change: `by` another verdict or an exception."""

    by: Literal["verdict", "exception"]
    why: str


def followed(change: Change, stream: Stream, said: Heard) -> Killed | str:
    """What a stream comes to with a change: how it notices that, or the state that is left."""
    try:
        with made(change), in_time():
            naive, _ = follow(stream.lines, stream.mode, said)
            return state_of(naive)
    except Differs as error:
        return Killed("verdict", str(error))
    except Exception as error:  # whatever a wrong definition leads to
        return Killed("exception", f"{type(error).__name__}: {error}")


def _say(number: int, text: str, what: str = "streams") -> None:
    if sys.stderr.isatty() or number in (1, 10) or number % 50 == 0:
        print(f"{number} {what}: {text}", file=sys.stderr, flush=True)


# The page.


def report(changed: Sequence[Change], fates: Fates) -> str:
    """How many of each module and by each operator, and those that survived."""
    left, refuted = _left(changed, fates)
    said = [
        f"{len(left)} of {len(changed)} changes survive {fates.streams} streams and the examples: "
        f"{len(fates.verdict)} change a verdict, {len(fates.exception)} raise an exception, "
        f"{len(fates.example)} fail an example"
    ]
    sets: tuple[list[Change], ...] = (
        [*changed],
        *([c for c in changed if c.name in by] for by in (fates.verdict, fates.exception)),
        [c for c in changed if c.name in fates.example],
        [c for c in changed if c.name in EQUAL],
        left,
    )
    tables: tuple[tuple[str, Callable[[Change], str], Sequence[str]], ...] = (
        ("module", lambda c: c.part.module, MODULES),
        ("operator", lambda c: c.operator, [*OPERATORS]),
    )
    titles = ("changes", "verdict", "exception", "example", "equal", "survive")
    for title, of, rows in tables:
        said += ["", f"{title:16}" + "".join(f"{each:>10}" for each in titles)]
        counts = [Counter(map(of, each)) for each in sets]
        said += [
            f"{row:16}" + "".join(f"{count[row]:10}" for count in counts)
            for row in rows
            if counts[0][row]
        ]
    for title, some in (("Survivors:", left), ("Killed, and said to be no change:", refuted)):
        said += ["", title] if some else []
        for c in some:
            where, tried = f"spec/projection/{c.part.module}.py:{c.line}", fates.tries[c.name]
            said.append(f"{where} {c.name} ({tried} tries): {c.says}")
    return "\n".join(said)


def _left(changed: Sequence[Change], fates: Fates) -> tuple[list[Change], list[Change]]:
    """The changes that survive, and those that are killed and said to be none."""
    left = [c for c in changed if c.name not in fates.killed and c.name not in EQUAL]
    return left, [c for c in changed if c.name in fates.killed and c.name in EQUAL]


def main(argv: Sequence[str] | None = None) -> int:
    """Judge the changes of some modules, or of all."""
    parser = argparse.ArgumentParser(prog="python -m tests.projection_mutants", description=__doc__)
    parser.add_argument("module", nargs="*", help=f"of {', '.join(MODULES)}; all by default")
    parser.add_argument("--streams", type=int, default=600, help="streams by chance (600)")
    parser.add_argument(
        "--tries", type=int, default=TRIES, help=f"of each change and sort ({TRIES})"
    )
    parser.add_argument(
        "--cases", type=int, default=_CASES, help=f"of each family of cases ({_CASES})"
    )
    parser.add_argument(
        "--family", action="append", help="no streams but cases of families with this in their name"
    )
    parser.add_argument("--only", type=Path, help="a file with names of changes, one a line")
    parser.add_argument("--minutes", type=float, help="begin no stream after so long")
    parser.add_argument("--killers", action="store_true", help="say what killed each, too")
    asked = parser.parse_args(argv)
    if odd := set(asked.module) - set(MODULES):
        parser.error(f"no module {', '.join(sorted(odd))}; there are {', '.join(MODULES)}")
    until = None if asked.minutes is None else time.monotonic() + 60 * asked.minutes
    changed = [change for name in asked.module or MODULES for change in changes(name)]
    if asked.only is not None:
        try:
            names = set(asked.only.read_text(encoding="utf-8").split())
        except OSError as error:
            parser.error(f"{asked.only}: {error.strerror}")
        changed = [change for change in changed if change.name in names]
        if odd := names - {change.name for change in changed}:
            parser.error(f"{asked.only}: no change {min(odd)}")
    each = streams(asked.streams, asked.cases)
    if asked.family:
        each = of_families(asked.family, asked.cases)
    fates = judge(changed, each, asked.tries, until)
    fates = ask_examples(changed, fates, until)
    if asked.killers:
        for name, why in fates.killed.items():
            print(f"{name}: {why}")
    print(report(changed, fates))
    return 3 if not fates.whole else int(any(_left(changed, fates)))
