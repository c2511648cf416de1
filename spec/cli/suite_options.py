"""Gives pytest the options of the adapter suite, and loads the plug-in when they are used.

pytest imports this module in every project of an environment in which resident-claims is installed.
So it imports nothing of ours, and the plug-in, which lives in `proofs`, only for a named suite:
elsewhere a missing extra or another package called `models` is no reason to stop.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pytest

__all__ = ["pytest_addoption", "pytest_configure"]

_SUITE: Final = "--resident-claims-suite"
_ADAPTER: Final = "--adapter"
_PLUGIN: Final = "proofs.counterexamples.pytest_suite"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names a suite, and where it is given the one that names an adapter.

    Another project may have an option `--adapter` of its own.
    """
    group = parser.getgroup("resident-claims")
    group.addoption(_SUITE, metavar="DIR", help="what `proofs counterexamples -o DIR` wrote")
    given = [*sys.argv, *os.environ.get("PYTEST_ADDOPTS", "").split()]
    if any(each.partition("=")[0] == _SUITE for each in given):
        group.addoption(_ADAPTER, metavar="MODULE:CLASS", help="the adapter that is tested")


def pytest_configure(config: Any) -> None:
    """Load the plug-in, if there is a suite to run."""
    if config.getoption(_SUITE) is None:
        return
    import pytest

    from spec.installed import fault_of

    fault = fault_of(_PLUGIN.partition(".")[0])
    if fault is not None:
        pytest.exit(f"error: {fault.says}", returncode=fault.code)
    config.pluginmanager.import_plugin(_PLUGIN)
