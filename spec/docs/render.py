"""Renders a diagram as DOT text, SVG or PNG."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
import textwrap
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from spec.docs.diagrams import GUARD_LOOKS, Diagram, Edge, Group, Look, Node
from spec.installed import how_to_install
from spec.language.errors import DrawingError
from spec.language.machine import Guard

if TYPE_CHECKING:
    import graphviz

__all__ = ["COLOURS", "draw", "find_dot", "to_dot"]

COLOURS: Final[dict[Look, tuple[str, str]]] = {
    Look.SATISFIED: ("#dcf2e1", "#2e7d46"),
    Look.PENDING: ("#fff0c9", "#b27a00"),
    Look.VIOLATED: ("#fadcda", "#b3312a"),
    Look.UNEXERCISED: ("#eceff1", "#78868e"),
    Look.START: ("#ffffff", "#5b6b7a"),
    Look.RESPONSIBLE: ("#dbe8fa", "#3565a8"),
    Look.HARMED: ("#fadcda", "#b3312a"),
    Look.TERMINAL: ("#eceff1", "#78868e"),
    Look.OBLIGATION: ("#f4f7fb", "#5b7da8"),
    Look.CRITICAL: ("#fff0c9", "#b27a00"),
    Look.ANY: ("#ffffff", "#78868e"),
    Look.NOTE: ("#ffffff", "#9aa7b1"),
}
"""Fill and outline of a node, by its look."""

_INK, _QUIET, _FRAME = "#22303c", "#5b6670", "#b9c6d6"
_FONT: Final = "Helvetica"
_TIMEOUT_S: Final = 60


def to_dot(diagram: Diagram) -> str:
    """The diagram in the DOT language, the same text each time.

    Raises DrawingError where the package `graphviz` is not installed.
    """
    try:
        import graphviz  # what judges streams beside an engine does without it
    except ImportError:
        raise DrawingError(
            "DOT, SVG and PNG need graphviz, which is not installed",
            f"{how_to_install('diagrams')}; .mmd needs none",
        ) from None
    columns = any(group.columns for group in diagram.groups)
    graph = graphviz.Digraph(
        graph_attr={
            "rankdir": "TB",
            "fontname": _FONT,
            "fontcolor": _INK,
            "labelloc": "t",
            "label": _title(diagram),
            "nodesep": "0.4" if columns else "0.6",
            "ranksep": "0.16" if columns else "0.7",
            "pad": "0.25",
            "bgcolor": "white",
        },
        node_attr={
            "shape": "box",
            "style": "rounded,filled",
            "fontname": _FONT,
            "fontsize": "12",
            "fontcolor": _INK,
            "margin": "0.16,0.09",
        },
        edge_attr={
            "fontname": _FONT,
            "fontsize": "10",
            "fontcolor": _INK,
            "color": "#5b6b7a",
            "arrowsize": "0.75",
        },
    )
    with graph.subgraph(name="cluster_all") as body:
        body.attr(label=_legend(diagram), labelloc="b", peripheries="0", margin="10")
        nodes = {node.id: node for node in diagram.nodes}
        grouped = {member for group in diagram.groups for member in group.members}
        for group in diagram.groups:
            _add_group(body, group, nodes)
        for node in diagram.nodes:
            if node.id not in grouped:
                _add_node(body, node)
        if diagram.initial:
            body.node("start", label="", shape="circle", width="0.14", fillcolor=_INK, color=_INK)
            body.edge("start", diagram.initial)
        for edge in diagram.edges:
            _add_edge(body, edge)
        for above, below in diagram.below:
            body.edge(above, below, style="invis", weight="1" if columns else "0")
    return str(graph.source)


def _title(diagram: Diagram) -> str:
    rows = [
        f'<b><font point-size="17">{escape(diagram.title)}</font></b>',
        '<font point-size="4"> </font>',
    ]
    rows += [
        f'<font point-size="11" color="{_QUIET}">{escape(line)}</font>'
        for line in _even(diagram.subtitle, 80)
    ]
    return f"<{'<br/>'.join(rows)}>"


def _even(text: str, width: int) -> list[str]:
    """`text` in as few lines as fit the width, all of about one length."""
    most = textwrap.wrap(text, width)
    narrow = range(width // 2, width)
    even = (textwrap.wrap(text, least) for least in narrow)
    return next((lines for lines in even if len(lines) == len(most)), most)


def _legend(diagram: Diagram) -> str:
    cells = []
    for look, text in diagram.legend:
        fill, line = COLOURS[look]
        cells.append(
            f'<td bgcolor="{fill}" color="{line}" border="1" width="16" height="11"></td>'
            f'<td align="left"><font point-size="10" color="{_QUIET}">{escape(text)}  </font></td>'
        )
    rows = f"<tr>{''.join(cells)}</tr>" if cells else ""
    if diagram.note:
        note = f'<font point-size="10" color="{_QUIET}">{escape(diagram.note)}</font>'
        rows += f'<tr><td colspan="{max(2, 2 * len(cells))}" align="left">{note}</td></tr>'
    return f'<<table border="0" cellspacing="5" cellpadding="1">{rows}</table>>'


def _add_group(graph: graphviz.Digraph, group: Group, nodes: dict[str, Node]) -> None:
    with graph.subgraph(name=f"{'cluster' if group.label else 'set'}_{group.id}") as frame:
        frame.attr(
            label=f'<<font point-size="12" color="{_QUIET}">{escape(group.label)}</font>>',
            labelloc="t",
            style="rounded,filled",
            peripheries="1",
            color=_FRAME,
            fillcolor="#fafcfe",
            margin="14",
        )
        for member in group.members:
            _add_node(frame, nodes[member], width="3.6" if group.columns else "")
        height = -(-len(group.members) // max(1, group.columns))
        for row, (above, below) in enumerate(pairwise(group.members), start=1):
            if group.columns and row % height:
                frame.edge(above, below, style="invis")


def _add_node(graph: graphviz.Digraph, node: Node, width: str = "") -> None:
    fill, line = COLOURS[node.look]
    mark = f'<font color="{line}"><b>{escape(node.mark)}</b></font>   ' if node.mark else ""
    rows = [f"{mark}<b>{escape(node.name)}</b>"]
    small = _even(node.says, 46 if width else 26)
    small += [f"stays: {step}" for step in node.stays]
    rows += [f'<font point-size="9" color="{_QUIET}">{escape(text)}</font>' for text in small]
    style = {
        Look.ANY: "rounded,dashed",
        Look.NOTE: "rounded,dashed",
    }.get(node.look, "rounded,filled")
    bold = node.look in {Look.CRITICAL, Look.VIOLATED, Look.HARMED}
    graph.node(
        node.id,
        label=f"<{'<br/>'.join(rows)}>",
        fillcolor=fill,
        color=line,
        style=style,
        penwidth="1.6" if bold else "1",
        **({"width": width} if width else {}),
    )


def _add_edge(graph: graphviz.Digraph, edge: Edge) -> None:
    graph.edge(edge.source, edge.target, label=f"<{_lines(edge)}>", color=_colour(edge))


def _lines(edge: Edge) -> str:
    rows = []
    for line in edge.lines:
        guard = ""
        if line.guard:
            guard = f'<font color="{_guard_colour(line.guard)}"><b>{line.guard}</b></font> '
        rows.append(f" {guard}{escape(line.name)} ")
        if line.detail:
            rows.append(f'<font point-size="8" color="{_QUIET}">{escape(line.detail)}</font>')
    cell = f'<td bgcolor="white">{"<br/>".join(rows)}</td>'  # so that no line runs through it
    return f'<table border="0" cellspacing="0" cellpadding="0"><tr>{cell}</tr></table>'


def _guard_colour(guard: str) -> str:
    return COLOURS[GUARD_LOOKS[Guard(guard)]][1]


def _colour(edge: Edge) -> str:
    colours = {_guard_colour(line.guard) if line.guard else "#5b6b7a" for line in edge.lines}
    return colours.pop() if len(colours) == 1 else "#5b6b7a"


def find_dot() -> str:
    """The program that draws: the system's `dot`, or else `graphviz-pure`.

    Raises DrawingError where neither is installed (docs/decisions/0001).
    """
    scripts = sysconfig.get_path("scripts")
    found = (
        shutil.which("dot")
        or shutil.which("graphviz-pure", path=scripts)
        or shutil.which("graphviz-pure")
    )
    if found is None:
        raise DrawingError(
            "no program that draws diagrams is installed",
            f"install Graphviz, or {how_to_install('diagrams')}; .dot and .mmd need none",
        )
    return found


def draw(diagram: Diagram, picture: str) -> bytes:
    """The diagram as a picture, "svg" or "png"; raises DrawingError."""
    dot = to_dot(diagram).encode("utf-8")  # first: it says what is missing for .dot, too
    program = find_dot()
    try:
        done = subprocess.run(
            [program, "-Kdot", f"-T{picture}"],
            input=dot,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise DrawingError(f"{program} did not draw: {problem}", "write .dot instead") from None
    if done.returncode:
        reason = re.sub(r"\s+", " ", done.stderr.decode("utf-8", "replace")).strip()[:300]
        raise DrawingError(
            f"{program} failed with exit code {done.returncode}: {reason}", "write .dot instead"
        )
    return done.stdout
