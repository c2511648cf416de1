"""Checks for people: what was shown, how far, and by what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from proofs.check import Check, Consistent, Sound
    from proofs.story import Line

__all__ = ["print_check"]

_STYLE = {"proved": "green", "witnessed": "green", "refuted": "red", "vacuous": "red"}


def print_check(console: Console, check: Check) -> None:
    """One mode, in plain words."""
    console.print(Text(f"{check.mode}, {check.bundle} bundle", style="bold"))
    _print_consistent(console, check.consistent, len(check.obligations))
    _print_sound(console, check.sound)
    _paragraph(console, f"Readings: {', '.join(check.readings)} (docs/readings.md).")
    console.print()


def _print_consistent(console: Console, found: Consistent, obligations: int) -> None:
    if found.result == "witnessed":
        said = (
            f"a shortest run in which all {obligations} obligations are exercised and satisfied has "
            f"{len(found.story)} events:"
        )
    elif found.result == "vacuous":
        said = f"no run of up to {found.depth} events exercises and satisfies every obligation."
    else:
        said = f"the work limit was reached after {found.depth} events."
    _headline(console, "Consistent", found.result, said)
    _print_story(console, found.story)


def _print_sound(console: Console, sound: Sound) -> None:
    _headline(console, "Sound", sound.result, _how(sound))
    for name, says in sound.clauses.items():
        failed = name in sound.failed
        sign = {"proved": "holds", "refuted": "FAILS" if failed else "-"}.get(sound.result, "?")
        style = "red" if failed else "green" if sound.result == "proved" else ""
        row = Text(f"    {sign:<6} ", style=style)
        row.append(f"{name}: {says}", style="")
        _paragraph_text(console, row)
    if sound.story:
        _paragraph(console, "  A shortest run that keeps every obligation and breaks the clause:")
        _print_story(console, sound.story)


def _how(sound: Sound) -> str:
    time = f"{sound.seconds:.1f} s"
    if sound.result == "proved" and sound.bound is None:
        return (
            "for runs of every length and any number of blocks, one claim among arbitrary others "
            f"(Spacer, {time}; its invariant was checked again by plain Z3: initiation, "
            "consecution, implication). Who reads only reports:"
        )
    if sound.result == "proved":
        return (
            f"only for runs of up to {sound.bound} events and small block counts (bounded search, "
            f"{time}); no proof for every length was found. Who reads only reports:"
        )
    if sound.result == "refuted":
        return f"the obligations do not carry every clause ({time}). Who reads only reports:"
    return f"neither proved nor refuted within the work limit ({time}): {sound.reason}"


def _print_story(console: Console, story: list[Line]) -> None:
    for line in story:
        deed = "fact  " if line.fact else "report"
        row = Text(f"    {line.number:>2} ", style="")
        row.append(f"{deed} ", style="dim")
        row.append(line.kind, style="bold")
        row.append(f"  {line.about}")
        _paragraph_text(console, row)
        for change in line.changes:
            console.print(Padding(Text(f"-> {change}", style="dim"), (0, 0, 0, 14)))


def _headline(console: Console, title: str, result: str, said: str) -> None:
    row = Text(f"  {title}: ")
    row.append(result, style=_STYLE.get(result, "yellow"))
    row.append(f", {said}")
    _paragraph_text(console, row)


def _paragraph(console: Console, text: str) -> None:
    _paragraph_text(console, Text(f"  {text.strip()}"))


def _paragraph_text(console: Console, text: Text) -> None:
    indent = len(text.plain) - len(text.plain.lstrip())
    text = text[indent:]
    console.print(Padding(text, (0, 0, 0, indent)))
