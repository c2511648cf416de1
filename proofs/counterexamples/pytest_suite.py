"""A pytest plug-in that runs a suite against an adapter of your own.

    pytest --resident-claims-suite DIR --adapter my.module:Adapter

`spec.cli.suite_options` adds the options, and loads this module where they are given.

An adapter has `write`, which turns canonical events into lines of its own form, and `read`, which
turns those lines into canonical events again. Each run of the suite goes through both, and the
monitor judges what comes out: it must say what it says of the run, or that it cannot tell, where
the form of the adapter has no words for it. A run that breaks a mode must never come out as kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from spec.events.canonical import Event

__all__ = ["Adapter"]

_SUITE = "--resident-claims-suite"
_ADAPTER = "--adapter"
_INDEX = "index.json"  # as in proofs.counterexamples.suite, which is imported where it is needed


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
    pytest.exit(f"error: {why}", returncode=2)


class _Index(pytest.File):
    """The runs of a suite."""

    def collect(self) -> Iterator[pytest.Item]:
        from proofs.counterexamples.reading import read_suite
        from spec.language.errors import SpecError

        try:
            suite = read_suite(self.path.parent)
        except SpecError as error:
            _give_up(str(error))
        adapter = _adapter(self.config.getoption(_ADAPTER))
        for row in suite.rows:
            if row.trace is not None:
                yield _Run.from_parent(self, name=row.inference, row=row, adapter=adapter)


def _adapter(named: str) -> Any:
    import importlib

    module, _, name = named.partition(":")
    try:
        return getattr(importlib.import_module(module), name)()
    except Exception as problem:
        _give_up(f"cannot make {named}: {type(problem).__name__}: {problem}")


class _Run(pytest.Item):
    """One run, through the adapter and the monitor."""

    def __init__(self, *, row: Any, adapter: Any, **rest: Any) -> None:
        super().__init__(**rest)
        self.row, self.adapter = row, adapter

    def runtest(self) -> None:
        import msgspec

        from monitor.check.events import EventMonitor
        from spec.events.canonical import Event

        path = self.path.parent / self.row.trace
        events = [msgspec.json.decode(e, type=Event) for e in path.read_bytes().splitlines()]
        try:
            read = [*self.adapter.read([*self.adapter.write(events)])]
        except Exception as problem:
            _give_up(f"the adapter raises {type(problem).__name__} on {self.name}: {problem}")
        monitor = EventMonitor(self.row.mode)
        for event in read:
            monitor.feed(event)
        said = str(monitor.finish().verdict)
        if said not in (self.row.verdict, "inconclusive"):
            raise _Wrong(f"the monitor says {said}, and {self.row.verdict} of the run itself")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        if isinstance(excinfo.value, _Wrong):
            return f"{self.name}: {excinfo.value}\n{self.row.story}"
        return str(super().repr_failure(excinfo, style))

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


class _Wrong(Exception):
    """Another verdict than predicted."""
