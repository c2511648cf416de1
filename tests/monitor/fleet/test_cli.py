"""What the command says before Spark is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.__main__ import main
from monitor.fleet import cli


def test_the_extra_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without pyspark the command names the extra, and exits with 2."""
    monkeypatch.setattr(cli, "_NEEDS", ("no_such_module.at_all",))
    code = main(["fleet", str(tmp_path), "--checkpoint", str(tmp_path), "--out", str(tmp_path)])
    assert 2 == code
    assert "pip install '.[fleet]'" in capsys.readouterr().err


def test_an_unknown_mode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mode that there is not is refused before anything else is looked for."""
    folder = str(tmp_path)
    options = ["--checkpoint", folder, "--out", folder, "--mode", "hard"]
    assert 2 == main(["fleet", folder, *options])
    assert "hard" in capsys.readouterr().err
