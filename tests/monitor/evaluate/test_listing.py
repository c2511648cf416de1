"""`monitor compile` prints the functions that run, and names what it does not know."""

from __future__ import annotations

import ast
import json

import pytest

from monitor.__main__ import main
from monitor.evaluate.inlined import inlined_source
from spec.claims.claim import Mode
from spec.contract.modes import MODES, Bundle
from spec.events.alphabet import Kind

Capture = pytest.CaptureFixture[str]


@pytest.mark.slow
@pytest.mark.parametrize("mode", Mode)
def test_python(mode: Mode, capsys: Capture) -> None:
    """What is printed is Python: of every kind four functions, about the claim and beside it."""
    assert 0 == main(["compile", mode])
    module = ast.parse(capsys.readouterr().out)
    assert 2 * 4 * len(Kind) == len(module.body)


def test_kind(capsys: Capture) -> None:
    """With --kind it is the text of the functions that run for that kind."""
    assert 0 == main(["compile", "offloadable", "--kind", "block_evicted", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    text = inlined_source(
        MODES[Mode.OFFLOADABLE].bundle(Bundle.CONTRACT), Kind.BLOCK_EVICTED, about=True
    )
    assert {"block_evicted"} == found["kinds"].keys()
    assert text == found["kinds"]["block_evicted"]["about"]


@pytest.mark.parametrize(
    "asked", [["hard"], ["hard_protected", "--kind", "block_evict"], ["demotable", "--bundle", "x"]]
)
def test_unknown(asked: list[str], capsys: Capture) -> None:
    """A mode, kind or bundle that does not exist is bad input, in one line."""
    assert 2 == main(["compile", *asked])
    printed = capsys.readouterr()
    assert not printed.out
    assert 1 == len(printed.err.splitlines())
