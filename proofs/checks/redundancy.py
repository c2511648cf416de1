"""Compares the obligations that are redundant with those known to be, with their reasons.

A redundant obligation is a finding. If one becomes redundant, or necessary again, the meaning of
the specification has changed, and the check reports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spec.claims.states import Mode
from spec.contract.obligations import STATED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.checks.results import Lacking

__all__ = ["REDUNDANT", "Redundancy", "redundancy"]

REDUNDANT: dict[Mode, dict[str, str]] = {
    mode: why
    for mode in Mode
    if (why := {n: p.redundant for n, o in STATED.items() if (p := o.place(mode)) and p.redundant})
}
"""What the bundles keep as printed, and no clause of the mode needs (docs/findings.md)."""


class Redundancy(msgspec.Struct, frozen=True):
    """The obligations found redundant, compared with those listed as redundant.

    `known` gives the reasons; `unasked` are redundant and not listed, `needed` are listed and
    necessary; `undecided` were not decided within the work limit.
    """

    known: dict[str, str]
    unasked: list[str]
    needed: list[str]
    undecided: list[str]


def redundancy(mode: Mode, necessary: Mapping[str, Lacking]) -> Redundancy:
    """Find what became redundant in a mode's contract, or necessary again."""
    known = REDUNDANT.get(mode, {})
    results = {name: found.result for name, found in necessary.items()}
    return Redundancy(
        {name: why for name, why in known.items() if results.get(name) == "redundant"},
        [name for name, result in results.items() if result == "redundant" and name not in known],
        [name for name in known if results.get(name, "gone") in ("necessary", "gone")],
        [name for name, result in results.items() if result == "unknown"],
    )
