"""Containerfile: its instructions do what they should in a clean folder. No image was built."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

import pytest

from tests.installation import ROOT

TEXT: Final = (ROOT / "Containerfile").read_text()
STEPS: Final = [line.split(" ", 1) for line in TEXT.splitlines() if line and line[0] != "#"]
SAMPLE: Final = "monitor/samples/hard_protected_refusal.jsonl"


class Place:
    """A folder in which the absolute paths of the file lie, and commands run.

    What the package depends on is not fetched, but taken from the environment of the test.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.working = folder
        self.env = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": sysconfig.get_path("purelib"),
            "PIP_NO_DEPS": "1",
            "PIP_NO_BUILD_ISOLATION": "0",
        }

    def at(self, path: str) -> Path:
        """Where a path of the image lies."""
        return self.folder / path.lstrip("/")

    def run(self, text: str) -> None:
        """RUN"""
        command = re.sub(r"(?<![\w.])/(?=opt/|source/)", f"{self.folder}/", text)
        subprocess.run(["sh", "-ec", command], cwd=self.working, env=self.env, check=True)

    def copy(self, text: str) -> None:
        """COPY, from the tree; what another stage has already lies at the same path."""
        *sources, target = text.split()
        if sources[0].startswith("--from="):
            assert [target] == sources[1:]
            assert self.at(target).exists()
        elif target.endswith("/"):
            for name in sources:
                shutil.copy(ROOT / name, self.at(target))
        else:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / sources[0], self.at(target), ignore=ignored)

    def work(self, text: str) -> None:
        """WORKDIR"""
        self.working = self.at(text)
        self.working.mkdir(parents=True)


class TestContainerfile:
    """The file, as text and by what it does."""

    def test_said(self) -> None:
        """It says that it was never built, and no step runs as root in the end."""
        assert "# It was never built" in TEXT
        assert ["USER", "65534:65534"] in STEPS[-3:]

    @pytest.mark.slow
    def test_steps(self, tmp_path: Path) -> None:
        """Its steps lead to the command of its entry point, which judges a trace."""
        place = Place(tmp_path)
        does = {"RUN": place.run, "COPY": place.copy, "WORKDIR": place.work}
        does |= dict.fromkeys(("FROM", "USER", "ENTRYPOINT"), lambda _: None)
        for name, text in STEPS:
            does[name](text)
        assert "msgspec==" in (tmp_path / "source" / "versions.txt").read_text()
        (entry,) = json.loads(dict(STEPS)["ENTRYPOINT"])
        done = subprocess.run(
            [place.at(entry), "check", ROOT / SAMPLE],
            env=place.env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (0, "") == (done.returncode, done.stderr)
        assert done.stdout.startswith("kept")
