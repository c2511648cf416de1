"""Judges several files at once, each in a process of its own, and puts together what they found.

What was found comes back by pickle, as the standard library has it: it was written by a process of
the same command, and no file is read so.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from ctypes import c_byte
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeAlias

from monitor.check.conclude import Found
from monitor.durable.collector import begun, paused
from monitor.input.errors import InputError
from monitor.input.lines import STDIN, size_of
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.context import BaseContext

__all__ = ["Judge", "judge_apart"]


class Judge(Protocol):
    """Judges files, in whatever process it is called."""

    def __call__(
        self,
        paths: Sequence[str],
        *,
        stdin: BinaryIO | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Found:
        """What is found in them; raises InputError."""


_Done: TypeAlias = tuple[int, Found]
"""The bytes of a file, and what was found in it."""

_given_up: list[c_byte] = []
"""In a process that judges: not 0 once no process waits for its results."""


def judge_apart(
    judge: Judge,
    paths: Sequence[str],
    jobs: int,
    *,
    stdin: BinaryIO | None,
    progress: Callable[[int], None] | None,
) -> Found:
    """What is found in files that are judged in so many processes, as one process would find it:
    the order of the files decides what comes first. Standard input is read by this process.

    Args:
        judge: can be pickled.
        progress: called with the number of bytes read.

    Raises:
        InputError: a file or a line of it cannot be read.
        SpecError: there are too few open files or processes for so many jobs.
    """
    number, context = min(jobs, len(paths)), _context()
    given_up = context.RawValue(c_byte, 0)
    others = {*multiprocessing.active_children()}
    try:
        pool = ProcessPoolExecutor(
            number, mp_context=context, initializer=_begun, initargs=(given_up,)
        )
    except OSError as error:
        raise _too_many(number, error) from None
    found, read = Found(), 0
    try:
        for size, each in _judged(pool, judge, paths, number, others, stdin):
            found.join(each)
            if progress is not None:
                read += size
                progress(read)
    except BaseException:
        given_up.value = True
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return found


def _judged(
    pool: ProcessPoolExecutor,
    judge: Judge,
    paths: Sequence[str],
    number: int,
    others: set[multiprocessing.process.BaseProcess],
    stdin: BinaryIO | None,
) -> Iterator[_Done]:
    """What became of each file, in the order of the files."""
    futures: dict[str, Future[_Done]] = {}
    try:
        for path in sorted(paths, key=size_of, reverse=True):  # the longest begins first
            if path != STDIN:
                futures[path] = pool.submit(_judge, judge, path)
    except OSError as error:
        # Those that were made wait for tasks, and no thread is left that would end them.
        for process in {*multiprocessing.active_children()} - others:
            process.terminate()
        raise _too_many(number, error) from None
    if STDIN in paths:
        futures[STDIN] = _here(judge, stdin)
    for path in paths:
        try:
            with paused():  # while what was found is read
                done = futures.pop(path).result()
        except BrokenExecutor:
            hint = "there may be too little memory; use fewer --jobs"
            raise InputError(path, "its process was ended", hint=hint) from None
        yield done


def _judge(judge: Judge, path: str) -> _Done:
    """Judge a file in a process of its own."""
    return size_of(path), judge([path], progress=_go_on)


def _here(judge: Judge, stdin: BinaryIO | None) -> Future[_Done]:
    """Judge standard input, meanwhile."""
    size, done = 0, Future[_Done]()

    def progress(read: int) -> None:
        nonlocal size
        size = read

    try:
        found = judge([STDIN], stdin=stdin, progress=progress)
        done.set_result((size, found))
    except InputError as error:
        done.set_exception(error)
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
