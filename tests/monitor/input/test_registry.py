"""Tests of the list of dialects."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from monitor.input import dialects
from monitor.input.dialects import (
    Dialect,
    allocator,
    canonical,
    connector,
    kv_events,
    otlp,
    reference,
)

TYPED: Final[tuple[Callable[[str], Dialect], ...]] = (
    canonical.DIALECT,
    otlp.DIALECT,
    kv_events.DIALECT,
    reference.DIALECT,
    connector.DIALECT,
    allocator.DIALECT,
)
"""What mypy compares with the protocol: the list of modules is of names."""


class TestRegistry:
    """A dialect is a module of the folder and a name in the list."""

    def test_each_module_is_listed(self) -> None:
        """Each module of the folder but the shared ones is a dialect that is asked."""
        folder = Path(str(dialects.__file__)).parent
        modules = {file.stem for file in folder.glob("*.py") if not file.stem.startswith("_")}
        assert modules == set(dialects._NAMES)
        assert list(TYPED) == [dialects._dialect(name).DIALECT for name in dialects._NAMES]
