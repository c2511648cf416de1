"""The examples of docs/python-api.md run, and print what the page shows."""

import ast
import re

import pytest

import models
import monitor
import proofs
import spec
from tests.docs_api import PAGE, refreshed

TEXT = PAGE.read_text()


class TestPythonApi:
    def test_examples(self) -> None:
        """Each example prints what is below it (`python -m tests.docs_api` writes it anew)."""
        assert TEXT.splitlines() == refreshed(TEXT).splitlines()

    def test_no_example_is_left_out(self) -> None:
        """Each piece of Python has what it prints below it, which is something."""
        assert TEXT.count("```python\n") == len(re.findall(r"```\n\n```text\n[^`]", TEXT))

    @pytest.mark.parametrize("package", [models, monitor, proofs, spec])
    def test_names(self, package: object) -> None:
        """The table has all that a package offers, and nothing else."""
        (name, offered) = (package.__name__, package.__all__)
        rows = re.findall(rf"^\| `{name}`.*?\| (.*) \|$", TEXT, re.MULTILINE)

        assert sorted(offered) == sorted(re.findall(r"`(\w+)`", " ".join(rows)))

    def test_imports(self) -> None:
        """The examples import what the packages offer, and nothing from within them but samples."""
        code = "\n".join(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
        froms = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
        inner = {str(node.module) for node in froms if "." in str(node.module)}

        assert {"monitor.samples"} == inner
