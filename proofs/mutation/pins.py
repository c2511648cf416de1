"""`python -m proofs.mutation.pins` pins the verdicts of the specification as it is; read what it
changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from proofs.mutation.judge import alike, is_faithful, judged, trail
from proofs.mutation.runs import RUNS, runs
from spec.claims import Mode
from spec.files import write_bytes
from spec.modes import MODES
from spec.obligations import OBLIGATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["page", "unlike"]

_HEAD = """\
# Runs, and what is pinned of them: for each obligation, by its code, how its verdict changes.
# `python -m proofs.mutation.pins` writes the pins; the runs are told in proofs/mutation/runs.py.
"""


def page(lines: Iterable[str]) -> str:
    """These runs with their pins, as the file has them."""
    told = ((line, "; ".join(f"{n}: {t}" for n, t in _pins(line).items())) for line in lines)
    return _HEAD + "".join(f"{line}\n  {pins}\n" if pins else f"{line}\n" for line, pins in told)


def _pins(line: str) -> dict[str, str]:
    """By code, followed by the constants of the mode where the trail depends on them."""
    found: dict[str, str] = {}
    for name, observer in OBLIGATIONS.items():
        constants = {alike(mode) for mode in Mode if name in MODES[mode].names()}
        each = {c: trail(judged(c, name, line)) for c in sorted(constants) if is_faithful(c, line)}
        if len(set(each.values())) == 1:
            each = {"": next(iter(each.values()))}
        found |= {f"{observer.code}/{c}".rstrip("/"): t for c, t in each.items() if t}
    return found


def unlike() -> list[str]:
    """The runs that the specification judges otherwise than as pinned."""
    return [line for line, pinned in runs().items() if pinned != _pins(line)]


if __name__ == "__main__":
    write_bytes(Path(str(RUNS)), page(runs()).encode())
