"""Renders a diagram as Mermaid text."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from spec.docs.diagrams import small_print
from spec.docs.render import COLOURS

if TYPE_CHECKING:
    from spec.docs.diagrams import Diagram, Edge, Node

__all__ = ["to_mermaid"]

_WIDTH = 34


def to_mermaid(diagram: Diagram) -> str:
    """The diagram as a Mermaid `stateDiagram-v2`, the same text each time.

    The steps that other forms list beside it are a note.
    """
    nodes = {node.id: node for node in diagram.nodes}
    grouped = {member for group in diagram.groups if group.label for member in group.members}
    lines = ["---", f"title: {_plain(diagram.title)}", "---", "stateDiagram-v2"]
    numbers = bool(diagram.steps)
    lines.append(f"    direction {'LR' if numbers else 'TB'}")
    for group in diagram.groups:
        if group.label:
            lines.append(f'    state "{_plain(group.label)}" as {group.id} {{')
            lines += [f"        {_state(nodes[member], False)}" for member in group.members]
            lines.append("    }")
    lines += [f"    {_state(node, numbers)}" for node in diagram.nodes if node.id not in grouped]
    if diagram.initial:
        lines.append(f"    [*] --> {diagram.initial}")
    lines += [
        f"    {edge.source} --> {edge.target} : {_label(edge, numbers)}" for edge in diagram.edges
    ]
    if numbers:
        lines.append(f"    note left of {diagram.initial}")
        lines += [f"        {_plain(f'{s.number} {s.guard} {s.name}')}" for s in diagram.steps]
        lines.append("    end note")
    for look in dict.fromkeys(node.look for node in diagram.nodes):
        fill, line = COLOURS[look]
        members = ",".join(node.id for node in diagram.nodes if node.look is look)
        lines.append(f"    classDef {look} fill:{fill},stroke:{line},color:#22303c")
        lines.append(f"    class {members} {look}")
    return "\n".join(lines) + "\n"


def _state(node: Node, numbers: bool) -> str:
    name = f"{node.mark}  {node.name}" if node.mark else node.name
    says = textwrap.wrap(node.says, _WIDTH) + small_print(node, numbers=numbers)
    return f'state "{"<br/>".join(_plain(text) for text in (name, *says))}" as {node.id}'


def _label(edge: Edge, numbers: bool) -> str:
    if numbers:
        return " ".join(str(line.number) for line in edge.lines)
    texts = (f"{line.guard} {line.text}".strip() for line in edge.lines)
    return "<br/>".join(_plain(text) for text in texts)


def _plain(text: str) -> str:
    """`text` without what Mermaid would read as its own."""
    return re.sub(r'[:;"#%{}\[\]]', ",", text)
