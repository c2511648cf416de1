"""Puts one change into the live modules of `spec/projection`, and sees where it can matter."""

from __future__ import annotations

import ast
import importlib
import inspect
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.machines import Automaton
from spec.projection.lines import Line
from spec.projection.naive import Naive
from tests.differential.compare import Heard, follow
from tests.projection_mutants.changes import Change, Part

__all__ = ["Reached", "Stream", "in_time", "made", "state_of"]

_ACTS: Final = {
    *("pool.tell", "pool.bind", "rights.begin", "rights.enter", "rights.stop", "sight.Moment.room"),
    *("case", "lines", "naive", "contents.adopt", "losses.follow", "routes.follow"),
}
"""Functions, and modules of functions, that change what they are given, or remember."""

_COMPUTES: Final = {
    *("case.Case._finding", "case.Case.settled", "case._Scope.is_of", "case._line"),
    *("lines.Order.cut", "lines.Order.why", "naive.Naive._moves", "naive.Naive._object_of"),
    *("naive.Naive._stale", "naive.Naive.is_judged"),
}
"""Functions of these modules that only compute."""

_BY_ITSELF: Final = {Kind.DURATION_ELAPSED, Kind.STREAM_DISORDER}
"""Events that the projection adds to those of a stream."""

_PATIENCE: Final = 5.0  # seconds of one core for what takes a fraction of one


class Stream(NamedTuple):
    """A stream that is judged in one mode, of one sort of streams."""

    name: str
    lines: Sequence[Line]
    mode: Mode
    sort: str = ""


class _NeverEndsError(Exception):
    """A change makes the projection run on and on."""


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
def in_time(
    ignored: Callable[[], bool] = lambda: False, seconds: float = _PATIENCE
) -> Iterator[None]:
    """What is done here is interrupted when it runs for so long, unless that is to be ignored.

    Args:
        seconds: of one core.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        if not ignored():
            raise _NeverEndsError("it does not end")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def state_of(naive: Naive) -> str:
    """All that a projection remembers at the end of a stream."""
    pool, cases = naive.pool, naive.cases.values()
    pools = [vars(each) for each in (*pool.claims.values(), *pool.requests.values())]
    rest = [naive.left, sorted(pool.requests), sorted(map(repr, pool.placed))]
    return repr([_plain(each) for each in (*pools, *map(vars, cases))] + rest)


def _plain(found: object) -> object:
    """The same, in one order."""
    if isinstance(found, Mapping):
        return {key: _plain(found[key]) for key in sorted(found, key=repr)}
    if isinstance(found, set | frozenset):
        return sorted(map(repr, found))
    if isinstance(found, list | tuple):
        return [_plain(each) for each in found]
    if isinstance(found, Automaton):  # what it is of, and what is unknown to it, is told beside it
        return "automaton"
    return _plain(vars(found)) if is_dataclass(found) else found


class Reached:
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
            elif _acts(change.part):
                for line in change.lines:
                    at = (function.__code__.co_filename, line)
                    self._lines.setdefault(at, []).append(change.name)
            else:
                other = _function(function, change.code)
                self._pure.setdefault(function, []).append((change.name, other))
        self._files = {path for path, _ in self._lines}

    def follow(self, stream: Stream, said: Heard) -> tuple[set[str], str]:
        """The changes that can matter, and the state that the original leaves.

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
            with in_time(lambda: not self._busy):
                left, _ = follow(stream.lines, stream.mode, said)
        return self.found, state_of(left)

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


def _acts(part: Part) -> bool:
    """Whether the function changes what it is given."""
    name = f"{part.module}.{part.name}"
    return bool({part.module, name} & _ACTS) and name not in _COMPUTES


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
        return bool(result == other(*args, **named))
    except Exception:
        return False
