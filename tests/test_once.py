"""What several tests need is computed once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.once import SHARED, once


class Counted:
    """Counts how often it is made."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> dict[str, int]:
        self.made += 1
        return {"made": self.made}


def test_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second to ask gets an equal value of its own: what the first changed is not in it."""
    monkeypatch.setenv(SHARED, str(tmp_path))
    make = Counted()
    first = once("x", make)
    first["made"] = 9

    assert {"made": 1} == once("x", make)
    assert {"made": 2} == once("y", make)
    assert 2 == make.made


def test_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be made is tried again."""
    monkeypatch.setenv(SHARED, str(tmp_path))

    with pytest.raises(ZeroDivisionError):
        once("x", lambda: 1 // 0)
    assert 5 == once("x", lambda: 5)


def test_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside a test run nothing is kept."""
    monkeypatch.delenv(SHARED)
    make = Counted()

    assert [1, 2] == [once("x", make)["made"], once("x", make)["made"]]
