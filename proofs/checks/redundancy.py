"""Compares the obligations that are redundant with those known to be, with their reasons.

An obligation that no clause needs is a finding. That one becomes so, or is needed again, is a
change of what the specification says, and nobody should learn of it by chance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spec.claims.claim import Mode
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
    """The obligations without which every clause is proved, against those of which it is known.

    `known` gives the reasons; `unasked` are redundant and not known to be, `needed` are known as
    redundant and a run needs them; of `undecided` neither was shown within the work limit.
    """

    known: dict[str, str]
    unasked: list[str]
    needed: list[str]
    undecided: list[str]


def redundancy(mode: Mode, necessary: Mapping[str, Lacking]) -> Redundancy:
    """What became redundant in a mode's contract, or is needed again."""
    known = REDUNDANT.get(mode, {})
    results = {name: found.result for name, found in necessary.items()}
    return Redundancy(
        {name: why for name, why in known.items() if results.get(name) == "redundant"},
        [name for name, said in results.items() if said == "redundant" and name not in known],
        [name for name in known if results.get(name, "gone") in ("necessary", "gone")],
        [name for name, said in results.items() if said == "unknown"],
    )
