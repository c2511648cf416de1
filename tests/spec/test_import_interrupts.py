"""Tests of an interrupt while a command's packages are imported."""

from __future__ import annotations

import ctypes
import signal
from pathlib import Path

import pytest

from spec.cli.interrupts import every_interrupt, is_interrupt
from spec.installed import end_at_once, interrupts_end
from tests.installation import ROOT, call, environment

INTERRUPTS = """
import os, signal, sys

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder)
"""


def interrupting(folder: Path, module: str) -> dict[str, str]:
    """The environment of a call that is interrupted where it imports a module."""
    (folder / "sitecustomize.py").write_text(INTERRUPTS.format(module=module))
    return environment(folder)


class TestCommand:
    """`python -m PACKAGE`."""

    @pytest.mark.parametrize(
        ("package", "module"),
        [
            ("proofs", "z3"),
            ("proofs", "typer"),
            ("proofs", "models.registry"),
            ("monitor", "typer"),
            ("monitor", "monitor.check.files"),
            ("models", "models.framework.explore"),
            ("runtime_hooks", "typer"),
            ("spec", "typer"),
            ("spec", "spec.docs.drawing"),
        ],
    )
    def test_one_line(self, package: str, module: str, tmp_path: Path) -> None:
        """It ends in one line, with the exit code of an interrupt and no traceback."""
        env = interrupting(tmp_path, module)
        done = call("-m", package, "--help", cwd=ROOT, env=env)
        assert (130, "", "error: interrupted\n") == (done.returncode, done.stdout, done.stderr)

    def test_while_it_runs(self, tmp_path: Path) -> None:
        """What a command imports while it runs is interrupted as the command is."""
        env = interrupting(tmp_path, "models.runtimes.micro")
        done = call("-m", "models", "show", "micro", cwd=ROOT, env=env)
        assert (130, "", "error: interrupted\n") == (done.returncode, done.stdout, done.stderr)


class TestHandler:
    """Who hears an interrupt."""

    def test_an_import_changes_nothing(self) -> None:
        """A program that imports the packages hears its interrupts itself."""
        code = (
            "import signal, spec, monitor, models, proofs, runtime_hooks, spec.__main__;"
            "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
        )
        assert "True\n" == call("-c", code, cwd=ROOT).stdout

    def test_a_command_hears_its_own(self) -> None:
        """Within a command an interrupt is raised; before and after it, it ends the process."""
        try:
            interrupts_end()
            assert end_at_once is signal.getsignal(signal.SIGINT)
            with pytest.raises(KeyboardInterrupt), every_interrupt():
                signal.raise_signal(signal.SIGINT)
            assert end_at_once is signal.getsignal(signal.SIGINT)
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def test_ignored_interrupts(self) -> None:
        """Where a process ignores interrupts, as one in the background does, it goes on so."""
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            interrupts_end()
            with every_interrupt():
                assert signal.SIG_IGN == signal.getsignal(signal.SIGINT)
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)


class TestInAnArgument:
    """An interrupt that arrives while ctypes converts an argument."""

    @pytest.mark.parametrize(("raised", "of_it"), [(KeyboardInterrupt, True), (OSError, False)])
    def test_is_one(self, raised: type[BaseException], of_it: bool) -> None:
        """It is told apart from other errors of a conversion."""

        class Argument:
            @classmethod
            def from_param(cls, _: object) -> object:
                raise raised

        function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(abs)
        function.argtypes = [Argument]
        with pytest.raises(ctypes.ArgumentError) as found:
            function(1)
        assert of_it == is_interrupt(found.value)
