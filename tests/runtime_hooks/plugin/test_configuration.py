"""Tests of plugin.configuration and of doctor with flags, with an engine that is made up."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runtime_hooks.__main__ import main
from runtime_hooks.engines.adapter import Configuration
from runtime_hooks.plugin.configuration import about, try_trace
from runtime_hooks.settings.config import RESUME_BY_RANK, Settings
from spec.language.errors import SpecError

SCOPES = {"key-a": "tenant-a", "key-b": "tenant-b"}
WELL = {
    "shutdown_timeout": 10,
    "middleware": ["runtime_hooks.scopes.OwnerScopes"],
    "api_key": ["key-a", "key-b"],
}


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> None:
    """The level of the log is vLLM's own; the tiny engine of other tests sets another."""
    monkeypatch.delenv("VLLM_LOGGING_LEVEL", raising=False)


class Engine:
    """An adapter whose engine takes any flags."""

    points = ()

    def __init__(self, why: str = "", **flags: Any) -> None:
        self.why, self.flags, self.asked = why, {**WELL, **flags}, list[object]()

    def configured(self, flags: Sequence[str], *, load: bool) -> Configuration:
        """Whether the plugin is turned on meanwhile is written down."""
        self.asked.append((*flags, load, "RESIDENT_CLAIMS" in os.environ))
        if flags[0] == "wrong":
            raise SpecError("vLLM does not take these flags: wrong")
        unknown = () if load else ("the number of blocks",)
        unobserved = self.flags.get("unobserved", ())
        usable = 80 if load else None
        return Configuration(flags[0], self.why, unobserved, unknown, usable, self.flags)


def notes(settings: Settings | None, **flags: Any) -> list[str]:
    """What is noted of a server with these flags."""
    adapter: Any = Engine(**flags)
    return about(adapter, settings, ["model"], load=False).notes


class TestResume:
    """The setting `resume`."""

    def test_ranks(self) -> None:
        """With data-parallel ranks it keeps the plugin off, which doctor says."""
        adapter: Any = Engine(data_parallel_size=2)
        asked = [Settings(), Settings(resume="file")]
        found = [about(adapter, each, ["model"], load=False).why for each in asked]
        assert ["", RESUME_BY_RANK] == found

    def test_killed(self) -> None:
        """A stop that kills the engine lets no claim outlive it."""
        found = notes(Settings(resume="file"), shutdown_timeout=0)
        assert "--shutdown-timeout is 0: no claim outlives the engine" in found


class TestNotes:
    def test_none(self) -> None:
        """Nothing is noted of a server that is as the page says, with scopes or without."""
        assert [] == notes(Settings(scopes=SCOPES))
        assert [] == notes(Settings(), middleware=[], api_key=None) == notes(None, middleware=[])

    def test_scopes(self) -> None:
        """Scopes without the middleware, without keys, and for keys that nobody gives."""
        (first, second) = notes(Settings(scopes=SCOPES), middleware=[], api_key=None)
        assert "nobody can claim" in first
        assert "no --api-key" in second
        (note,) = notes(Settings(scopes=SCOPES), api_key=["key-a"])
        assert "1 of the keys of `scopes` are not given with --api-key" == note
        assert "key-b" not in note

    def test_connector(self) -> None:
        """What is not observed of the engine, if the plugin would arm."""
        untold = ("what it saves", "what it loads")
        expected = ["not observed: what it saves, what it loads"]
        assert expected == notes(Settings(), unobserved=untold)
        unfit: Any = Engine("it is not fit", unobserved=untold)
        assert [] == about(unfit, Settings(), ["model"], load=False).notes

    def test_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A stop that kills, plugins that are not loaded, and a quiet log."""
        monkeypatch.setenv("VLLM_PLUGINS", "lora_filesystem_resolver")
        monkeypatch.setenv("VLLM_LOGGING_LEVEL", "ERROR")
        found = notes(Settings(), shutdown_timeout=0)
        expected = ("--shutdown-timeout is 0", "VLLM_PLUGINS leaves", "the log level hides")
        assert all(note.startswith(start) for note, start in zip(found, expected, strict=True))


class TestTrace:
    def test_made(self, tmp_path: Path) -> None:
        """The file is made and removed; one that is there stays as it is."""
        path = tmp_path / "{pid}.jsonl"
        assert "" == try_trace(Settings(trace=str(path)))
        assert [] == list(tmp_path.iterdir())
        (tmp_path / "mine").write_text("mine")
        said = try_trace(Settings(trace=str(tmp_path / "mine")))
        assert f"the trace {tmp_path}/mine cannot be made: File exists" == said
        assert "mine" == (tmp_path / "mine").read_text()
        assert "No such file" in try_trace(Settings(trace=str(tmp_path / "no" / "trace")))
        assert "embedded null" in try_trace(Settings(trace="a\0b"))


class TestDoctor:
    @pytest.fixture
    def engine(self, monkeypatch: pytest.MonkeyPatch) -> Engine:
        """The installed engine."""
        engine = Engine()
        monkeypatch.setattr("runtime_hooks.plugin.doctor.adapter_of", lambda _: (engine, ""))
        monkeypatch.setattr("runtime_hooks.plugin.doctor.installed", lambda: "0.32.0")
        return engine

    def test_flags(
        self, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
    ) -> None:
        """Flags go to the engine as they are, which is not armed meanwhile; the answer says what
        needs the model loaded."""
        file = tmp_path / "settings.json"
        file.write_text(f'{{"trace": "{tmp_path}/trace"}}')
        monkeypatch.setenv("RESIDENT_CLAIMS", str(file))
        assert 0 == main(["doctor", "--", "model", "--max-model-len", "4096"])
        said = capsys.readouterr().out
        assert "model      model\n" in said
        assert "unknown    the number of blocks: only --load tells\n" in said
        assert f"trace {tmp_path}/trace, which can be made" in " ".join(said.split())
        assert 0 == main(["doctor", "--load", "--", "model"])
        said = capsys.readouterr().out
        assert "loaded     80 blocks\n" in said
        assert "unknown" not in said
        first = ("model", "--max-model-len", "4096", False, False)
        assert [first, ("model", True, False)] == engine.asked
        assert os.environ["RESIDENT_CLAIMS"] == str(file)

    def test_not(self, engine: Engine, capsys: Any) -> None:
        """A configuration that does not fit, and flags that the engine does not take."""
        engine.why = "pipeline_parallel_size is 2"
        assert 2 == main(["doctor", "--", "model"])
        assert capsys.readouterr().out.startswith("It would not arm: pipeline_parallel_size is 2.")
        assert 0 == main(["doctor"])
        assert 2 == main(["doctor", "--", "wrong"])
        assert "error: vLLM does not take these flags: wrong" in capsys.readouterr().err
        assert 2 == main(["doctor", "--load"])
        assert "--load needs a model" in capsys.readouterr().err

    def test_trace(
        self, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
    ) -> None:
        """A trace that cannot be made keeps the plugin off, and doctor says so before."""
        file = tmp_path / "settings.json"
        file.write_text('{"trace": "/nowhere/trace"}')
        monkeypatch.setenv("RESIDENT_CLAIMS", str(file))
        assert 2 == main(["doctor"])
        said = " ".join(capsys.readouterr().out.split())
        assert "the trace /nowhere/trace cannot be made: No such file or directory" in said
        assert SimpleNamespace(asked=[]).asked == engine.asked
