"""`python -m proofs.mutation.pins`: pins the verdicts of the current specification."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from proofs.mutation.detection.of_changes import pinned_of
from proofs.mutation.detection.outcomes import unchanged
from proofs.mutation.detection.probes import ROWS, probes, rows, rows_page
from proofs.mutation.runs.judge import alike, is_faithful
from proofs.mutation.runs.lines import RUNS, runs
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.contract.obligations import OBLIGATIONS
from spec.files.writing import write_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["page", "pins_of", "unlike"]

_HEAD = """\
# Runs, and what is pinned of them: for each obligation, by its code, how its verdict changes; for
# each clause of a mode's theorem the events at which it fails; and as `world` the first event that
# the most general runtime cannot produce, where there is one.
# `python -m proofs.mutation.pins` writes the pins; their form is in proofs/mutation/runs/lines.py.
"""


def page(lines: Iterable[str], known: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """The text of the file: these runs with their pins.

    Args:
        known: pins that need not be found again.
    """
    found = known or {}
    each = ((line, found.get(line) or pins_of(line)) for line in lines)
    written = ((line, "; ".join(f"{n}: {t}" for n, t in pins.items())) for line, pins in each)
    return _HEAD + "".join(f"{line}\n  {pins}\n" if pins else f"{line}\n" for line, pins in written)


@cache
def pins_of(line: str) -> Mapping[str, str]:
    """By what is pinned, followed by the constants of the mode where it depends on them."""
    each: dict[str, dict[str, str]] = {}
    for mode in Mode:
        pinned = pinned_of(mode, line, unchanged().outcome(mode, line), unchanged())
        codes = (OBLIGATIONS[name].code for name in MODES[mode].names())
        for name in ("world", *(codes if is_faithful(alike(mode), line) else ()), *pinned):
            each.setdefault(name, {})[alike(mode)] = pinned.get(name, "")
    found: dict[str, str] = {}
    for name, pins in each.items():
        if len(set(pins.values())) == 1:
            pins = {"": next(iter(pins.values()))}
        found |= {f"{name}/{c}".rstrip("/"): pin for c, pin in sorted(pins.items()) if pin}
    return found


def unlike() -> list[str]:
    """The runs and probes whose verdict under the specification differs from the pinned one."""
    found = probes()
    other = [
        question for question in {**rows(), **found} if rows().get(question) != found.get(question)
    ]
    return [line for line, pinned in runs().items() if pinned != pins_of(line)] + other


if __name__ == "__main__":
    write_bytes(Path(str(RUNS)), page(runs()).encode())
    write_bytes(Path(str(ROWS)), rows_page().encode())
