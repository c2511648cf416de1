"""Claims by hand, in the process of the engine: register one ahead, give one up, list them.

A claim that is registered here waits for the first request whose prompt begins with its prefix, and
is decided on then as if it had come with that request. Every function may be called from any
thread; what it asks for is done by the engine's, when that next has a request or a step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runtime_hooks.plugin.arming import ArmingError, armed
from runtime_hooks.requests.ahead import Ahead, Prompt, Ticket

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Future

__all__ = ["Ticket", "list_claims", "register", "release"]


def register(
    claim: Mapping[str, Any],
    prompt_token_ids: Sequence[int] | None = None,
    cache_salt: str = "",
) -> Ticket:
    """Have a claim wait for its prefix.

    Args:
        claim: as a request would state it.
        prompt_token_ids: a prompt that begins with the prefix; not needed where the claim names an
            `object_id` of this engine.

    Returns:
        What becomes of it, as it stands at any time.

    Raises:
        ClaimError: it is no claim for this engine, or one too many waits.
        ArmingError: there is no engine in this process.
    """
    ids = prompt_token_ids
    return _ahead().register(claim, None if ids is None else Prompt(tuple(ids), cache_salt))


def release(claim_id: str, owner_scope: str) -> Future[str]:
    """Give up a claim that waits, or that is live, however it came.

    Returns:
        Why it is not given up, or empty; cancelled where the engine ends before.

    Raises:
        ArmingError: there is no engine in this process.
    """
    return _ahead().release(claim_id, owner_scope)


def list_claims() -> tuple[Ticket, ...]:
    """The claims registered here, or by the file of claims, that wait or are live.

    Raises:
        ArmingError: there is no engine in this process.
    """
    return _ahead().tickets()


def _ahead() -> Ahead:
    running = armed()
    engines = [] if running is None else running.attachments
    if len(engines) != 1:
        raise ArmingError(
            f"there are {len(engines)} hooked engines in this process, and not one",
            "where the engine is another process, use the setting `ahead`",
        )
    found: Ahead = engines[0].keeper.ahead
    return found
