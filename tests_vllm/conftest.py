"""Engines for tests, each closed at the end of its test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime_hooks.demo.engine import Engine

Make = Callable[..., Engine]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Make an engine; one at a time."""
    made: list[Engine] = []

    def engine(
        usable: int = 80, *, engine: dict[str, Any] | None = None, **settings: Any
    ) -> Engine:
        made.append(Engine(tmp_path, usable, settings, **(engine or {})))
        return made[-1]

    yield engine
    for each in made:
        each.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    """How many runs `test_repeat` makes."""
    parser.addoption("--runs", type=int, default=8, help="runs of test_repeat, 131 for all")
