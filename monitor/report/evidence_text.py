"""Renders evidence as text: what each file shows of each obligation, and why no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from spec.cli.styled import STYLES
from spec.contract.modes import MODES
from spec.contract.obligations import OBLIGATIONS
from spec.digest import SHORT
from spec.language.prose import counted, printable

if TYPE_CHECKING:
    from rich.console import Console

    from spec.lowering.evidence import EvidenceFile

__all__ = ["evidence_text"]

_MOST_NUMBERS: Final = 8


def evidence_text(evidence: EvidenceFile, out: Console) -> str:
    """The evidence as `out` would show it."""
    with out.capture() as captured:
        out.print(Text(_headline(evidence), "bold"))
        out.print()
        for number, trace in enumerate(evidence.files):
            out.print(f"file {number}  {printable(trace.path)}", soft_wrap=True)
            out.print(f"        sha256 {trace.sha256[:SHORT]}")
        out.print()
        if evidence.shown:
            out.print(_shown(evidence))
            out.print()
        for (file, verdict, why), names in _unshown(evidence).items():
            head = Text(f"file {file}  {verdict} ", STYLES[verdict])
            out.print(head.append(", ".join(names), "none"))
            out.print(Padding(Text(printable(why)), (0, 0, 0, 8)))
    return captured.get()


def _headline(evidence: EvidenceFile) -> str:
    names = MODES[evidence.mode].names(evidence.bundle)
    shown = {item.obligation for item in evidence.shown}
    broken = {item.obligation: None for item in evidence.unshown if item.verdict == "violated"}
    violated = f"violated: {', '.join(broken)}; " if broken else ""
    number = len(shown) or "none"
    return f"{violated}{number} of the {counted(len(names), 'obligation')} of {evidence.mode} shown"


def _shown(evidence: EvidenceFile) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for name in ("", "obligation", "file", "claims"):
        table.add_column(name, no_wrap=True)
    table.add_column("events")
    for item in evidence.shown:
        code = OBLIGATIONS[item.obligation].code
        claims = len(item.claims) + item.more
        table.add_row(code, item.obligation, str(item.file), str(claims), _some(item.sequences))
    return table


def _unshown(evidence: EvidenceFile) -> dict[tuple[int | None, str, str], list[str]]:
    """Obligations that are not shown, those for one and the same reason together."""
    names: dict[tuple[int | None, str, str], list[str]] = {}
    for each in evidence.unshown:
        names.setdefault((each.file, each.verdict, each.why), []).append(each.obligation)
    return names


def _some(numbers: tuple[int, ...]) -> str:
    rest = len(numbers) - _MOST_NUMBERS
    more = f" and {rest} more" if rest > 0 else ""
    return ", ".join(map(str, numbers[:_MOST_NUMBERS])) + more
