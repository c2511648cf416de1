"""Holds what the judging of some files found, as far as a report needs it.

Files may be judged in several processes: what they found is joined, in the order of the files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spec.contract.modes import MODES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.input.records import Account
    from monitor.results import Occurred, StreamFound
    from monitor.streams import AnyStreams
    from spec.claims.states import Mode

__all__ = ["Found", "found_in", "torn"]


@dataclass
class Found:
    """What was found in some files."""

    accounts: list[Account]
    occurred: Occurred
    streams: list[StreamFound]

    def join(self, later: Found) -> None:
        """Add what was found in files that come after these."""
        self.accounts += later.accounts
        self.occurred.join(later.occurred)
        self.streams += later.streams


def found_in(streams: AnyStreams, accounts: Sequence[Account]) -> Found:
    """What was found in streams that are finished."""
    return Found([*accounts], streams.occurred, streams.found())


def torn(streams: Sequence[StreamFound], mode: Mode) -> str:
    """Why the claims of a mode cannot be judged in a stream of which several files have a part;
    empty if they can.

    Each file is judged by itself, so a claim that lives on in the next file cannot be.
    """
    parts: dict[str, list[StreamFound]] = {}
    for stream in streams:
        parts.setdefault(stream.name, []).append(stream)
    for name, several in parts.items():
        if len(several) == 1 or not any(part.entered(mode) for part in several):
            continue
        if _is_divided(several, mode):
            entry = "registered" if MODES[mode].constants["watched"] else "accepted"
            return f"run {name} continues in a file in which its claims are not {entry}"
        for part in several:
            if mode in part.open and any(part.may_go_on_in(e) for e in several if e is not part):
                what = "continues in another file, and claims are alive where one file ends"
                return f"stream {name} {what}"
    return ""


def _is_divided(parts: Sequence[StreamFound], mode: Mode) -> bool:
    """Whether one part has claims that entered in another."""
    if not all(part.entered(mode) for part in parts):
        return True
    claims = [claim for part in parts for claim in part.claims if claim.mode in (mode, None)]
    inside = {claim.claim_id for claim in claims if claim.entered}
    return any(claim.claim_id in inside for claim in claims if not claim.entered)
