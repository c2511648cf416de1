"""`monitor evidence` without a mode: the one mode that every claim states."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.__main__ import main
from monitor.evidence.take import NoModeStated, take_evidence
from spec.claims.states import Mode
from spec.language.errors import SpecError
from tests.monitor.traces import Trace, write
from tests.monitor.traces_allocator import allocator_refusal
from tests.monitor.traces_canonical import canonical, canonical_refusal
from tests.monitor.traces_connector import connector_success

Capture = pytest.CaptureFixture[str]


def claims(*modes: str | None) -> Trace:
    """A stream in which one claim for each of these modes is accepted and materialized."""
    lines: Trace = []
    for number, mode in enumerate(modes):
        name = f"c{number}"
        lines += [
            canonical(
                "claim_registered",
                claim_id=name,
                cache_identity="model/tokenizer/16",
                owner_scope="tenant",
                predicate="leading_prefix_at_least(1)",
                **({} if mode is None else {"mode": mode}),
            ),
            canonical("claim_committed", claim_id=name, footprint=1),
            canonical("claim_accepted", claim_id=name, footprint=1),
            canonical("block_cached", claim_id=name, block_ids=[number], positions=[0]),
            canonical("claim_materialized", claim_id=name),
        ]
    return lines


def test_one_mode(tmp_path: Path) -> None:
    """What is shown is what is shown by that mode."""
    path = write(tmp_path / "t.jsonl", canonical_refusal())
    auto = take_evidence([path], None, tmp_path)
    assert auto == take_evidence([path], Mode.HARD_PROTECTED, tmp_path)
    assert auto.shown


def test_command(tmp_path: Path, capsys: Capture) -> None:
    """The command writes it, and exits as with that mode."""
    path = write(tmp_path / "t.jsonl", canonical_refusal())
    assert 0 == main(["evidence", path, "-o", str(tmp_path / "e.yaml")])
    assert "of hard_protected shown" in capsys.readouterr().out
    assert "mode: hard_protected" in (tmp_path / "e.yaml").read_text()


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (claims("expiring", None), "c1 cannot be judged: it states no mode; name the mode with "),
        (claims(None, None, None), "c0 cannot be judged: it states no mode (2 more claims not "),
        (
            allocator_refusal(),
            "hard_exclude is no mode of the contract; name the mode with --mode h",
        ),
        (connector_success(), "it states no mode; name the mode with --mode offloadable"),
        ([canonical("block_evicted", block_ids=[1])], "no claim; name the mode with --mode MODE"),
    ],
    ids=["one", "all", "unknown", "recorded", "empty"],
)
def test_not_stated(trace: Trace, said: str, tmp_path: Path, capsys: Capture) -> None:
    """A claim that states no mode is named with what to do; nothing is written, and it exits 3."""
    path = write(tmp_path / "t.jsonl", trace)
    assert 3 == main(["evidence", path, "-o", str(tmp_path / "e.yaml")])
    out, err = capsys.readouterr()
    assert ("", 1) == (out, err.count("\n"))
    assert err.startswith("inconclusive: ")
    assert said in err
    assert not (tmp_path / "e.yaml").exists()


def test_several(tmp_path: Path) -> None:
    """Evidence is of one mode: claims that state two are bad input, with both named."""
    path = write(tmp_path / "t.jsonl", claims("expiring", "demotable"))
    with pytest.raises(SpecError, match="the claims state demotable, expiring") as caught:
        take_evidence([path], None, tmp_path)
    assert not isinstance(caught.value, NoModeStated)
    assert "--mode demotable" in caught.value.remedy


def test_no_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """From a working folder that was removed, no path leads to the trace."""
    path = write(tmp_path / "t.jsonl", canonical_refusal())
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert 2 == main(["evidence", path])
    assert "change to a folder that exists" in capsys.readouterr().err


def test_stdin(tmp_path: Path, capsys: Capture) -> None:
    """Standard input is refused before anything is read."""
    assert 2 == main(["evidence", "-"])
    assert "evidence refers to a file" in capsys.readouterr().err
