"""Labels that follow from models agree with the curated ones, or the difference is explained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proofs.__main__ import main
from proofs.product.check import NOT_SUPPLIED, check_runtime
from proofs.product.subject import subjects
from spec.claims.states import Mode
from spec.language.errors import SpecError

FINDINGS = Path(__file__).parents[3] / "docs" / "findings.md"


def test_differences_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """Each runtime and mode with two labels has its row in docs/findings.md, and no other has."""
    code = main(["compare", "lmcache", "vllm_pool", "vllm_offload_patched", "--format", "json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    differ = {
        f"| {row['runtime']}, {row['mode']} | {row['derived']} | {row['curated']} |"
        for row in rows
        if not row["agree"]
    }
    assert (1, 2) == (code, len(differ))
    text = FINDINGS.read_text()
    section = text[text.index("## Labels by models") :].split("\n## ")[0]
    assert all(row in section for row in differ)
    assert section.count("\n| lmcache") == 2


@pytest.mark.slow
def test_no_other_runtime_differs(capsys: pytest.CaptureFixture[str]) -> None:
    """Of all runtimes only those two rows differ."""
    main(["compare", "--format", "json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    differ = [(row["runtime"], row["mode"]) for row in rows if not row["agree"]]
    assert [("lmcache", "demotable"), ("lmcache", "offloadable")] == differ
    assert len(rows) >= 35


def test_agreement_exits_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    """Where all labels agree the exit code is 0, and where there is nothing to compare 3."""
    assert 0 == main(["compare", "vllm_pool"])
    assert "2 of 2 labels agree" in capsys.readouterr().out
    assert 3 == main(["compare", "pool_counts"])


def test_a_patched_runtime_is_labelled_at_its_depth() -> None:
    """What a patch supplies is no native evidence."""
    (subject,) = subjects("vllm_offload_patched", Mode.OFFLOADABLE)
    checked, _ = check_runtime(subject)
    assert ("sound_with_adapter", ()) == (checked.label, checked.missing)


def test_what_only_the_shim_says_is_not_supplied() -> None:
    """A runtime that reports nothing about claims supplies nothing, though nothing is broken."""
    (subject,) = subjects("vllm_pool", Mode.HARD_PROTECTED)
    checked, _ = check_runtime(subject)
    answers = {each.obligation: each.answer for each in checked.obligations}
    assert NOT_SUPPLIED == answers["explicit_acceptance"]
    assert "broken" == answers["victim_exclusion_before_violation"]


@pytest.mark.parametrize(
    ("name", "mode", "says"),
    [
        ("vllm_pool", Mode.OFFLOADABLE, "no feature of vllm_pool tempts"),
        ("micro:relax", Mode.HARD_PROTECTED, "it takes them in demotable"),
        ("pool_counts", Mode.HARD_PROTECTED, "takes no claims"),
        ("vllm_pool_exclusion", Mode.EXPIRING, "takes no claims in expiring"),
        ("nothing", Mode.EXPIRING, "there is no model 'nothing'"),
    ],
)
def test_bad_input(name: str, mode: Mode, says: str) -> None:
    """What there is nothing to check of is an error that says what there is."""
    with pytest.raises(SpecError, match=says):
        subjects(name, mode)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["hard_protected", "--runtime", "vllm_pool"], 1),
        (["hard_protected", "--runtime", "vllm_pool_exclusion"], 3),
        (["hard_protected", "--runtime", "vllm_pol"], 2),
        (["--all", "--runtime", "vllm_pool"], 2),
        (["hard_protected", "--runtime", "vllm_pool", "--full"], 2),
    ],
)
def test_exit_codes(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    """1 where an obligation is broken, 3 where one is not shown, 2 for what cannot be asked."""
    assert code == main(["check", *arguments])
    text = capsys.readouterr()
    assert max(map(len, text.out.splitlines()), default=0) <= 80
    assert (text.err.count("\n") == 1) == (code == 2)
