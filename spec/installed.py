"""Checks the installation before a package is imported: what shadows it, which extras are missing.

A command that is interrupted while its packages are imported ends in one line, too. The other
packages run this file by its path before they import anything, because `spec` may itself be
shadowed. So it imports the standard library alone, and imports no package that it looks for.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

__all__ = [
    "EXTRAS",
    "NEEDS",
    "Extra",
    "Fault",
    "end_at_once",
    "fault_of",
    "how_to_install",
    "interrupts_end",
    "require",
]

NEEDS: Final[dict[str, tuple[str, ...]]] = {
    "spec": (),
    "monitor": ("spec",),
    "models": ("spec",),
    "proofs": ("spec", "monitor", "models"),
    "runtime_hooks": ("spec", "monitor"),
}
"""The packages that each package imports."""

_ROOT: Final = Path(__file__).parents[1]
_MARK: Final = b"resident-claims"  # in the __init__.py of each package
# spec.cli.common.Code has them, which must not be imported here.
_INTERNAL, _BAD_INPUT, _INTERRUPTED = 70, 2, 130


class Extra(NamedTuple):
    """An optional part of the installation: its name, and the module and distribution it brings."""

    name: str
    module: str
    distribution: str


EXTRAS: Final[dict[str, Extra]] = {"proofs": Extra("proofs", "z3", "z3-solver")}
"""The extra without which a package cannot be imported."""


class Fault(NamedTuple):
    """What is wrong, in a sentence, and the exit code of a command that stops there."""

    says: str
    code: int


def fault_of(package: str) -> Fault | None:
    """What keeps a package of ours from being imported; None where nothing does."""
    for name in (package, *NEEDS[package]):
        if says := _not_ours(name):
            return Fault(says, _INTERNAL)
    extra = EXTRAS.get(package)
    if extra is None or find_spec(extra.module) is not None:
        return None
    says = f"{package} needs {extra.distribution}, which is not installed"
    return Fault(f"{says}; {how_to_install(extra.name)}", _BAD_INPUT)


def how_to_install(extra: str) -> str:
    """How a person adds an extra."""
    return f"install resident-claims with its extra: in a checkout, pip install '.[{extra}]'"


def require(package: str, argv: list[str], *, raises: bool = True) -> str:
    """End a `python -m PACKAGE` that cannot work, in one line and with the exit code of the fault.

    Args:
        package: one of NEEDS, which is being imported.
        argv: `sys.argv`, which begins with "-m" while `python -m` looks for what it is to run.
        raises: False for a package that may be imported where it cannot work.

    Returns:
        What is wrong; empty where nothing is.

    Raises:
        ImportError: there is a fault, and another program imports the package.
    """
    fault = fault_of(package)
    if fault is None:
        return ""
    if _is_run(package, argv):
        with suppress(AttributeError, OSError):  # standard error is closed
            sys.stderr.write(f"error: {fault.says}\n")
        raise SystemExit(fault.code)
    if raises:
        raise ImportError(fault.says)
    return fault.says


def interrupts_end() -> None:
    """Let an interrupt end the process without a traceback, until `every_interrupt` takes over.

    An exception would not do: one that is raised in a callback of an import is printed, and lost.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_at_once)


def end_at_once(*_: object) -> None:
    """End the process as one that was interrupted, in one line."""
    with suppress(OSError):  # standard error is closed
        os.write(2, b"error: interrupted\n")
    os._exit(_INTERRUPTED)


def _is_run(package: str, argv: list[str]) -> bool:
    """Whether `python -m` is importing the package in order to run it."""
    asked = {word.split(".")[0] for word in sys.orig_argv[1:]}
    return argv[:1] == ["-m"] and not asked.isdisjoint({package, f"-m{package}"})


def _not_ours(name: str) -> str:
    """Why importing `name` would not give our package; empty where it would."""
    ours = _ROOT / name / "__init__.py"
    try:
        found = find_spec(name)
        origin = None if found is None else found.origin
    except ValueError:  # a module in memory that says nothing of where it comes from
        found, origin = None, getattr(sys.modules[name], "__file__", None)
    if origin is not None and Path(origin).resolve() != ours.resolve():
        return (
            f"{_printable(origin)} is imported as {name}, and shadows {_printable(ours.parent)}; "
            f"{_remedy(origin)}"
        )
    try:
        marked = _MARK in ours.read_bytes()
    except OSError:
        return f"{_printable(ours)} cannot be read; install resident-claims again"
    if not marked:
        return (
            f"{_printable(ours)} was written by another package called {name}; "
            "install resident-claims in an environment without it"
        )
    return ""


def _remedy(origin: str) -> str:
    first = Path(sys.path[0] if sys.path else "").resolve()  # the working folder of `python -m`
    if Path(origin).resolve().is_relative_to(first):
        return "run it from another folder, or as the command resident-claims"
    return "take that folder off Python's path (sys.path, PYTHONPATH)"


def _printable(path: object) -> str:
    return repr(str(path))[1:-1]


_given = globals()
if "ASKED" in _given:  # run by its path, by the package of that name
    if _is_run(_given["ASKED"], _given["ARGV"]):
        interrupts_end()
    FAULT = require(_given["ASKED"], _given["ARGV"], raises=_given.get("RAISES", True))
