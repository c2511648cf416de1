"""Prints a table of modes, one line each, and a total."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from proofs.report.summary import NO_CERTIFICATE, STYLES
from proofs.report.verdict import FAR, sentence, verdict
from spec.language.prose import counted, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from proofs.report.results import Check

__all__ = ["print_row", "print_total"]

_WIDTHS = (16, 11, 18, 11, 13, 8)


def print_row(console: Console, check: Check, *, first: bool = False) -> None:
    """Print one mode, after the column names if it is the first."""
    if first:
        head = ("mode", "verdict", "clauses", "witness", "necessary", "seconds")
        console.print(Text(_line(head), style="bold"))
    needed = sum(each.result == "necessary" for each in check.necessary.values())
    found = verdict(check)
    row = Text(
        _line(
            (
                check.mode,
                found,
                _clauses(check),
                _witness(check),
                f"{needed} of {len(check.necessary)}",
                f"{check.seconds:.1f}",
            )
        )
    )
    row.stylize(STYLES[found], _WIDTHS[0], _WIDTHS[0] + len(found))
    console.print(row)


def print_total(console: Console, checks: Sequence[Check], *, certified: bool = False) -> None:
    """Print how many modes hold and within which scope, and why the others do not.

    Args:
        certified: whether a certificate was requested.
    """
    left = [check for check in checks if verdict(check) != "holds"]
    bundle = checks[0].bundle
    if not left:
        text = f"All {counted(len(checks), 'mode')} hold ({bundle} bundle), {FAR}."
        console.print(Text(text, style="bold"))
    else:
        held = len(checks) - len(left)
        console.print(
            Text(f"{held} of {counted(len(checks), 'mode')} hold ({bundle} bundle).", style="bold")
        )
    for check in left:
        console.print(Text(sentence(check)))
    if certified:
        names = [check.mode for check in checks if check.certificate is None]
        folder = next((check.certificate for check in checks if check.certificate), None)
        if folder is not None:
            console.print(Text(f"certificate: {printable(folder)}"))
        if names:
            console.print(Text(f"certificate of {', '.join(names)}: {NO_CERTIFICATE}"))


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
