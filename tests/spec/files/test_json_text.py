"""Tests of spec.files.json_text, and of each command that reads JSON by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proofs.__main__ import main
from runtime_hooks.settings.config import SettingsError, load
from spec.digest import spec_digest
from spec.files.json_text import KeyTwice, decode_json


class TestDecode:
    """decode_json"""

    @pytest.mark.parametrize("value", [{}, {"a": [{"a": 1}, {"a": 2.5}]}, ["a", "a"], 10**30, None])
    def test_value(self, value: Any) -> None:
        """A document is read as its value; one key may stand in several objects."""
        assert value == decode_json(json.dumps(value).encode(), object)

    @pytest.mark.parametrize(
        ("content", "key"),
        [
            (b'{"a": 1, "a": 1}', "a"),
            (b'{"b": [{"a": 1, "\\u0061" : 2}]}', "a"),
            (b'{"": {}, "": {}}', ""),
        ],
    )
    def test_twice(self, content: bytes, key: str) -> None:
        """A key twice in one object is refused, however it is written and wherever it stands."""
        with pytest.raises(KeyTwice, match="occurs twice") as caught:
            decode_json(content, object)
        assert key == caught.value.key

    @pytest.mark.parametrize(
        "content", [b"", b"{", b"[" * 100_000, b"\xff", b'"\\ud800"', b"NaN", b"\xef\xbb\xbf{}"]
    )
    def test_refused(self, content: bytes) -> None:
        """What is no JSON is an error in one line."""
        with pytest.raises(ValueError, match=r"\A[^\n]{1,200}\Z"):
            decode_json(content, object)

    def test_type(self) -> None:
        """So is a value of another type."""
        with pytest.raises(ValueError, match="Expected `object`, got `array`"):
            decode_json(b"[]", dict)


class TestReaders:
    """The files that are read so."""

    @pytest.mark.parametrize(
        ("words", "name", "content", "key"),
        [
            (
                ["recheck", "."],
                "manifest.json",
                b'{"schema": "resident-claims/certificate/2", "modes": [], "modes": []}',
                "'modes'",
            ),
            (
                ["explain", "a.itf.json"],
                "a.itf.json",
                b'{"#meta": {"spec": "%s"}, "states": [], "states": []}' % spec_digest().encode(),
                "'states'",
            ),
        ],
        ids=["manifest", "itf"],
    )
    def test_command(
        self,
        words: list[str],
        name: str,
        content: bytes,
        key: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """A key that stands twice is bad input, said in one line."""
        monkeypatch.chdir(tmp_path)
        Path(name).write_bytes(content)
        assert 2 == main(words)
        out, err = capsys.readouterr()
        assert ("", 1) == (out, err.count("\n"))
        assert f"the key {key} occurs twice" in err
        assert name in err

    def test_rows(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """So it is for labels that are compared with earlier ones."""
        old = tmp_path / "a.json"
        assert 0 == main(["lower", "continuum", "--format", "json", "-o", str(old)])
        old.write_text(old.read_text().replace("{", '{"rows": [],', 1))
        assert 2 == main(["lower", "continuum", "--against", str(old)])
        assert "the key 'rows' occurs twice" in capsys.readouterr().err

    def test_settings(self, tmp_path: Path) -> None:
        """The plugin does not arm by one of two values of a setting."""
        path = tmp_path / "a.json"
        path.write_text('{"monitor": "enforce", "monitor": "off"}')
        with pytest.raises(SettingsError, match="the key 'monitor' occurs twice"):
            load({"RESIDENT_CLAIMS": str(path)})
