"""The page of the experiments is fresh, complete, and made by one command."""

import json
from pathlib import Path

import pytest

from models.__main__ import main
from models.experiments import command
from models.experiments.command import EXPERIMENTS, PAGE, can_draw, computed, files
from models.experiments.comparison import Compared, Experiment, Match
from models.experiments.page import FOLDER, digest, page_of
from tests.once import once

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def found() -> list[Experiment]:
    """All experiments, computed."""
    return once("experiments", computed)


class TestCompared:
    """The comparison follows from the two figures."""

    @pytest.mark.parametrize(
        ("paper", "here", "match"),
        [(1, 1, Match.AGREES), (1, 2, Match.DIFFERS), (1, None, Match.UNDERIVABLE)],
    )
    def test_match(self, paper: int, here: int | None, match: Match) -> None:
        """Equal figures agree, others differ, and one alone cannot be derived."""
        assert match is Compared("a figure", paper, here).match


QUICK = (
    "capacity",
    "materialization",
    "no-admit",
    "answers",
    "predictions",
    "eviction",
    "retention",
)


def test_quick_parts_are_fresh() -> None:
    """Each part that takes no seconds stands in the page of the docs."""
    page = (DOCS / PAGE).read_text(encoding="utf-8")
    for each in computed(QUICK):
        assert each.title.replace(" ", "").replace("-", "").isalnum(), "a link leads to it"
        section = page_of([each]).partition("\n## ")[2]
        assert section.rstrip() in page, each.name


@pytest.mark.slow
def test_the_page_is_fresh(found: list[Experiment]) -> None:
    """The page in the docs is what the command writes."""
    assert page_of(found) == (DOCS / PAGE).read_text(encoding="utf-8")


@pytest.mark.slow
def test_figures_draw_what_is_computed(found: list[Experiment]) -> None:
    """Each figure names the values that it was drawn from, and there is no other figure."""
    plotted = {f"{each.name}.svg": each for each in found if each.plot}
    assert set(plotted) == {path.name for path in (DOCS / FOLDER).iterdir()}
    for name, each in plotted.items():
        assert digest(each) in (DOCS / FOLDER / name).read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(not can_draw(), reason="the extra plots is not installed")
def test_figures_are_fresh(found: list[Experiment]) -> None:
    """Drawn again, each figure is the same to the byte."""
    for path, text in files(found).items():
        assert text == (DOCS / path).read_text(encoding="utf-8"), path


@pytest.mark.slow
def test_whoever_differs_says_why(found: list[Experiment]) -> None:
    """A figure that does not agree has a reason, and each experiment cites its source."""
    for each in found:
        assert each.compared
        assert "section" in each.source
        assert all(row.because for row in each.compared if row.match is not Match.AGREES)
        assert all(len(row) == len(each.head) for row in each.rows)


class TestCommand:
    """The command prints, writes and checks."""

    def test_text_and_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The sum comes first, lines fit, and JSON has the same experiments."""
        assert 0 == main(["experiments", "no-admit"])
        text = capsys.readouterr().out
        assert text.startswith("Of 9 figures 8 agree")
        assert max(map(len, text.splitlines())) <= 80
        assert 0 == main(["experiments", "no-admit", "--format", "json"])
        (only,) = json.loads(capsys.readouterr().out)["experiments"]
        assert ("no-admit", 9) == (only["name"], len(only["compared"]))

    def test_without_matplotlib(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """The page is written all the same, and the command says how to install the extra."""
        monkeypatch.setattr(command, "can_draw", lambda: False)
        monkeypatch.setattr(command, "computed", lambda names: computed(["no-admit"]))
        assert 0 == main(["experiments", "-o", str(tmp_path)])
        assert [PAGE] == [path.name for path in tmp_path.iterdir()]
        assert ".[plots]" in capsys.readouterr().err
        assert 0 == main(["experiments", "-o", str(tmp_path), "--check"])
        (tmp_path / PAGE).write_text("stale")
        assert 1 == main(["experiments", "-o", str(tmp_path), "--check"])
        assert 2 == main(["experiments", "-o", str(tmp_path), "--png"])

    @pytest.mark.parametrize(
        "options", [["capcity"], ["--check"], ["--png"], ["capacity", "-o", "docs"]]
    )
    def test_mistakes(self, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        """A mistyped name, or an option without its folder, is bad input."""
        assert 2 == main(["experiments", *options])
        assert capsys.readouterr().err.startswith("error: ")

    @pytest.mark.slow
    def test_names(self, found: list[Experiment]) -> None:
        """Each experiment has the name that it is listed by."""
        assert list(EXPERIMENTS) == [each.name for each in found]
