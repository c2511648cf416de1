"""What `make native` compiled goes on where the interpreted monitor stopped, and the other way."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import Mock

import pytest

import hatch_build
from hatch_build import NativeBuildHook, main, modules
from monitor import EventMonitor
from spec.claims.claim import Mode
from tests.native import NATIVE
from tests.streams.traffic import Traffic, as_events

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "native"

_GO_ON = """
import sys
import tempfile
from pathlib import Path
from monitor import EventMonitor
from monitor.stream import projection
from spec.claims.claim import Mode
from tests.streams.traffic import Traffic, as_events

assert not projection.__file__.endswith(".py")
before, after, cut = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
monitor = EventMonitor.restore(before.read_bytes())
for number, event in enumerate(as_events(Traffic(3_000, 50, tuple(Mode)))):
    if cut <= number < 2 * cut:
        monitor.feed(event)
after.write_bytes(monitor.snapshot())
"""


def is_built() -> bool:
    """Whether `make native` compiled the modules as they are now."""
    if not (made := FOLDER / ".native").exists():
        return False
    since = made.stat().st_mtime
    return all(path.stat().st_mtime < since for path in (ROOT / "monitor").rglob("*.py"))


@pytest.mark.skipif(NATIVE or not is_built(), reason="make native was not run on this code")
def test_goes_on(tmp_path: Path) -> None:
    """A snapshot that is read and written by compiled modules in between changes no report."""
    events, cut = list(as_events(Traffic(3_000, 50, tuple(Mode)))), 1_000
    whole, first = EventMonitor(name="run"), EventMonitor(name="run")
    for number, event in enumerate(events):
        whole.feed(event)
        if number < cut:
            first.feed(event)
    before, after = tmp_path / "before", tmp_path / "after"
    before.write_bytes(first.snapshot())
    command = [sys.executable, "-c", _GO_ON, str(before), str(after), str(cut)]
    subprocess.run(command, cwd=FOLDER, env={"PYTHONPATH": str(FOLDER)}, check=True)
    last = EventMonitor.restore(after.read_bytes())
    for event in events[2 * cut :]:
        last.feed(event)
    assert whole.finish() == last.finish()


@pytest.mark.parametrize("name", modules())
def test_plain_classes(name: str) -> None:
    """A module that is compiled defines no class that the compiler makes otherwise."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"NamedTuple\)|^@dataclass|msgspec\.Struct|Enum\)|Protocol\)", text, re.M)


def compiled_in(*given: str) -> tuple[int, str]:
    """What the command that compiles says of what it is given."""
    command = [sys.executable, str(ROOT / "hatch_build.py"), *given]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return run.returncode, run.stderr


def test_refuses_a_folder(tmp_path: Path) -> None:
    """A folder that this command did not make is not taken away."""
    kept = tmp_path / "kept"
    kept.write_text("")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nothing")
    for path in (tmp_path, kept, link):
        code, error = compiled_in(str(path))
        assert (2, True) == (code, "was not made by this command" in error)
    assert kept.exists()


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 300, "-v"])
def test_refuses_a_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no name of a folder is refused, and nothing is made."""
    monkeypatch.setattr(sys, "argv", ["hatch_build.py", name])
    assert main() == 2


def test_refuses_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The project is not copied into what is copied, nor over a folder that it is in, though this
    command made that; nor to where no folder can be made.
    """
    project = tmp_path / "project"
    (project / "docs").mkdir(parents=True)
    (project / ".native").touch()
    (tmp_path / ".native").touch()
    monkeypatch.setattr(hatch_build, "ROOT", project)
    file = tmp_path / "file"
    file.touch()
    for folder in (project / "docs" / "new", project, tmp_path, file / "new"):
        monkeypatch.setattr(sys, "argv", ["hatch_build.py", str(folder)])
        assert main() == 2
    assert [*(project / "docs").iterdir()] == []


def test_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that was left in the middle is made again."""
    folder = tmp_path / "new"
    monkeypatch.setattr(sys, "argv", ["hatch_build.py", str(folder)])
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copytree", Mock(side_effect=KeyboardInterrupt))
        assert main() == 130
    monkeypatch.setattr(shutil, "copytree", Mock())
    monkeypatch.setattr(hatch_build, "compile_in", lambda _: [])
    assert main() == 0


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a wheel that cannot be compiled, no copy of the project is left."""
    monkeypatch.setenv("RESIDENT_CLAIMS_NATIVE", "1")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(shutil, "copytree", Mock())
    monkeypatch.setattr(hatch_build, "compile_in", Mock(side_effect=OSError("no gcc")))
    hook = NativeBuildHook(str(ROOT), {}, Mock(), Mock(), str(tmp_path), "wheel")
    with pytest.raises(OSError, match="no gcc"):
        hook.initialize("standard", {"force_include": {}})
    assert [*tmp_path.iterdir()] == []
