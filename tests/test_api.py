"""What the packages offer by name is there, and costs nothing until it is asked for."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import models
import monitor
import proofs
import spec

ROOT = Path(__file__).parents[1]
PACKAGES = [models, monitor, proofs, spec]
HEAVY = ["graphviz", "pydantic", "rich", "transitions", "typer", "vllm", "yaml", "z3"]


def typed(package: ModuleType) -> dict[str, str]:
    """The names that a package imports for type checkers, each with its module."""
    tree = ast.parse(Path(str(package.__file__)).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def imported(statement: str) -> set[str]:
    """Of the modules that are heavy, those that a new process has imported after a statement."""
    code = f"{statement}\nimport sys\nprint([m for m in {HEAVY} if m in sys.modules])"
    run = [sys.executable, "-c", code]
    done = subprocess.run(
        run, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1]
    )
    return set(ast.literal_eval(done.stdout))


@pytest.mark.parametrize("package", PACKAGES)
class TestOffered:
    def test_all(self, package: ModuleType) -> None:
        """What is offered is what type checkers see, and the names are in order."""
        offered = [name for name in package.__all__ if name != "__version__"]

        assert sorted(typed(package)) == sorted(offered)

    def test_same(self, package: ModuleType) -> None:
        """A name is the object of its module."""
        for name, module in typed(package).items():
            assert getattr(import_module(module), name) is getattr(package, name)

    def test_dir(self, package: ModuleType) -> None:
        """`dir` lists what is offered, whether it was asked for or not."""
        assert set(package.__all__) <= set(dir(package))

    def test_no_such_name(self, package: ModuleType) -> None:
        """Any other name is an error, as of any module."""
        with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute"):
            _ = package.no_such_name

    def test_no_module_of_that_name(self, package: ModuleType) -> None:
        """A module of a package would take the place of a name when it is imported."""
        modules = {path.stem for path in Path(str(package.__file__)).parent.iterdir()}

        assert set() == modules & set(package.__all__)


class TestCost:
    @pytest.mark.parametrize("package", ["spec", "monitor", "models", "runtime_hooks"])
    def test_import(self, package: str) -> None:
        """A package imports nothing heavy by itself."""
        assert set() == imported(f"import {package}")

    def test_writer(self) -> None:
        """Whoever writes a trace imports nothing heavy."""
        assert set() == imported("from monitor import TraceWriter")

    def test_judge(self) -> None:
        """Whoever judges imports nothing heavy."""
        judge = "from monitor import EventMonitor, check_files; EventMonitor('expiring').finish()"

        assert set() == imported(judge)
