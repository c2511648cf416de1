"""Judges several files at once, each in a process of its own, and puts together what they found."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from monitor.check.again import seekable
from monitor.check.judging import Judging
from monitor.check.running import run, source_of
from monitor.check.snapshots import State, restored, snapshot
from monitor.input.errors import InputError
from monitor.input.lines import STDIN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set
    from types import TracebackType
    from typing import Self

    from monitor.check.whole import Asked
    from monitor.input.reorder_window import Window
    from monitor.input.sources import Account
    from spec.claims.claim import Mode

__all__ = ["Jobs", "Judged"]


class Judged(NamedTuple):
    """Judges that have read everything, and what was read of each file."""

    judging: Judging
    accounts: Sequence[Account]


class _Task(NamedTuple):
    asked: Asked
    modes: frozenset[Mode]
    own: bool
    shared: bool
    path: str
    lenient: bool
    window: Window | None


class _Done(NamedTuple):
    """What became of a file of so many bytes: a snapshot of its judges; or a mode that has none; or
    that the modes are to be judged apart; or the parts of the error.
    """

    size: int
    state: bytes = b""
    apart: bool = False
    more: Mode | None = None
    wrong: tuple[Any, ...] = ()


def _judge(task: _Task, stdin: BinaryIO | None = None) -> _Done:
    judging = Judging(task.asked, task.modes, own=task.own, shared=task.shared)
    source = source_of(judging, [task.path], task.lenient, stdin, task.window)
    try:
        more = run(judging, source, None)
    except InputError as error:
        return _Done(source.size, wrong=error.args)
    if more is not None or judging.apart:
        return _Done(source.size, more=more, apart=judging.apart)
    (account,) = source.accounts
    return _Done(source.size, snapshot(State(judging, account)))


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
        # A new process begins empty: a copy of this one would have its locks, and not its threads.
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(min(jobs, len(self._paths)), mp_context=context)
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
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._input.__exit__(kind, error, trace)

    def judge(
        self, modes: Set[Mode], *, own: bool, progress: Callable[[int], None] | None
    ) -> Judged | Set[Mode]:
        """Judge every file; or return the modes that claims state and that have no judge.

        Raises:
            InputError: a file or a line of it cannot be read.
        """
        given = self._asked, frozenset(modes), own, self._shared
        tasks = [_Task(*given, path, self._lenient, self._window) for path in self._paths]
        others = {t.path: self._pool.submit(_judge, t) for t in tasks if t.path != STDIN}
        judging = Judging(self._asked, modes, own=own, shared=self._shared)
        accounts: list[Account] = []
        more: set[Mode] = set()
        read, apart = 0, False
        for task in tasks:
            if task.path in others:
                try:
                    done = others[task.path].result()
                except BrokenExecutor:
                    hint = "there may be too little memory; use fewer --jobs"
                    raise InputError(task.path, "its process was ended", hint=hint) from None
            else:
                if self._copy is not None:
                    self._copy.seek(0)
                done = _judge(task, self._copy)
            apart |= done.apart
            if done.more is not None:
                more.add(done.more)
            elif not (more or apart):  # else what comes after it is judged again
                if done.wrong:
                    file, reason, line, field, hint = done.wrong
                    raise InputError(file, reason, line=line, field=field, hint=hint)
                state = restored(done.state)
                judging.join(state.judging)
                accounts.append(state.account)
            if progress is not None:
                read += done.size
                progress(read)
        if apart:
            self._shared = False
            return more or self.judge(modes, own=own, progress=progress)
        return more or Judged(judging, accounts)
