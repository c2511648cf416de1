"""Tests of interrupts of the commands that search models, and of readers that stop reading."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proofs.__main__ import main
from proofs.counterexamples.page import RECORDED
from proofs.product.search import _Search


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Raises an interrupt in a search after so many visits."""
    visit = _Search._visit

    def after(visits: int) -> None:
        left = [visits]

        def stops(self: Any, *given: Any) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
            visit(self, *given)

        monkeypatch.setattr(_Search, "_visit", stops)

    return after


@pytest.mark.parametrize("visits", [2, 20])
@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "command",
    [
        ["check", "hard_protected", "--runtime", "vllm_pool"],
        ["compare", "vllm_pool"],
        ["counterexamples", "--runtime", "vllm_pool"],
        ["counterexamples", "--check", str(RECORDED)],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_what_was_found_until_then(
    command: list[str],
    form: str,
    visits: int,
    interrupted: Callable[[int], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An interrupt ends the command with 3; it says so, and concludes nothing from the rest."""
    interrupted(visits)
    code = main([*command, "--format", form])
    out, error = capsys.readouterr()
    assert "Traceback" not in error
    assert 3 == code
    if form == "text":
        assert "interrupted" in out + error
        assert "label by this" not in out
    else:
        found = json.loads(out or "{}")
        checks = found.get("checks", [found])
        assert "interrupted" in error or not checks[-1]["complete"]


def test_nothing_is_written(
    tmp_path: Path, interrupted: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """A suite that was interrupted is not written."""
    interrupted(20)
    folder = tmp_path / "suite"
    assert 3 == main(["counterexamples", "--runtime", "vllm_pool", "-o", str(folder)])
    assert not folder.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "models list",
        "models show lmcache",
        "models walk lmcache --steps 20000",
        "models sweep --format json",
        "proofs check hard_protected --runtime vllm_pool",
        f"proofs accepts kv_lease {RECORDED}/lease-offloadable.jsonl -v",
        "proofs compare vllm_pool",
        "proofs counterexamples --runtime vllm_pool -v",
    ],
)
def test_a_reader_that_stops(command: str) -> None:
    """Where nothing reads the output, a command ends quietly."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", *command.split()], stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    assert (141, b"") == (done.returncode, done.stderr)
