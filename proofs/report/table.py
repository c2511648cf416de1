"""Lays out a table of modes, one line each, and a total."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proofs.report.summary import NO_CERTIFICATE, STYLES
from proofs.report.verdict import FAR, sentence, verdict
from spec.language.prose import counted, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proofs.report.results import Check
    from spec.cli.layout import Page

__all__ = ["cells", "put_row", "put_total", "total"]

_WIDTHS = (16, 11, 18, 11, 13, 8)


def put_row(out: Page, check: Check, *, first: bool = False) -> None:
    """One mode, after the column names if it is the first."""
    if first:
        head = ("mode", "verdict", "clauses", "witness", "necessary", "seconds")
        out.append(f"{_line(head)}\n", "bold")
    found, *rest = cells(check)
    line = _line((check.mode, found, *rest))
    at, end = _WIDTHS[0], _WIDTHS[0] + len(found)
    out.append(line[:at]).append(found, STYLES[found]).append(f"{line[end:]}\n")


def cells(check: Check) -> tuple[str, ...]:
    """What the table has of a mode: verdict, clauses, witness, necessary obligations, seconds."""
    needed = sum(each.result == "necessary" for each in check.necessary.values())
    necessary = f"{needed} of {len(check.necessary)}"
    return (verdict(check), _clauses(check), _witness(check), necessary, f"{check.seconds:.1f}")


def total(checks: Sequence[Check]) -> str:
    """How many modes hold, and within which scope."""
    holding = sum(verdict(check) == "holds" for check in checks)
    bundle, number = checks[0].bundle, counted(len(checks), "mode")
    if holding < len(checks):
        return f"{holding} of {number} hold ({bundle} bundle)."
    return f"All {number} hold ({bundle} bundle), {FAR}."


def put_total(out: Page, checks: Sequence[Check], *, certified: bool = False) -> None:
    """How many modes hold and within which scope, and why the others do not.

    Args:
        certified: whether a certificate was requested.
    """
    out.put(total(checks), "bold")
    for check in checks:
        if verdict(check) != "holds":
            out.put(sentence(check))
    if certified:
        names = [check.mode for check in checks if check.certificate is None]
        folder = next((check.certificate for check in checks if check.certificate), None)
        if folder is not None:
            out.put(f"certificate: {printable(folder)}")
        if names:
            out.put(f"certificate of {', '.join(names)}: {NO_CERTIFICATE}")


def _clauses(check: Check) -> str:
    sound = check.sound
    match sound.result:
        case "proved":
            return f"{len(sound.clauses)} of {len(sound.clauses)} proved"
        case "refuted":
            return (
                f"{len(sound.failed)} of {len(sound.clauses)} broken" if sound.failed else "broken"
            )
    return sound.result


def _witness(check: Check) -> str:
    found = check.consistent
    if found.result != "witnessed":
        return found.result
    return counted(len(found.story), "event")


def _line(cells: Sequence[str]) -> str:
    return "".join(f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=True)).rstrip()
