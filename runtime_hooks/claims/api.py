"""Registers, releases, changes and lists claims for callers in the engine's process.

A registered claim waits for the first request whose prompt begins with its prefix, and is then
decided on as if it had come with that request. Any thread may call these functions. The engine's
thread carries out the calls when the next request arrives or the next step begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from runtime_hooks.claims.arrivals import Prompt
from runtime_hooks.claims.metadata import mode_change_of
from runtime_hooks.claims.preregistration import Preregistration, Ticket
from runtime_hooks.settings.config import ArmingError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Future

__all__ = ["Ticket", "change_mode", "list_claims", "opened", "register", "release"]

_HOOKED: Final[WeakSet[Preregistration]] = WeakSet()  # the engines of this process


def register(
    claim: Mapping[str, Any],
    prompt_token_ids: Sequence[int] | None = None,
    cache_salt: str = "",
) -> Ticket:
    """Register a claim, which waits for a request with its prefix.

    Args:
        claim: the claim as a request would state it.
        prompt_token_ids: a prompt that begins with the prefix; not needed where the claim names an
            `object_id` of this engine.
        cache_salt: the salt of the requests with this prefix.

    Returns:
        A ticket, whose `state` says at any time what became of the claim.

    Raises:
        ClaimError: this is not a claim for this engine, or too many claims wait.
        ArmingError: there is not exactly one hooked engine in this process.
    """
    ids = prompt_token_ids
    return _engine().register(claim, None if ids is None else Prompt(tuple(ids), cache_salt))


def release(claim_id: str, owner_scope: str) -> Future[str]:
    """Release a claim by its owner's id, waiting or live, whichever way it was made.

    Returns:
        Why it was not released, or empty; cancelled where the engine ends before.

    Raises:
        ArmingError: there is not exactly one hooked engine in this process.
    """
    return _engine().release(claim_id, owner_scope)


def change_mode(
    claim_id: str,
    successor: str,
    protection_mode: str,
    owner_scope: str,
    duration: str | None = None,
    priority: int | None = None,
) -> Future[str]:
    """Have a claim of another mode follow a live one, on the same blocks.

    Args:
        successor: the id of the claim that follows.
        owner_scope: who asks. The owner of the claim may ask for any mode, and gives the claim up;
            anybody else may only ask for a stronger mode, and adds a claim of their own.
        duration: of the successor; None for what is left of the claim's.
        priority: of the successor, where its mode is soft_priority.

    Returns:
        Why it was rejected, or empty; cancelled where the engine ends before.

    Raises:
        ClaimError: this is no change of the mode.
        ArmingError: there is not exactly one hooked engine in this process.
    """
    stated = {"claim_id": claim_id, "successor": successor, "protection_mode": protection_mode}
    more = {"owner_scope": owner_scope, "duration": duration, "priority": priority}
    return _engine().change_mode(mode_change_of(stated | more))


def list_claims() -> tuple[Ticket, ...]:
    """The claims that wait or are live, of those registered here or by the file of claims.

    Raises:
        ArmingError: there is not exactly one hooked engine in this process.
    """
    return _engine().tickets()


def opened(engine: Preregistration) -> None:
    """An engine of this process was hooked."""
    _HOOKED.add(engine)


def _engine() -> Preregistration:
    hooked = [engine for engine in _HOOKED if not engine.closed]
    if len(hooked) != 1:
        raise ArmingError(
            f"there are {len(hooked)} hooked engines in this process, and not one",
            "where the engine is another process, use the setting `ahead`",
        )
    return hooked[0]
