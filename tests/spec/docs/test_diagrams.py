"""Tests of spec.docs.diagrams, spec.docs.render, spec.docs.mermaid and spec.docs.drawing."""

import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from spec.claims.states import RESPONSIBLE, TRANSITIONS
from spec.contract.modes import MODES
from spec.contract.obligations import OBLIGATIONS
from spec.docs import render
from spec.docs.diagrams import Diagram, Look, lifecycle_diagram, observer_diagram
from spec.docs.drawing import Picture, diagram_named, in_form, picture_for
from spec.docs.mermaid import to_mermaid
from spec.docs.render import draw, find_dot, to_dot
from spec.docs.wording import MUST
from spec.language.errors import DrawingError, UnknownName
from spec.language.verdicts import Verdict

NAMES = ("lifecycle", *(mode.value for mode in MODES), *OBLIGATIONS)
DIAGRAMS = {name: diagram_named(name) for name in NAMES}
PURE = str(Path(sysconfig.get_path("scripts")) / "graphviz-pure")
EACH = pytest.mark.parametrize("diagram", DIAGRAMS.values(), ids=DIAGRAMS)


@EACH
class TestEach:
    """What holds of every diagram."""

    def test_closed(self, diagram: Diagram) -> None:
        """Arrows and groups are about nodes that are there, each in one group at most."""
        nodes = {node.id for node in diagram.nodes}
        members = [member for group in diagram.groups for member in group.members]
        ends = {end for edge in diagram.edges for end in (edge.source, edge.target)}
        assert ends | {end for pair in diagram.below for end in pair} <= nodes
        assert set(members) <= nodes
        assert len(nodes) == len(diagram.nodes)
        assert len(members) == len(set(members))

    def test_dot(self, diagram: Diagram) -> None:
        """The DOT text is ASCII, the same each time, and names every node."""
        text = to_dot(diagram)
        assert text.isascii()
        assert to_dot(diagram) == text
        assert all(re.search(rf"^\t+{node.id} \[", text, re.M) for node in diagram.nodes)

    def test_mermaid(self, diagram: Diagram) -> None:
        """The Mermaid text has every node and arrow, and no mark that would end a label early."""
        text = to_mermaid(diagram)
        assert "stateDiagram-v2" in text
        assert all(f" as {node.id}\n" in text for node in diagram.nodes)
        arrows = re.findall(r"^    (?!\[)\w+ --> \w+ : ([^\n]*)$", text, re.M)
        assert len(diagram.edges) == len(arrows)
        assert not any(re.search('[:;"#]', label) for label in arrows)


class TestObserver:
    """The diagrams of the obligations."""

    @pytest.mark.parametrize("name", OBLIGATIONS)
    def test_rules(self, name: str) -> None:
        """Every way of every rule is drawn once: as an arrow, or in the box that it leaves."""
        observer, diagram = OBLIGATIONS[name], DIAGRAMS[name]
        live = [s.name for s in observer.states if s.verdict is not Verdict.VIOLATED]
        broken = next(s.name for s in observer.states if s.verdict is Verdict.VIOLATED)
        ways = [(e.source, e.target, line) for e in diagram.edges for line in e.lines]
        ways += [(node.id, node.id, line) for node in diagram.nodes for line in node.stays]
        ways += [
            ("any_state" if node.id == broken else node.id, broken, line)
            for node in diagram.nodes
            for line in node.breaks
        ]
        drawn = [
            (line.text, each, target)
            for source, target, line in ways
            for each in (live if source == "any_state" else [source])
        ]
        due = [
            (f"{n} {rule.name}", source, rule.to)
            for n, rule in enumerate(observer.rules, 1)
            for source in observer.sources(rule)
        ]
        assert sorted(due) == sorted(drawn)

    @pytest.mark.parametrize("name", OBLIGATIONS)
    def test_many(self, name: str) -> None:
        """Six rules or more are listed beside the drawing, which has no arrow to `violated`; both
        texts have every rule by its name."""
        observer, diagram = OBLIGATIONS[name], DIAGRAMS[name]
        arrows = [edge for edge in diagram.edges if edge.target == "violated"]
        assert (len(observer.rules) >= 6) is bool(diagram.steps) is not bool(arrows)
        assert len(diagram.steps) in {0, len(observer.rules)}
        for text in (to_dot(diagram), to_mermaid(diagram)):
            assert all(rule.name in text for rule in observer.rules)

    def test_looks(self) -> None:
        """A state has the look of its verdict."""
        diagram = observer_diagram(OBLIGATIONS["claim_harm_attribution"])
        assert {
            "idle": Look.UNEXERCISED,
            "owed": Look.PENDING,
            "failed": Look.PENDING,
            "aside": Look.UNEXERCISED,
            "reported": Look.SATISFIED,
            "stated": Look.SATISFIED,
            "violated": Look.VIOLATED,
        } == {node.id: node.look for node in diagram.nodes}


