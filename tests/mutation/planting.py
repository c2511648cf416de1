"""Plants a mistake in a process of its own, and asks there whether it is noticed."""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from tests.mutation.mistakes import path_of

__all__ = ["planted"]

_PACKAGES = {"spec", "proofs", "models", "monitor"}
_OWN = {"tests.mutation.probes", "tests.mutation.certificates"}  # they import the packages


class _Planted(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from another source."""

    def __init__(self, module: str, source: str) -> None:
        self._module, self._source = module, source

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self._module:
            return None
        return importlib.util.spec_from_loader(name, self, origin=str(path_of(name)))

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._source, str(path_of(self._module)), "exec"), module.__dict__)


def planted(module: str, source: str, ask: Callable[[], str], seconds: int = 300) -> str:
    """What `ask` answers where the module has this source, in a process of its own.

    An exception there is an answer, too: the mistake is noticed at once. The limit is of processor
    time, so that a busy machine changes nothing.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            answer = _asked(module, source, ask)
        except BaseException as fault:
            answer = f"raised: {type(fault).__name__}"
        os.write(writing, answer.encode()[:4_000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"NOT NOTICED: ended by signal {os.WTERMSIG(status)}: "
    return said


def _asked(module: str, source: str, ask: Callable[[], str]) -> str:
    """Every module of the packages is loaded again, so that each sees the mistake."""
    for name in [n for n in sys.modules if n.split(".")[0] in _PACKAGES or n in _OWN]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Planted(module, source))
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    return ask()
