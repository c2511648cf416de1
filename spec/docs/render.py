"""Renders a diagram as DOT text, SVG, PNG or PDF."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
import textwrap
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from spec.docs.diagrams import GUARD_LOOKS, Diagram, Edge, Group, Look, Node, small_print
from spec.installed import how_to_install
from spec.language.errors import DrawingError
from spec.language.machine import Guard

if TYPE_CHECKING:
    import graphviz

__all__ = ["COLOURS", "DPI", "draw", "find_dot", "to_dot"]

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

_INK, _QUIET, _FRAME, _ARROW = "#22303c", "#5b6670", "#b9c6d6", "#5b6b7a"
_FONT: Final = "Helvetica"
_TIMEOUT_S: Final = 60

DPI: Final = 96
"""The resolution of a PNG, in dots per inch, if none is asked for."""


def to_dot(diagram: Diagram) -> str:
    """The diagram in the DOT language, the same text each time.

    Raises DrawingError where the package `graphviz` is not installed.
    """
    try:
        import graphviz  # what judges streams beside an engine does without it
    except ImportError:
        raise DrawingError(
            "DOT, SVG, PNG and PDF need graphviz, which is not installed",
            f"{how_to_install('diagrams')}; .mmd needs none",
        ) from None
    columns = any(group.columns for group in diagram.groups)
    numbers = bool(diagram.steps)
    graph = graphviz.Digraph(
        graph_attr={
            "rankdir": "LR" if numbers else "TB",
            "fontname": _FONT,
            "fontcolor": _INK,
            "labelloc": "t",
            "label": _title(diagram),
            "nodesep": "0.4" if columns else "0.6",
            "ranksep": "0.16" if columns else "0.4" if numbers else "0.7",
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
            "color": _ARROW,
            "arrowsize": "0.75",
        },
    )
    with graph.subgraph(name="cluster_all") as body:
        legend = f"<{_legend(diagram)}>"
        body.attr(label="" if numbers else legend, labelloc="b", peripheries="0", margin="10")
        nodes = {node.id: node for node in diagram.nodes}
        grouped = {member for group in diagram.groups for member in group.members}
        for group in diagram.groups:
            _add_group(body, group, nodes)
        for node in diagram.nodes:
            if node.id not in grouped:
                _add_node(body, node, numbers=numbers)
        if diagram.steps:
            body.node("steps", label=_steps(diagram), shape="plain", style="")
            body.edge("steps", "start", style="invis")
        if diagram.initial:
            body.node("start", label="", shape="circle", width="0.14", fillcolor=_INK, color=_INK)
            body.edge("start", diagram.initial)
        for edge in diagram.edges:
            _add_edge(body, edge, numbers=numbers)
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
    return f'<table border="0" cellspacing="5" cellpadding="1">{rows}</table>'


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


def _steps(diagram: Diagram) -> str:
    """The list of steps beside a drawing that has their numbers, and the legend."""
    rows = []
    for step in diagram.steps:
        colour = _guard_colour(step.guard)
        detail = f'<font color="{_QUIET}">{escape(step.detail)} </font>'
        cells = (
            f'<font color="{colour}"><b>{step.number}</b></font>',
            f'<font color="{colour}">{step.guard}</font>',
            escape(step.name),
            detail,
        )
        sides = ("right", "left", "left", "left")
        rows.append(
            "".join(f'<td align="{at}">{cell}</td>' for at, cell in zip(sides, cells, strict=True))
        )
    rows.append(f'<td colspan="4" align="left">{_legend(diagram)}</td>')
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    table = f'<table border="0" cellspacing="3" cellpadding="1">{body}</table>'
    return f'<<font point-size="10">{table}</font>>'


def _add_node(
    graph: graphviz.Digraph, node: Node, width: str = "", *, numbers: bool = False
) -> None:
    fill, line = COLOURS[node.look]
    mark = f'<font color="{line}"><b>{escape(node.mark)}</b></font>   ' if node.mark else ""
    rows = [f"{mark}<b>{escape(node.name)}</b>"]
    small = _even(node.says, 46 if width else 26)
    small += small_print(node, numbers=numbers)
    quiet = [_QUIET] * len(small)
    if node.breaks:
        quiet[-1] = COLOURS[Look.VIOLATED][1]
    rows += [
        f'<font point-size="9" color="{colour}">{escape(text)}</font>'
        for text, colour in zip(small, quiet, strict=True)
    ]
    drawn = "dashed" if node.look in {Look.ANY, Look.NOTE} else "filled"
    bold = node.look in {Look.CRITICAL, Look.VIOLATED, Look.HARMED}
    graph.node(
        node.id,
        label=f"<{'<br/>'.join(rows)}>",
        fillcolor=fill,
        color=line,
        style=f"rounded,{drawn}",
        penwidth="1.6" if bold else "1",
        **({"width": width} if width else {}),
    )


def _add_edge(graph: graphviz.Digraph, edge: Edge, *, numbers: bool) -> None:
    label = _numbers(edge) if numbers else _lines(edge)
    graph.edge(edge.source, edge.target, label=f"<{label}>", color=_colour(edge))


def _numbers(edge: Edge) -> str:
    marks = (
        f'<font color="{_guard_colour(line.guard)}">{line.number}</font>' for line in edge.lines
    )
    return _cell(f"<b> {' '.join(marks)} </b>")


def _cell(text: str) -> str:
    """`text` on white, so that no line runs through it."""
    cell = f'<td bgcolor="white">{text}</td>'
    return f'<table border="0" cellspacing="0" cellpadding="0"><tr>{cell}</tr></table>'


def _lines(edge: Edge) -> str:
    rows = []
    for line in edge.lines:
        guard = ""
        if line.guard:
            guard = f'<font color="{_guard_colour(line.guard)}"><b>{line.guard}</b></font> '
        rows.append(f" {guard}{escape(line.text)} ")
        if line.detail:
            rows.append(f'<font point-size="8" color="{_QUIET}">{escape(line.detail)}</font>')
    return _cell("<br/>".join(rows))


def _guard_colour(guard: str) -> str:
    return COLOURS[GUARD_LOOKS[Guard(guard)]][1]


def _colour(edge: Edge) -> str:
    colours = {_guard_colour(line.guard) if line.guard else _ARROW for line in edge.lines}
    return colours.pop() if len(colours) == 1 else _ARROW


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


def draw(diagram: Diagram, picture: str, dpi: int = DPI) -> bytes:
    """The diagram as a picture, "svg", "png" or "pdf"; raises DrawingError.

    `graphviz-pure` draws no PDF. `dpi` is the resolution of a PNG, in dots per inch.
    """
    dot = to_dot(diagram).encode("utf-8")  # first: it says what is missing for .dot, too
    program = find_dot()
    try:
        done = subprocess.run(
            [program, "-Kdot", f"-T{picture}", *([f"-Gdpi={dpi}"] if picture == "png" else [])],
            input=dot,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise DrawingError(f"{program} did not draw: {problem}", "write .dot instead") from None
    if done.returncode and picture == "pdf" and "graphviz-pure" in program:
        raise DrawingError("graphviz-pure draws no PDF", "install Graphviz, or write .svg")
    if done.returncode:
        reason = re.sub(r"\s+", " ", done.stderr.decode("utf-8", "replace")).strip()[:300]
        raise DrawingError(
            f"{program} failed with exit code {done.returncode}: {reason}", "write .dot instead"
        )
    return done.stdout
