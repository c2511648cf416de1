"""The typed calls that `make lint` checks run, too."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.typing import api

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())


class TestTypedCalls:
    @pytest.mark.parametrize("name", api.__all__)
    def test_runs(self, name: str) -> None:
        """What the types say of a call is so."""
        call: Callable[[], None] = getattr(api, name)

        call()

    def test_is_checked(self) -> None:
        """`mypy --strict` reads them."""
        assert "tests/typing" in PROJECT["tool"]["mypy"]["files"]