class TestLifecycle:
    """The diagram of the lifecycle."""

    def test_rows(self) -> None:
        """Arrows, stays and steps from any responsible state are the rows of the table."""
        diagram = lifecycle_diagram()
        rows = {
            (f"claim_{line.name}", source, edge.target)
            for edge in diagram.edges
            for line in edge.lines
            for source in (RESPONSIBLE if edge.source == "any_state" else (edge.source,))
        }
        rows |= {
            (f"claim_{s.name}", node.id, node.id) for node in diagram.nodes for s in node.stays
        }
        assert {(row.trigger, row.source, row.dest) for row in TRANSITIONS} == rows


class TestMode:
    """The diagrams of the modes."""

    def test_hard_protected(self) -> None:
        """What the paper has, what was added and what is critical can be told apart."""
        diagram = DIAGRAMS["hard_protected"]
        sizes = {group.id: len(group.members) for group in diagram.groups}
        assert OBLIGATIONS.keys() == MUST.keys()
        assert all(MUST[node.name] in node.says for node in diagram.nodes if node.mark)
        critical = {node.mark for node in diagram.nodes if node.look is Look.CRITICAL}
        assert {"paper": 9, "added": 1, "terms": 2} == sizes
        assert {"V", "X", "B"} == critical


class TestPictures:
    """Turning text into pictures."""

    def test_svg(self) -> None:
        """An SVG has its root element."""
        assert b"<svg" in draw(lifecycle_diagram(), "svg")

    def test_png(self) -> None:
        """A PNG has its signature."""
        assert in_form(lifecycle_diagram(), Picture.PNG).startswith(b"\x89PNG")

    def test_dpi(self) -> None:
        """A PNG of twice the resolution is twice as wide."""
        width = {
            dpi: int.from_bytes(in_form(lifecycle_diagram(), Picture.PNG, dpi)[16:20])
            for dpi in (96, 192)
        }
        assert 2 * width[96] == pytest.approx(width[192], abs=4)

    def test_pdf(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The system's dot is asked for a PDF; graphviz-pure draws none, and the error says so."""
        done, asked = subprocess.CompletedProcess([], 0, b"%PDF-1.7", b""), []
        monkeypatch.setattr(render.subprocess, "run", lambda argv, **_: asked.append(argv) or done)
        assert b"%PDF-1.7" == in_form(lifecycle_diagram(), Picture.PDF)
        assert ["-Kdot", "-Tpdf"] == asked[0][1:]
        monkeypatch.undo()
        monkeypatch.setattr(render, "find_dot", lambda: PURE)
        with pytest.raises(DrawingError, match="graphviz-pure draws no PDF"):
            draw(lifecycle_diagram(), "pdf")

    def test_system_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The system's dot is taken before graphviz-pure."""
        monkeypatch.setattr("shutil.which", lambda name, path=None: f"/there/{name}")
        assert "/there/dot" == find_dot()

    def test_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where nothing draws, the error says what to install."""
        monkeypatch.setattr("shutil.which", lambda name, path=None: None)
        with pytest.raises(DrawingError, match="install Graphviz"):
            draw(lifecycle_diagram(), "svg")

    def test_failed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A program that fails is reported by its exit code and its own words."""
        done = subprocess.CompletedProcess([], 1, b"", b"syntax error\nin line 1")
        monkeypatch.setattr(render.subprocess, "run", lambda *_, **__: done)
        with pytest.raises(DrawingError, match="exit code 1: syntax error in line 1"):
            draw(lifecycle_diagram(), "svg")

    @pytest.mark.parametrize(
        ("path", "form", "picture"),
        [
            (None, None, Picture.MERMAID),
            (None, "dot", Picture.DOT),
            ("a.svg", None, Picture.SVG),
            ("a.PNG", None, Picture.PNG),
            ("a.mermaid", None, Picture.MERMAID),
            ("a.txt", "gv", Picture.DOT),
        ],
    )
    def test_form(self, path: str | None, form: str | None, picture: Picture) -> None:
        """A form asked for by name wins over the suffix, and Mermaid is for where nothing says."""
        assert picture is picture_for(Path(path) if path else None, form)

    def test_unknown(self) -> None:
        """A suffix that no picture has is met with the nearest."""
        with pytest.raises(UnknownName, match="did you mean png"):
            picture_for(Path("a.pngg"), None)
