"""Tests of tests_vllm.core: what it makes of three sessions of vLLM's own tests."""

from pathlib import Path
from typing import Any

import pytest

from tests_vllm import core

OUTCOMES = {"a": "passed", "b": "failed", "c": "skipped"}
HOOKED = {"without": None, "off": 0, "armed": 3}


def session(way: str, **changed: Any) -> dict[str, Any]:
    """A session as it should be, but for what is changed."""
    why = {"b": "it wants a model of the hub"}
    return {"hooked": HOOKED[way], "outcomes": OUTCOMES, "why": why, **changed}


@pytest.mark.parametrize(
    ("way", "changed", "code", "says"),
    [
        ("", {}, 0, "The same tests pass in the three ways."),
        ("armed", {"outcomes": {**OUTCOMES, "a": "failed"}}, 1, "a: passed without, failed armed"),
        ("off", {"outcomes": {"a": "passed", "b": "failed"}}, 1, "c: skipped without, None off"),
        ("armed", {"hooked": 0}, 2, "not in the state"),
        ("off", {"hooked": None}, 2, "not in the state"),
        ("without", {"hooked": 0}, 2, "not in the state"),
    ],
)
def test_compare(
    way: str,
    changed: dict[str, Any],
    code: int,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Equal sessions pass; a test that ends otherwise, or a plugin in another state, does not."""
    monkeypatch.setattr(
        core, "run", lambda folder, named: session(named, **(changed if named == way else {}))
    )
    assert code == core.main(str(tmp_path))
    out = capsys.readouterr().out
    assert says in out
    assert "without 1 failed, 1 passed, 1 skipped; the plugin is not imported" in out or code == 2
    assert ("  b\n    it wants a model of the hub\n" in out) is (code != 2)
