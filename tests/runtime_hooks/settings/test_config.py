"""The environment turns the plugin on, and a file says how."""

from pathlib import Path
from typing import Any

import pytest

from runtime_hooks.entry import register, switched_on
from runtime_hooks.settings.config import Settings, SettingsError, load
from runtime_hooks.settings.switch import REQUIRE
from runtime_hooks.trace.faults import NotArmed
from spec.claims.states import Mode
from tests.installation import call, environment


class TestSwitch:
    @pytest.mark.parametrize("value", ["", "0", "off", "No", " false "])
    def test_off(self, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """These are off, and then nothing of the plugin is loaded."""
        monkeypatch.setenv("RESIDENT_CLAIMS", value)
        monkeypatch.setitem(__import__("sys").modules, "runtime_hooks.plugin.arming", None)
        assert not switched_on()
        register()

    def test_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Anything else is on."""
        monkeypatch.setenv("RESIDENT_CLAIMS", "1")
        assert switched_on()

    def test_never_raises(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """What cannot be armed is logged, and the engine goes on."""
        monkeypatch.setenv("RESIDENT_CLAIMS", "/nowhere/settings.json")
        register()
        assert "resident-claims is not armed" in caplog.text
        assert "/nowhere/settings.json" in caplog.text


class TestRequired:
    """RESIDENT_CLAIMS_REQUIRE"""

    @pytest.mark.parametrize(
        ("switch", "says"),
        [("/nowhere/settings.json", "/nowhere/settings.json"), ("off", "does not turn it on")],
    )
    def test_raises(
        self, switch: str, says: str, monkeypatch: pytest.MonkeyPatch, caplog: Any
    ) -> None:
        """Where the plugin is required, what is not armed is logged and ends the start."""
        monkeypatch.setenv("RESIDENT_CLAIMS", switch)
        monkeypatch.setenv(REQUIRE, "1")
        with pytest.raises(NotArmed, match=f"{says}.*; {REQUIRE} is set, so vLLM ends"):
            register()
        assert says in caplog.text

    @pytest.mark.parametrize("module", ["spec", "msgspec"])
    def test_broken(self, module: str, tmp_path: Path) -> None:
        """So it is where an import fails, or another module shadows one of ours."""
        (tmp_path / f"{module}.py").write_text("")
        env = {**environment(tmp_path), "RESIDENT_CLAIMS": "1", REQUIRE: "1"}
        done = call(
            "-c", "from runtime_hooks.entry import register; register()", cwd=tmp_path, env=env
        )
        assert 1 == done.returncode
        assert "NotArmed: resident-claims is not armed: " in done.stderr

    def test_off(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """0 lets the engine start."""
        monkeypatch.setenv("RESIDENT_CLAIMS", "")
        monkeypatch.setenv(REQUIRE, "0")
        register()


class TestSettings:
    def test_defaults(self) -> None:
        """1 stands for the defaults."""
        assert Settings() == load({"RESIDENT_CLAIMS": "1"})

    def test_file(self, tmp_path: Path) -> None:
        """A path stands for what the file says."""
        path = tmp_path / "settings.json"
        path.write_text('{"enforce": ["demotable"], "defer_s": 1.5}')
        assert Settings(enforce=(Mode.DEMOTABLE,), defer_s=1.5) == (
            load({"RESIDENT_CLAIMS": str(path)})
        )

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("{", "truncated"),
            ('{"enforced": []}', "unknown field `enforced`"),
            ('{"enforce": ["hard"]}', "$.enforce[0]"),
            ('{"defer_s": -1}', "$.defer_s"),
            ('{"queue": 0}', "$.queue"),
            ("\xff", "settings.json"),
            ("[" * 100_000, "settings.json"),
        ],
    )
    def test_bad(self, content: str, said: str, tmp_path: Path) -> None:
        """What cannot be used is named, with its place."""
        path = tmp_path / "settings.json"
        path.write_bytes(content.encode("latin-1"))
        with pytest.raises(SettingsError) as caught:
            load({"RESIDENT_CLAIMS": str(path)})
        assert said in str(caught.value)

    def test_large(self, tmp_path: Path) -> None:
        """A file without end is not read to its end."""
        path = tmp_path / "settings.json"
        path.write_bytes(b" " * (1 << 20) + b"{}")
        with pytest.raises(SettingsError, match="over 1048576 bytes"):
            load({"RESIDENT_CLAIMS": str(path)})

    def test_monitor(self) -> None:
        """The environment's word for the monitor is read in any case, and named where it is bad."""
        assert Settings(monitor="observe") == (
            load({"RESIDENT_CLAIMS": "1", "RESIDENT_CLAIMS_MONITOR": " Observe "})
        )
        with pytest.raises(SettingsError, match="RESIDENT_CLAIMS_MONITOR is 'observ'; give one of"):
            load({"RESIDENT_CLAIMS": "1", "RESIDENT_CLAIMS_MONITOR": "observ"})
