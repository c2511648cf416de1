"""Tests of engines: hook points are checked by name and signature, versions by a table."""

from pathlib import Path

import pytest

from runtime_hooks import engines
from runtime_hooks.__main__ import main
from runtime_hooks.engines.checks import Hook, Reads, faults
from runtime_hooks.plugin.arming import ArmingError, arm
from runtime_hooks.settings.config import Settings

HERE = "runtime_hooks.tracking.ledger:Ledger."


class TestHook:
    def test_there(self) -> None:
        """A method that takes what it took when it was tried."""
        assert "" == Hook(f"{HERE}remove", ("self", "entry")).fault()

    def test_missing(self) -> None:
        """A method that is not there is named."""
        assert (
            "there is no vanish in runtime_hooks.tracking.ledger"
            == Hook(f"{HERE}vanish", ()).fault()
        )

    def test_no_class(self) -> None:
        """A class that is not there is named."""
        assert "there is no Nobody in runtime_hooks.tracking.ledger" == (
            Hook("runtime_hooks.tracking.ledger:Nobody.remove", ()).fault()
        )

    def test_no_module(self) -> None:
        """A module that is not there is named."""
        assert "nowhere_at_all cannot be imported" in Hook("nowhere_at_all:A.b", ()).fault()

    def test_different(self) -> None:
        """A method that takes something else is reported with both signatures."""
        hook = Hook(f"{HERE}remove", ("self", "claim"))
        assert "it takes (self, entry), and was tried with (self, claim)" == hook.fault()
        assert {"Ledger.remove": hook.fault()} == faults([hook])


class TestReads:
    """Attributes of objects, of which there are none when it is looked."""

    @pytest.mark.parametrize(
        ("path", "names"),
        [
            ("claims.entry:Entry", ("keys", "held", "claim_id", "evaluate")),
            ("tracking.ledger:Ledger", ("_by_key", "owned", "place")),
            ("controller.admission:Admission", ("pins", "_accepted")),
            ("controller.controller:Pool", ("usable", "hold", "find")),
            ("settings.config:SettingsError", ("cause", "remedy")),
        ],
        ids=lambda value: str(value),
    )
    def test_there(self, path: str, names: tuple[str, ...]) -> None:
        """Fields, what methods set, properties, methods, and what a base class has."""
        reads = Reads(f"runtime_hooks.{path}", names)
        assert "" == reads.fault()
        assert ", ".join(names) == reads.sees

    def test_missing(self) -> None:
        """Attributes that are not there are named, all of them."""
        reads = Reads("runtime_hooks.tracking.ledger:Ledger", ("_by_key", "_by_size", "_by_age"))
        assert "its objects have no _by_age, _by_size" == reads.fault()
        assert {"Ledger": reads.fault()} == faults([reads])

    def test_no_class(self) -> None:
        """A class that is not there is named."""
        fault = Reads("runtime_hooks.tracking.ledger:Nobody", ("name",)).fault()
        assert "there is no Nobody in runtime_hooks.tracking.ledger" == fault


class TestVersions:
    def test_none(self) -> None:
        """Without an engine nothing arms, and it is reported."""
        assert "" == engines.installed()
        with pytest.raises(ArmingError, match="no vLLM is installed here"):
            arm(Settings())

    def test_unknown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A version that was not tried is named."""
        monkeypatch.setattr("runtime_hooks.plugin.arming.installed", lambda: "0.99.1")
        with pytest.raises(
            ArmingError, match=r"vLLM 0\.99\.1 was not tried; 0\.31, 0\.32, 0\.33 were"
        ):
            arm(Settings())

    def test_half(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A version that lacks a module is named."""
        monkeypatch.setattr("runtime_hooks.plugin.arming.installed", lambda: "0.32.9")
        with pytest.raises(ArmingError, match=r"vLLM 0\.32\.9 is not as it was tried: No module"):
            arm(Settings())


class TestDoctor:
    def test_without_engine(self, capsys: pytest.CaptureFixture[str]) -> None:
        """It says that there is no engine, and exits 2."""
        assert 2 == main(["doctor"])
        assert "It would not arm: no vLLM is installed here." in capsys.readouterr().out

    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The same for programs."""
        assert 2 == main(["doctor", "--format", "json"])
        assert '"armed": false' in capsys.readouterr().out

    def test_bad_settings(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Settings that cannot be read are told where nothing else is wrong."""
        monkeypatch.setenv("RESIDENT_CLAIMS", "/nowhere/settings.json")
        monkeypatch.setattr("runtime_hooks.plugin.doctor.adapter_of", lambda _: (None, ""))
        assert 2 == main(["doctor"])
        said = capsys.readouterr().out
        assert "No such file" in said
        assert "RESIDENT_CLAIMS is on here" in said

    @pytest.mark.parametrize("form", ["text", "json"])
    def test_keys(
        self,
        form: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """The API keys of `scopes` are not printed; their owners are, for programs."""
        settings = tmp_path / "settings.json"
        settings.write_text('{"scopes": {"sk-one": "tenant-a", "sk-two": "tenant-b"}}')
        monkeypatch.setenv("RESIDENT_CLAIMS", str(settings))
        monkeypatch.setattr("runtime_hooks.plugin.doctor.adapter_of", lambda _: (None, ""))
        assert 0 == main(["doctor", "--format", form])
        said = capsys.readouterr().out
        assert "sk-" not in said
        assert ("tenant-a" in said) is (form == "json")

    def test_modes(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A mode that is accepted and not enforced is reported on; the others are rejected."""
        monkeypatch.delenv("RESIDENT_CLAIMS", raising=False)
        monkeypatch.setattr("runtime_hooks.plugin.doctor.adapter_of", lambda _: (None, ""))
        assert 0 == main(["doctor"])
        said = capsys.readouterr().out
        assert "reports on best_effort\n" in said
        assert "\nquotas     an owner has at most 1000 claims\n" in said
        assert "\noperator   socket in /" in said
        assert "rejects    routed_reuse\n" in said
