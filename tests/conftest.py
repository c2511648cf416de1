"""What all processes of a test run share."""

from __future__ import annotations

import gc
import os
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings

from tests.once import SHARED

_ROUND = 50_000
_FOLDER = pytest.StashKey[TemporaryDirectory[str]]()


settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    if SHARED not in os.environ:
        folder = config.stash[_FOLDER] = TemporaryDirectory(prefix="resident-claims-")
        os.environ[SHARED] = folder.name


def pytest_unconfigure(config: pytest.Config) -> None:
    if _FOLDER in config.stash:
        del os.environ[SHARED]
        config.stash[_FOLDER].cleanup()


def pytest_collection_finish() -> None:
    """Thousands of tests were made that stay: the collector need not look at them again, nor so
    often at terms and formulas, which go by count."""
    gc.freeze()
    gc.set_threshold(_ROUND)
