"""The files by which other repositories check their traces: a hook of pre-commit, and an action."""

import re
import shlex
from typing import Final

import yaml

from tests.installation import ROOT, call

KEPT: Final = "monitor/samples/hard_protected_refusal.jsonl"
BROKEN: Final = "monitor/samples/hard_protected_victim.jsonl"


class TestHook:
    """.pre-commit-hooks.yaml"""

    (HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())

    def test_keys(self) -> None:
        """It has the keys that pre-commit requires, and only keys that pre-commit knows."""
        required = {"id", "name", "entry", "language"}
        known = {*required, "description", "files", "require_serial"}
        assert required <= set(self.HOOK) <= known
        assert self.HOOK["language"] == "python"

    def test_files(self) -> None:
        """Its pattern takes traces, and neither pages nor compressed files."""
        names = [BROKEN, "README.md", "a.jsonl.gz"]
        assert [BROKEN] == [name for name in names if re.search(self.HOOK["files"], name)]

    def test_entry(self) -> None:
        """Its entry is a command that takes file names, and exits with the verdict on them."""
        name, *rest = shlex.split(self.HOOK["entry"])
        assert name == "resident-claims"
        for code, traces in ((0, [KEPT]), (1, [BROKEN]), (1, [KEPT, BROKEN])):
            assert code == call(name, *rest, *traces, cwd=ROOT).returncode
