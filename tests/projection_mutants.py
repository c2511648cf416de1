"""Changes the definitions of the naive projection one at a time; the comparison must notice each.

`python -m tests.projection_mutants [MODULE ...] [--streams N] [--minutes M]` makes every change of
`tests.projection_changes`. A change is killed if with it the naive projection holds another verdict
than the monitor on some stream, or raises an exception. Of each stream the original is asked first:
it agrees with the monitor, and shows which changes can matter there: those of functions that
compute something else with the same arguments, and of statements that are executed. Of what matters
on `--tries` streams and is noticed on none no more is asked. It ends with 0 where none survives, 1
where some do, and 3 where the time was over before the last stream.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from random import Random
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple

import msgspec

from spec.alphabet import Kind
from spec.claims import Mode
from spec.events import Event
from spec.projection.lines import Line, line_of
from tests.differential import Differs, Heard, follow, heard
from tests.differential_run import MODES as EACH
from tests.obligations.test_handwritten import PAIRS
from tests.projection_cases import CASES
from tests.projection_changes import MODULES, OPERATORS, Change, Part, changes
from tests.streams_wide import told

__all__ = ["Fates", "Stream", "judge", "made", "streams"]

_ACTS: Final = {
    *("pool.tell", "pool.bind", "rights.begin", "rights.stop", "sight.Moment.room"),
    *("case", "lines", "naive"),
}
"""Functions, and modules of functions, that change what they are given, or remember."""

_BY_ITSELF: Final = {Kind.DURATION_ELAPSED, Kind.STREAM_DISORDER}
"""Events that the projection adds to those of a stream."""

TRIES: Final = 60
"""On how many streams on which it can matter a change is tried at most."""

_PATIENCE: Final = 5.0  # seconds of one core for what takes a fraction of one


class Stream(NamedTuple):
    """A stream that is judged in one mode."""

    name: str
    lines: Sequence[Line]
    mode: Mode


class Fates(NamedTuple):
    """The changes that are killed, each by its name with what shows it; how many streams were
    judged, and whether these are all. `tries` are the streams on which each could matter.
    """

    exception: dict[str, str]
    verdict: dict[str, str]
    tries: Counter[str]
    streams: int
    whole: bool


class _NeverEndsError(Exception):
    """A change makes the projection run on and on."""


# Streams.


def streams(count: int) -> Iterator[Stream]:
    """So many streams by chance, after those that are written by hand."""
    for pair in PAIRS if count else ():
        for ending in ("kept", "broken") if pair.dialect == "canonical" else ():
            path = pair.path(ending)
            text = path.read_text(encoding="utf-8").splitlines()
            events = (msgspec.json.decode(each, type=Event) for each in text)
            lines = [line_of(event, at) for at, event in enumerate(events, 1)]
            yield Stream(path.name, lines, pair.mode)
    for name, mode, lines in CASES if count else ():
        yield Stream(name, lines, mode)
    for number in range(count):
        mode = EACH[number % len(EACH)]
        lies = 0 if number % 7 == 6 else None
        yield Stream(f"seed {number}", told(Random(number), mode, lies), mode)


# One change, made and taken back.


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"spec.projection.{name}")


def _live(part: Part) -> tuple[FunctionType, Callable[[], None]]:
    """The function that a part is, and what forgets all that it remembers."""
    found: Any = _module(part.module)
    for name in part.name.split("."):
        found = vars(found)[name]
    found = found.fget if isinstance(found, property) else found
    return inspect.unwrap(found), getattr(found, "cache_clear", lambda: None)


@contextmanager
def made(change: Change) -> Iterator[None]:
    """The change is part of the projection while this lasts.

    Raises:
        Exception: the module's own checks refuse it.
    """
    with ExitStack() as undo:
        if change.part.is_code:
            function, forget = _live(change.part)
            undo.callback(forget)
            undo.callback(setattr, function, "__code__", function.__code__)
            function.__code__ = change.code
            forget()
        elif "." in change.part.name:
            _default(change, undo)
        else:
            _constants(change, undo)
        yield


def _default(change: Change, undo: ExitStack) -> None:
    """A field of a dataclass has another default."""
    module = _module(change.part.module)
    owner, field = change.part.name.split(".")
    names: dict[str, Any] = {**vars(module)}
    exec(change.code, names)
    begins: FunctionType = vars(module)[owner].__init__
    taken = begins.__code__.co_varnames[: begins.__code__.co_argcount]
    old = begins.__defaults__ or ()
    at = taken.index(field) - len(taken) + len(old)
    undo.callback(setattr, begins, "__defaults__", old)
    begins.__defaults__ = (*old[:at], names[field], *old[at + 1 :])


def _constants(change: Change, undo: ExitStack) -> None:
    """A constant, and those after it in its module that rest on it, have another value, wherever
    they were imported."""
    module = _module(change.part.module)
    names: dict[str, Any] = {**vars(module)}
    exec(change.code, names)
    for line, code in _statements(change.part.module):
        if line > change.line:
            exec(code, names)
    others = [_module(path.stem) for path in sorted(Path(str(module.__file__)).parent.glob("*.py"))]
    for name, old in [*vars(module).items()]:
        if names[name] is not old:
            for other in others:
                if vars(other).get(name) is old:
                    undo.callback(setattr, other, name, old)
                    setattr(other, name, names[name])


@cache
def _statements(module: str) -> list[tuple[int, CodeType]]:
    """The statements of a module that are no definitions, and the lines at which they begin."""
    path = str(_module(module).__file__)
    tree = ast.parse(Path(path).read_text(encoding="utf-8"), path)
    return [
        (each.lineno, compile(ast.Module([each], []), path, "exec"))
        for each in tree.body
        if isinstance(each, ast.Assign | ast.AnnAssign | ast.If)
    ]


# What a stream shows of changes.


@contextmanager
def _in_time() -> Iterator[None]:
    """What is done here is interrupted when it never ends."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise _NeverEndsError("it does not end")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class _Reached:
    """Which of some changes can matter to a stream, found while the original follows it.

    A change of a function that only computes matters where it computes something else; any other
    matters where its statement is executed. Of constants nobody knows; those that are about one
    kind of event matter where there is one.
    """

    def __init__(self, changed: Sequence[Change], stream: Stream) -> None:
        self.found: set[str] = set()
        self._lines: dict[tuple[str, int], list[str]] = {}
        self._pure: dict[FunctionType, list[tuple[str, FunctionType]]] = {}
        self._originals: list[tuple[FunctionType, list[tuple[str, FunctionType]]]] = []
        self._busy = False
        kinds = {event.kind for line in stream.lines for event in line.events} | _BY_ITSELF
        partial = any(line.observes is not None for line in stream.lines)
        for change in changed:
            if not change.part.is_code:
                if change.kind is None or change.kind in kinds or partial:
                    self.found.add(change.name)
                continue
            function, _ = _live(change.part)
            if _remembers(change.part):
                self.found.add(change.name)
            elif {change.part.module, f"{change.part.module}.{change.part.name}"} & _ACTS:
                for line in change.lines:
                    at = (function.__code__.co_filename, line)
                    self._lines.setdefault(at, []).append(change.name)
            else:
                other = _function(function, change.code)
                self._pure.setdefault(function, []).append((change.name, other))
        self._files = {path for path, _ in self._lines}

    def follow(self, stream: Stream, said: Heard) -> set[str]:
        """The changes that can matter.

        Raises:
            Differs: the original does not agree with the monitor.
        """
        with ExitStack() as undo:
            for number, (function, others) in enumerate(self._pure.items()):
                original, space = _function(function, function.__code__), function.__globals__
                undo.callback(setattr, function, "__code__", function.__code__)
                undo.callback(space.pop, "__probe__", None)
                space["__probe__"] = self._probe
                self._originals.append((original, others))
                function.__code__ = _stub(number, function.__code__.co_name)
            undo.callback(sys.settrace, sys.gettrace())
            if self._lines:
                sys.settrace(self._trace)
            follow(stream.lines, stream.mode, said)
        return self.found

    def _probe(self, number: int, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A function is called: which of its changes compute something else?"""
        original, others = self._originals[number]
        if self._busy:
            return original(*args, **named)
        result = original(*args, **named)
        self._busy = True
        try:
            for name, other in [*others]:
                if any(isinstance(each, Iterator) for each in args) or not _same(
                    result, other, args, named
                ):
                    self.found.add(name)
                    others.remove((name, other))
        finally:
            self._busy = False
        return result

    def _trace(self, frame: FrameType, event: str, arg: object) -> Any:
        if frame.f_code.co_filename not in self._files:
            return None
        self._take(frame)
        return self._step

    def _step(self, frame: FrameType, event: str, arg: object) -> Any:
        if event == "line":
            self._take(frame)
        return self._step

    def _take(self, frame: FrameType) -> None:
        names = self._lines.pop((frame.f_code.co_filename, frame.f_lineno), None)
        if names:
            self.found.update(names)


def _remembers(part: Part) -> bool:
    """Whether results of the function are cached, so that it may not be called again."""
    found = vars(_module(part.module)).get(part.name)
    return hasattr(found, "cache_clear")


def _function(function: FunctionType, code: CodeType) -> FunctionType:
    """The function with other code."""
    made_of = FunctionType(code, function.__globals__, function.__name__, function.__defaults__)
    made_of.__kwdefaults__ = function.__kwdefaults__
    return made_of


@cache
def _stub(number: int, name: str) -> CodeType:
    text = f"def {name}(*args, **named): return __probe__({number}, args, named)"
    code = compile(text, "<probe>", "exec")
    return next(each for each in code.co_consts if isinstance(each, CodeType))


def _same(result: object, other: FunctionType, args: tuple[Any, ...], named: Any) -> bool:
    try:
        with _in_time():
            return bool(result == other(*args, **named))
    except Exception:
        return False


# The fates of changes.


def judge(
    changed: Sequence[Change],
    each: Iterator[Stream],
    tries: int = TRIES,
    until: float | None = None,
) -> Fates:
    """What became of these changes, each on the streams on which it can matter, until it is killed.

    Args:
        tries: on how many of these at most.
        until: when no more streams are begun, by the monotonic clock.

    Raises:
        Differs: the original does not agree with the monitor.
    """
    fates, alive = (
        Fates({}, {}, Counter(), 0, whole=True),
        {change.name: change for change in changed},
    )
    for change in changed:
        try:
            with made(change):
                pass
        except Exception as error:  # whatever the checks of a module raise
            fates.exception[change.name] = f"refused: {error}"
            del alive[change.name]
    for number, stream in enumerate(each):
        if until is not None and time.monotonic() > until:
            return fates._replace(streams=number, whole=False)
        said = heard(stream.lines, stream.mode)
        found = _Reached([*alive.values()], stream).follow(stream, said)
        for name in sorted(found):
            fates.tries[name] += 1
            if how := _killed(alive[name], stream, said):
                table, why = how
                getattr(fates, table)[name] = f"{stream.name}: {why}"
            if how or fates.tries[name] >= tries:
                del alive[name]
        fates = fates._replace(streams=number + 1)
        dead = len(fates.exception) + len(fates.verdict)
        _say(number + 1, f"{dead} of {len(changed)} changes are killed, {len(alive)} go on")
    return fates


def _killed(change: Change, stream: Stream, said: Heard) -> tuple[str, str] | None:
    """How a stream notices a change, and what shows it; None where it does not."""
    try:
        with made(change), _in_time():
            follow(stream.lines, stream.mode, said)
    except Differs as error:
        return "verdict", str(error)
    except Exception as error:  # whatever a wrong definition leads to
        return "exception", f"{type(error).__name__}: {error}"
    return None


def _say(number: int, text: str) -> None:
    if sys.stderr.isatty() or number in (1, 10) or number % 50 == 0:
        print(f"{number} streams: {text}", file=sys.stderr, flush=True)


# The page.


def report(changed: Sequence[Change], fates: Fates) -> str:
    """How many of each module and by each operator, and those that survived."""
    dead = {*fates.exception, *fates.verdict}
    left = [change for change in changed if change.name not in dead]
    told_of = [
        f"{len(left)} of {len(changed)} changes survive {fates.streams} streams: "
        f"{len(fates.verdict)} change a verdict, {len(fates.exception)} raise an exception"
    ]
    sets: tuple[list[Change], ...] = (
        [*changed],
        [c for c in changed if c.name in fates.verdict],
        [c for c in changed if c.name in fates.exception],
        left,
    )
    tables: tuple[tuple[str, Callable[[Change], str], Sequence[str]], ...] = (
        ("module", lambda c: c.part.module, MODULES),
        ("operator", lambda c: c.operator, [*OPERATORS]),
    )
    for title, of, rows in tables:
        told_of += ["", f"{title:16}{'changes':>9}{'verdict':>9}{'exception':>11}{'survive':>9}"]
        counts = [Counter(map(of, each)) for each in sets]
        for row in rows:
            if counts[0][row]:
                every, verdict, error, alive = (count[row] for count in counts)
                told_of.append(f"{row:16}{every:9}{verdict:9}{error:11}{alive:9}")
    told_of += ["", "Survivors:"] if left else []
    for c in left:
        where, tried = f"spec/projection/{c.part.module}.py:{c.line}", fates.tries[c.name]
        told_of.append(f"{where} {c.name} ({tried} tries): {c.says}")
    return "\n".join(told_of)


def main(argv: Sequence[str] | None = None) -> int:
    """Judge the changes of some modules, or of all."""
    parser = argparse.ArgumentParser(prog="python -m tests.projection_mutants", description=__doc__)
    parser.add_argument("module", nargs="*", help=f"of {', '.join(MODULES)}; all by default")
    parser.add_argument("--streams", type=int, default=600, help="streams by chance (600)")
    parser.add_argument("--tries", type=int, default=TRIES, help=f"of each change ({TRIES})")
    parser.add_argument("--minutes", type=float, help="begin no stream after so long")
    parser.add_argument("--killers", action="store_true", help="say what killed each, too")
    asked = parser.parse_args(argv)
    if odd := set(asked.module) - set(MODULES):
        parser.error(f"no module {', '.join(sorted(odd))}; there are {', '.join(MODULES)}")
    until = None if asked.minutes is None else time.monotonic() + 60 * asked.minutes
    changed = [change for name in asked.module or MODULES for change in changes(name)]
    fates = judge(changed, streams(asked.streams), asked.tries, until)
    if asked.killers:
        for name, why in (fates.exception | fates.verdict).items():
            print(f"{name}: {why}")
    print(report(changed, fates))
    if not fates.whole:
        return 3
    return int(len(changed) > len(fates.exception) + len(fates.verdict))


if __name__ == "__main__":
    raise SystemExit(main())
