"""Selects the mode of a claim where each claim is judged by the mode that it states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.claims.states import ClaimState
from spec.contract.modes import MODES
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["owes_nothing", "unclear_mode"]


def unclear_mode(asked: str | None, accepted: str | None) -> str:
    """Why a claim goes by no mode of its own; empty where it asked for one.

    Args:
        accepted: the mode of its acceptance, where that is another word than it asked for.
    """
    if asked not in MODES:
        return "it states no mode" if asked is None else f"{asked} is no mode of the contract"
    return f"it asked for {asked} and was accepted in {accepted}" if accepted in MODES else ""


def owes_nothing(
    asked: str | None, state: ClaimState, findings: Iterable[Verdict], *, entered: bool
) -> bool:
    """Whether a claim that states no mode was turned away, and nothing else was reported of it:
    then no mode that it could have stated is violated, or open.

    Args:
        asked: the mode that it states.
        state: its state, as reported.
        findings: the verdicts of its obligations by some mode.
        entered: it was accepted, or committed to.
    """
    clean = {Verdict.SATISFIED, Verdict.UNEXERCISED}
    turned_away = asked is None and state is ClaimState.REFUSED and not entered
    return turned_away and set(findings) <= clean
