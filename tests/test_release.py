"""A release has one version, wherever it is stated."""

import re
from typing import Final

import pytest

from spec import __version__
from tests.installation import ROOT

STATED: Final = {
    "pyproject.toml": r'^version = "(.+)"$',
    "monitor/native/Cargo.toml": r'^version = "(.+)"$',
    "monitor/native/Cargo.lock": r'^name = "resident-claims\S*"\nversion = "(.+)"$',
    "docs/kubernetes/claims.yaml": r"image: \S+/resident-claims:(\S+)$",
    "docs/kubernetes/watch.yaml": r"image: \S+/resident-claims:(\S+)$",
    "Containerfile": r"resident-claims:(\S+)",
    "CHANGELOG.md": r"^## (\d\S+)",
}
"""The files that state the version, and how each does."""


class TestVersion:
    """docs/releasing.md, step 1"""

    @pytest.mark.parametrize("name", STATED)
    def test_stated(self, name: str) -> None:
        """A file states the version of the package; in the changelog it is the newest one."""
        found = re.findall(STATED[name], (ROOT / name).read_text(), re.MULTILINE)
        assert __version__ == found[0]
        assert name == "CHANGELOG.md" or {__version__} == set(found)
