"""Tests of upstream: it finds what differs between two versions of what the adapters use."""

from pathlib import Path

import pytest

from runtime_hooks.engines.checks import Hook, Reads
from tests import upstream

KEPT = "def kept(self, block):\n        return block"
OLD = {
    "vllm/__init__.py": "NAMES = {'Params': '.params:Params'}\n",
    "vllm/pool.py": f"""
from .base import Base
class Pool(Base):
    blocks: list
    def __init__(self):
        self.free = 1
    {KEPT}
    def taken(self, block):
        '''Takes it.'''
        return 1  # of it
""",
    "vllm/base.py": "class Base:\n    def inherited(self, keys): ...\n",
    "vllm/cli.py": "def parser(): ...\n",
}
POINTS = [
    Hook(f"vllm.pool:Pool.{name}", ("self",)) for name in ("kept", "taken", "inherited", "added")
]
READS = [
    Reads("vllm.pool:Pool", ("free", "blocks", "kept", "never")),
    Reads("elsewhere:Registry", ("register",)),
]


def write(folder: Path, changes: dict[str, tuple[str, str]]) -> upstream.Sources:
    """The sources of the old version, with one replacement in each of some files."""
    for name, text in OLD.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before, after = changes.get(name, ("", ""))
        assert before in text
        path.write_text(text.replace(before, after) if before else text)
    return upstream.Sources(folder)


@pytest.fixture(autouse=True)
def used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small adapter uses this."""
    monkeypatch.setattr(upstream, "POINTS", POINTS)
    monkeypatch.setattr(upstream, "READS", READS)
    names = [("vllm", "Params"), ("vllm.cli", "parser"), ("vllm.pool", "Base"), ("vllm", "pool")]
    monkeypatch.setattr(upstream, "imported", lambda: names)


class TestDifferences:
    @pytest.mark.parametrize(
        ("file", "change", "found"),
        [
            ("vllm/pool.py", ("self.free", "self.left"), ("Pool", "no free", True)),
            ("vllm/pool.py", ("blocks: list\n", "\n"), ("Pool", "no blocks", True)),
            ("vllm/pool.py", ("taken(self, block)", "taken(self, block, n)"),
             ("Pool.taken", "takes (self, block, n)", True)),
            ("vllm/pool.py", ("def taken", "def took"), ("Pool.taken", "gone", True)),
            ("vllm/pool.py", ("def taken", "def added(self): ...\n    def taken"),
             ("Pool.added", "new", True)),
            ("vllm/pool.py", ("return 1", "return 2"), ("Pool.taken", "another body", False)),
            ("vllm/base.py", ("keys", "keys, size"),
             ("Pool.inherited", "takes (self, keys, size)", True)),
            ("vllm/cli.py", ("def parser", "def make"),
             ("vllm.cli.parser", "cannot be imported", True)),
            ("vllm/__init__.py", ("'Params'", "'Other'"),
             ("vllm.Params", "cannot be imported", True)),
        ],
    )  # fmt: skip
    def test_one(
        self, tmp_path: Path, file: str, change: tuple[str, str], found: tuple[str, str, bool]
    ) -> None:
        """Each change is found, and nothing else."""
        old, new = write(tmp_path / "old", {}), write(tmp_path / "new", {file: change})
        assert [found] == list(upstream.differences(old, new))

    @pytest.mark.parametrize("change", [("Takes it.", "Takes a block."), ("# of it", "")])
    def test_words(self, tmp_path: Path, change: tuple[str, str]) -> None:
        """Documentation and comments do not count."""
        old, new = write(tmp_path / "old", {}), write(tmp_path / "new", {"vllm/pool.py": change})
        assert [] == list(upstream.differences(old, new))


class TestMain:
    def test_codes(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """0 where only a body differs, 1 where an adapter must state something, 2 without vLLM."""
        write(tmp_path / "old", {})
        write(tmp_path / "body", {"vllm/pool.py": ("return 1", "return 2")})
        write(tmp_path / "gone", {"vllm/pool.py": ("def taken", "def took")})
        old, body, gone = (str(tmp_path / name) for name in ("old", "body", "gone"))
        assert 0 == upstream.main(old, body)
        assert "1 differ; 0 need something of their own" in capsys.readouterr().out
        assert 1 == upstream.main(old, gone)
        assert "Pool.taken: gone" in capsys.readouterr().out
        assert 2 == upstream.main(old)
        assert 2 == upstream.main(old, str(tmp_path))


def test_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names that the adapters import are found in their sources."""
    monkeypatch.undo()
    assert ("vllm.v1.core.sched.scheduler", "Scheduler") in upstream.imported()
    assert ("vllm", "SamplingParams") in upstream.imported()
