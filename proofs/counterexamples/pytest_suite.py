"""A pytest plug-in that runs a suite against an adapter of your own.

    pytest --resident-claims-suite DIR --adapter my.module:Adapter

`spec.cli.suite_options` adds the options, and loads this module where they are given.

An adapter has `write`, which turns canonical events into lines of its own form, and `read`, which
turns those lines into canonical events again. Each run of the suite goes through both, and the
monitor judges what comes out. It must say what it says of the run itself. Where it is inconclusive,
because the form of the adapter has no words for what happened, the test is skipped. A run that
breaks a mode must never come out as kept.

An adapter that cannot be made, or that raises, ends pytest with 2. One that returns anything but
lines and events fails the test.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proofs.counterexamples.suite import Row
    from spec.events.canonical import Event

__all__ = ["Adapter"]

_SUITE: Final = "--resident-claims-suite"
_ADAPTER: Final = "--adapter"
_INDEX: Final = "index.json"  # as in proofs.counterexamples.suite, imported where it is needed
_INCONCLUSIVE: Final = "inconclusive"

_MOST: Final = 10_000
"""The most lines, and the most events, that an adapter may make of a run."""

_LARGEST: Final = 16 << 20
"""The most characters that the lines of a run may have."""


class Adapter(Protocol):
    """What `--adapter` names, called without arguments."""

    def write(self, events: Sequence[Event]) -> Iterable[str]:
        """The events of one stream as lines of the adapter's own form."""

    def read(self, lines: Iterable[str]) -> Iterable[Event]:
        """The canonical events of such lines."""


def pytest_configure(config: pytest.Config) -> None:
    """Collect the index of the suite, too."""
    folder = config.getoption(_SUITE, None)
    if folder is None:
        return
    if config.getoption(_ADAPTER) is None:
        _give_up(f"{_SUITE} needs {_ADAPTER} MODULE:CLASS")
    index = Path(folder, _INDEX)
    if not index.is_file():
        _give_up(f"there is no suite in {folder}")
    config.args.append(str(index))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The runs of the suite, if this is its index."""
    folder = parent.config.getoption(_SUITE, None)
    if folder is None or file_path.resolve() != Path(folder, _INDEX).resolve():
        return None
    found: pytest.Collector = _Index.from_parent(parent, path=file_path)
    return found


def _give_up(why: str) -> NoReturn:
    from spec.language.prose import printable

    pytest.exit(f"error: {printable(why)}", returncode=2)


def _refused(why: str) -> pytest.Collector.CollectError:
    """What pytest prints as it is, and ends with 2 for."""
    from spec.language.prose import printable

    return pytest.Collector.CollectError(f"error: {printable(why)}")


class _Index(pytest.File):
    """The runs of a suite."""

    def collect(self) -> Iterator[pytest.Item]:
        from proofs.counterexamples.folder import read_suite
        from spec.language.errors import SpecError

        try:
            suite = read_suite(self.path.parent)
        except SpecError as error:
            raise _refused(str(error)) from None
        adapter = _adapter(self.config.getoption(_ADAPTER))
        for row in suite.rows:
            if row.trace is not None:
                yield _Run.from_parent(self, name=row.inference, row=row, adapter=adapter)


def _adapter(named: str) -> Any:
    """The adapter of this name."""
    import importlib

    module, _, name = named.partition(":")
    if not module or not name:
        raise _refused(f"{_ADAPTER} {named} is not MODULE:CLASS")
    try:
        made = getattr(importlib.import_module(module), name)()
        lacks = [each for each in ("write", "read") if not callable(getattr(made, each, None))]
    except KeyboardInterrupt:
        raise
    except BaseException as problem:  # it may call sys.exit
        raise _refused(f"cannot make {named}: {_named(problem)}") from None
    if lacks:
        raise _refused(f"{named} has no method {lacks[0]}")
    return made


def _named(problem: BaseException) -> str:
    """An exception in one line, whatever its text does."""
    try:
        text = " ".join(str(problem).split())[:300]
    except Exception:
        text = "without a text"
    return f"{type(problem).__name__}: {text}"


class _Run(pytest.Item):
    """One run, through the adapter and the monitor."""

    def __init__(self, *, row: Row, adapter: Any, **rest: Any) -> None:
        super().__init__(**rest)
        self.row, self.adapter = row, adapter

    def runtest(self) -> None:
        """Write and read the events of the run, and compare the verdicts."""
        from monitor.check.events import EventMonitor
        from proofs.counterexamples.folder import events_in, read_file
        from spec.language.errors import SpecError

        try:
            events = events_in(read_file(self.path.parent / str(self.row.trace)))
            monitor = EventMonitor(self.row.mode)
        except (OSError, ValueError) as problem:
            raise _Wrong(f"the suite: {_named(problem)}") from None
        for number, event in enumerate(self._read(events), 1):
            try:
                monitor.feed(event)
            except SpecError as problem:
                raise _Wrong(f"read makes no event at {number}: {_named(problem)}") from None
        verdict = str(monitor.finish().verdict)
        if verdict == _INCONCLUSIVE != self.row.verdict:
            pytest.skip(f"the monitor is {_INCONCLUSIVE} about what the adapter read")
        if verdict != self.row.verdict:
            raise _Wrong(f"the monitor says {verdict}, and {self.row.verdict} of the run itself")

    def _read(self, events: list[Event]) -> list[Any]:
        """What the adapter reads of what it writes."""
        lines = self._made("write", events)
        for number, line in enumerate(lines, 1):
            if not isinstance(line, str):
                raise _Wrong(f"write makes {type(line).__name__} at {number}, not a line of text")
        read = self._made("read", lines)
        if not read:
            raise _Wrong(f"read makes no events of {len(lines)} lines")
        return read

    def _made(self, name: str, given: list[Any]) -> list[Any]:
        """What a method of the adapter makes: a list, or anything else that ends."""
        found: list[Any] = []
        left = _LARGEST
        try:
            made = getattr(self.adapter, name)(given)
            if isinstance(made, str | bytes) or not isinstance(made, Iterable):
                raise _Wrong(f"{name} makes {type(made).__name__}, not a list")
            for each in made:
                found.append(each)
                left -= len(each) if isinstance(each, str) else 1
                if len(found) > _MOST or left < 0:
                    limit = f"{_MOST:,} items or {_LARGEST >> 20} MiB"
                    raise _Wrong(f"{name} makes more than {limit} of {len(given)}")
        except (KeyboardInterrupt, _Wrong):
            raise
        except BaseException as problem:  # it may call sys.exit
            _give_up(f"the adapter raises {_named(problem)} in {name}, on {self.name}")
        return found

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """What is wrong, and the story of the run."""
        if isinstance(excinfo.value, _Wrong):
            return f"{self.name}: {excinfo.value}\n{self.row.story}"
        return str(super().repr_failure(excinfo, style))

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where the run is from."""
        return self.path, None, self.name


class _Wrong(Exception):
    """Another verdict than predicted, or something else than lines and events."""
