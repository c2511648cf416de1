"""Words how a theorem was decided and within which bounds, in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proofs.checks.results import Sound

__all__ = ["by", "how"]

_ENGINES = {
    "search": "bounded search",
    "recorded": "recorded invariant",
    "spacer": "Spacer",
}


def by(sound: Sound) -> str:
    """The engine that answered, and what was checked again."""
    if sound.result != "proved":
        return _ENGINES[sound.engine]
    found = "a recorded invariant" if sound.engine == "recorded" else "an invariant of Spacer"
    return f"{found}, checked again by plain Z3"


def how(sound: Sound) -> str:
    """The text after "Sound: RESULT, "."""
    by = f"{_ENGINES[sound.engine]}, {sound.seconds:.1f} s"
    reason = f": {sound.reason}" if sound.reason else ""
    match sound.result:
        case "proved":
            checked = "the invariant was checked again by plain Z3: initiation, consecution"
            checked += ", implication"
            return (
                "for runs of every length and any number of blocks, one claim among arbitrary "
                f"others ({by}; {checked}). Clauses (the auditor reads only reports):"
            )
        case "bounded":
            length = "any length" if sound.bound is None else f"up to {sound.bound} events"
            return (
                f"not proved: no run of {length}, with counts of blocks up to "
                f"{sound.blocks}, breaks a clause; nothing is known beyond these bounds "
                f"({by}{reason}):"
            )
        case "refuted":
            return f"the obligations do not imply every clause ({by}{reason}):"
    return f"neither proved nor refuted ({by}{reason}):"
