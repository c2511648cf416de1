"""Gives pytest the options of the adapter suite, and loads the plug-in when they are used.

pytest imports this module in every project of an environment in which resident-claims is installed.
So it imports nothing of ours, and the plug-in, which lives in `proofs`, only for a named suite:
elsewhere a missing extra or another package called `models` is no reason to stop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pytest

__all__ = ["pytest_addoption", "pytest_configure", "pytest_load_initial_conftests"]

_SUITE: Final = "--resident-claims-suite"
_ADAPTER: Final = "--adapter"
_PLUGIN: Final = "proofs.counterexamples.pytest_suite"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names a suite."""
    group = parser.getgroup("resident-claims")
    group.addoption(_SUITE, metavar="DIR", help="what `proofs counterexamples -o DIR` wrote")


def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser) -> None:
    """Add the option that names an adapter, where a suite is named.

    Another project may have an option `--adapter` of its own.
    """
    if early_config.known_args_namespace.resident_claims_suite is not None:
        group = parser.getgroup("resident-claims")
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
