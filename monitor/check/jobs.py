"""Judges several files at once, each in a process of its own, and puts together what they found.

What was found comes back by pickle, as the standard library has it: it was written by a process of
the same command, and no file is read so.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from ctypes import c_byte
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from monitor.check.again import seekable
from monitor.check.judging import Judging
from monitor.check.running import run, source_of
from monitor.durable.collector import begun, paused
from monitor.input.errors import InputError
from monitor.input.lines import STDIN
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence, Set
    from concurrent.futures import Future
    from multiprocessing.context import BaseContext
    from types import TracebackType
    from typing import Self

    from monitor.check.portion import Portion
    from monitor.check.whole import Asked
    from monitor.input.reorder_window import Window
    from spec.claims.claim import Mode

__all__ = ["Jobs"]


class _Task(NamedTuple):
    asked: Asked
    modes: frozenset[Mode]
    own: bool
    shared: bool
    path: str
    lenient: bool
    window: Window | None


class _Done(NamedTuple):
    """What became of a file of so many bytes: what was found; or a mode that has no judge; or that
    the modes are to be judged apart; or the error.
    """

    size: int
    found: Portion | None = None
    apart: bool = False
    more: Mode | None = None
    wrong: InputError | None = None


_given_up: list[c_byte] = []
"""In a process that judges: not 0 once no process waits for its results."""

_last: list[Judging] = []
"""What a process judged last. To let go of all that it consists of takes time, in which another
process would wait for what was found.
"""


def _judge_apart(task: _Task) -> _Done:
    """Judge a file in a process of its own."""
    _last.clear()
    judging, done = _judge(task, None, _go_on)
    _last.append(judging)
    return done


def _judge(
    task: _Task, stdin: BinaryIO | None, progress: Callable[[int], None] | None = None
) -> tuple[Judging, _Done]:
    judging = Judging(task.asked, task.modes, own=task.own, shared=task.shared)
    source = source_of(judging, [task.path], task.lenient, stdin, task.window)
    try:
        more = run(judging, source, progress)
    except InputError as error:
        return judging, _Done(source.size, wrong=error)
    if more is not None or judging.apart:
        return judging, _Done(source.size, more=more, apart=judging.apart)
    return judging, _Done(source.size, judging.portion(source.accounts, apart=True))


class Jobs:
    """Processes that judge files. What they report is what one process would; the order of the
    files decides what comes first. Standard input is read by this process.

    Arguments are those of `check`.
    """

    def __init__(
        self,
        asked: Asked,
        paths: Sequence[str],
        jobs: int,
        *,
        lenient: bool,
        window: Window | None,
        stdin: BinaryIO | None,
    ) -> None:
        self._asked, self._paths = asked, tuple(dict.fromkeys(paths))
        self._lenient, self._window = lenient, window
        number = min(jobs, len(self._paths))
        self._others = {*multiprocessing.active_children()}
        context = _context()
        self._given_up = context.RawValue(c_byte, 0)
        given = (self._given_up,)
        try:
            self._pool = ProcessPoolExecutor(
                number, mp_context=context, initializer=_begun, initargs=given
            )
        except OSError as error:
            raise _too_many(number, error) from None
        self._number = number
        self._input = seekable(paths, stdin)
        self._copy: BinaryIO | None = None
        self._shared = True

    def __enter__(self) -> Self:
        self._copy = self._input.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._given_up.value = kind is not None
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._input.__exit__(kind, error, trace)

    def judge(
        self, modes: Set[Mode], *, own: bool, progress: Callable[[int], None] | None
    ) -> Portion | Set[Mode]:
        """Judge every file; or return the modes that claims state and that have no judge.

        Raises:
            InputError: a file or a line of it cannot be read.
            SpecError: there are too few open files or processes for so many jobs.
        """
        given = self._asked, frozenset(modes), own, self._shared
        tasks = [_Task(*given, path, self._lenient, self._window) for path in self._paths]
        found: Portion | None = None
        more: set[Mode] = set()
        read, apart = 0, False
        for done in self._done(tasks):
            apart |= done.apart
            if done.more is not None:
                more.add(done.more)
            elif not (more or apart):  # else what comes after it is judged again
                if done.wrong is not None:
                    raise done.wrong
                assert done.found is not None
                if found is None:
                    found = done.found
                else:
                    found.join(done.found)
            if progress is not None:
                read += done.size
                progress(read)
        if apart:
            self._shared = False
            return more or self.judge(modes, own=own, progress=progress)
        if found is None:
            return more
        return more or found

    def _done(self, tasks: Iterable[_Task]) -> Iterable[_Done]:
        """What became of each file, in the order of the files."""
        others: dict[str, Future[_Done]] = {}
        try:
            for task in sorted(tasks, key=_size, reverse=True):  # the longest begins first
                if task.path != STDIN:
                    others[task.path] = self._pool.submit(_judge_apart, task)
        except OSError as error:
            # Those that were made wait for tasks, and no thread is left that would end them.
            for process in {*multiprocessing.active_children()} - self._others:
                process.terminate()
            raise _too_many(self._number, error) from None
        here = {task.path: self._here(task) for task in tasks if task.path == STDIN}
        for task in tasks:
            if task.path == STDIN:
                yield here.pop(task.path)
                continue
            try:
                with paused():  # while what was found is read
                    done = others.pop(task.path).result()
            except BrokenExecutor:
                hint = "there may be too little memory; use fewer --jobs"
                raise InputError(task.path, "its process was ended", hint=hint) from None
            yield done

    def _here(self, task: _Task) -> _Done:
        """Judge standard input, meanwhile."""
        if self._copy is not None:
            self._copy.seek(0)
        _, done = _judge(task, self._copy)
        return done


def _begun(given_up: c_byte) -> None:
    """Prepare a process that judges, and have it end where the one that waits for it is killed."""
    begun()
    _given_up.append(given_up)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _go_on(_: int) -> None:
    """Raises InterruptedError where no process waits for the results. A process is not ended from
    outside: it may be handing over what it found, and its reader would wait for the rest.
    """
    if any(each.value for each in _given_up):
        raise InterruptedError


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


def _too_many(number: int, error: OSError) -> SpecError:
    reason = error.strerror or str(error)
    return SpecError(f"{number} processes cannot be made: {reason}", "use fewer --jobs")


def _context() -> BaseContext:
    """How processes are made. A copy of this one has at once what it takes long to import; but it
    has the locks of other threads, and not the threads, so where there are any a new one begins
    empty.
    """
    try:
        alone = sys.platform == "linux" and len(os.listdir("/proc/self/task")) == 1
    except OSError:
        alone = False
    return multiprocessing.get_context("fork" if alone else "spawn")


def _size(task: _Task) -> int:
    try:
        return os.stat(task.path).st_size
    except (OSError, ValueError):
        return 0
