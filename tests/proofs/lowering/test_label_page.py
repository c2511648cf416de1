"""The page of labels: a matrix with every row, and what each label rests on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from proofs.__main__ import main
from proofs.labels.view import Rows
from spec.lowering.descriptor import SCHEMA
from tests.models.explorer.asking import Page

Made = Callable[..., tuple[int, str]]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """The exit code of `lower` with --html, and the page."""

    def call(*arguments: str) -> tuple[int, str]:
        path = tmp_path / "labels.html"
        code = main(["lower", *arguments, "--html", str(path)])
        return code, path.read_text()

    return call


def test_has_every_row(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    """Each row of the JSON is at its depth in the matrix, and in the details, with its label."""
    code, text = made("--all", "--format", "json")
    rows = msgspec.json.decode(capsys.readouterr().out, type=Rows).rows
    expected = {(r.descriptor, r.mode, depth, r.label) for r in rows for depth in [r.depth]}
    for tag in ("a", "details"):
        given = [a for t, a in Page(text).tags if t == tag and "data-row" in a]
        found = {
            (a["data-runtime"], a["data-mode"], depth, a["data-answer"])
            for a in given
            for depth in (a["data-depth"] or "").split()
        }
        assert expected == found
    assert 0 == code


def test_says_what_a_label_rests_on(made: Made) -> None:
    """What is supplied with its evidence, under which conditions, and what is missing."""
    _, text = made("tensorrt_llm_1_3_0rc14", "vllm_patched", "--mode", "hard_protected")
    rows = Page(text).rows
    assert ["claim identity I", "backend patch"] in [row[:2] for row in rows]
    assert any(row[0] == "claim materialized event M" and len(row) == 3 for row in rows)
    assert "Forbidden: active_no_evict -&gt; hard_protected." in text
    assert "Under the paper bundle it is sound with adapter" in text


def test_links_lead_somewhere(made: Made) -> None:
    """Each link of the matrix has its place on the page, and no place is there twice."""
    _, text = made("--all")
    page = Page(text)
    ids = [given["id"] for _, given in page.tags if "id" in given]
    assert len(set(ids)) == len(ids)
    assert {href.removeprefix("#") for href, _ in page.links} <= set(ids)


def test_keeps_text_text(made: Made, tmp_path: Path) -> None:
    """What a descriptor says is escaped."""
    path = tmp_path / "hostile.yaml"
    path.write_text(
        f"schema: {SCHEMA}\nname: mine\nruntime: '<script>alert(1)</script>'\n"
        "version: '1'\nabout: '</section><img src=x onerror=a()>'\n"
        "anchors: {}\n"
    )
    code, text = made(str(path))
    assert 3 == code
    assert 1 == text.count("<script")
    assert "<img" not in text


@pytest.mark.parametrize("where", ["-o", "--html"])
def test_refuses_what_it_cannot_write(
    where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder is no file, and two outputs are not one file."""
    assert 2 == main(["lower", "vllm_plugin", where, str(tmp_path)])
    assert "is a folder" in capsys.readouterr().err
    one = str(tmp_path / "one")
    assert 2 == main(["lower", "vllm_plugin", "--html", one, "-o", one])
    assert "both write" in capsys.readouterr().err
