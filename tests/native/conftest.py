"""Builds the native core for the tests, where cargo is found."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from monitor import native

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    """The library, as the sources are now; the tests are skipped where it cannot be built."""
    if shutil.which("cargo") is None:
        pytest.skip("there is no cargo to build the native core with")
    made = subprocess.run(
        ["make", "native-core"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    native.library.cache_clear()
