"""Pins the prefix of an agent's job between its steps, by claims that expire.

A policy on top of claims, in the manner of Continuum. A request names its job, and says whether it
is the job's last step. When another step ends, its prompt is claimed as `expiring` for the time to
live, and the pin of the step before is released. Every pin expires after its time to live. A job
needs a name, so that two jobs are never taken for one. Steps of one job may overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from runtime_hooks.claims.metadata import DEFAULT_OWNER, check_caller
from spec.claims.claim import MAX_ID
from spec.claims.states import Mode
from spec.language.errors import ClaimError

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_hooks.claims.arrivals import Arrival
    from runtime_hooks.claims.qualified import ClaimNames

__all__ = ["Pin", "Pins", "pin_of"]

_TTL: Final = "2 s"
_FIELDS: Final = frozenset({"job_id", "last_step", "ttl", "owner_scope"})
_LONGEST: Final = MAX_ID // 4  # characters of an id, so that the claim's id holds three


@dataclass(frozen=True, slots=True)
class Pin:
    """A request for a pin; `ttl` is a duration, such as `2 s`."""

    scope: str
    job_id: str
    last_step: bool
    ttl: str


def pin_of(raw: object, scope: str | None) -> Pin:
    """Parse a request for a pin.

    Raises:
        ClaimError: this is not one, or not one by this caller.
    """
    check_caller(scope)
    if not isinstance(raw, dict) or not {"job_id"} <= raw.keys() <= _FIELDS:
        raise ClaimError("pin is no object with a job_id", "docs/vllm-claims.md shows one")
    owner = raw.get("owner_scope", scope or DEFAULT_OWNER)
    job, last, ttl = raw["job_id"], raw.get("last_step", False), raw.get("ttl", _TTL)
    if scope is not None and owner != scope:
        raise ClaimError("it is for another owner", "leave owner_scope out")
    for name, text in (("job_id", job), ("ttl", ttl), ("owner_scope", owner)):
        if not isinstance(text, str) or not 0 < len(text) <= _LONGEST:
            raise ClaimError(f"{name} is no text of 1 to {_LONGEST} characters", "give one")
    if not isinstance(last, bool):
        raise ClaimError("last_step is neither true nor false", "give one of them")
    return Pin(owner, job, last, ttl)


class Pins:
    """The pins of jobs; `pinned` and `rejected` count the answers to those who asked for one.

    Args:
        names: of the engine's claims.
        claim: decides on a claim on an arrival's prompt; returns why it was rejected, or empty.
        release: releases a claim in its owner's name.
    """

    def __init__(
        self,
        names: ClaimNames,
        claim: Callable[[Arrival, dict[str, Any]], str],
        release: Callable[[str, str], str],
    ) -> None:
        self._names, self._claim, self._release = names, claim, release
        self.pinned = self.rejected = 0
        self._asked: dict[str, tuple[Arrival, Pin]] = {}
        self._held: dict[tuple[str, str], str] = {}  # the claim of a job, by its owner's id
        self._jobs: dict[str, tuple[str, str]] = {}  # the job of a claim, by the engine's id

    def ask(self, arrival: Arrival) -> str:
        """A request asks for a pin; returns why it was rejected, or empty."""
        try:
            self._asked[arrival.request_id] = (arrival, pin_of(arrival.pin, arrival.scope))
        except ClaimError as error:
            self.rejected += 1
            return str(error)
        return ""

    def finish(self, request_id: str) -> str | None:
        """A request ended: pin its prompt, or release its job's pin.

        Returns:
            Why its prompt was not pinned, or empty; None if it has no job.
        """
        asked = self._asked.pop(request_id, None)
        if asked is None:
            return None
        arrival, pin = asked
        job = (pin.scope, pin.job_id)
        before = self._held.get(job)
        if not pin.last_step:
            name = f"pin:{pin.scope}:{pin.job_id}:{arrival.request_id[-_LONGEST:]}"
            stated = {
                "claim_id": name,
                "owner_scope": pin.scope,
                "protection_mode": Mode.EXPIRING,
                "materialization_predicate": f"leading_prefix_at_least({len(arrival.keys)})",
                "duration": pin.ttl,
            }
            if reason := self._claim(arrival, stated):
                self.rejected += 1
                return reason
            self.pinned += 1
            self._held[job], self._jobs[self._names.engine_id(name, pin.scope)] = name, job
        if before is not None:
            self._release(before, pin.scope)
        return ""

    def ended(self, claim_id: str) -> None:
        """A claim ended, a pin or not."""
        job = self._jobs.pop(claim_id, None)
        if job is not None and self._held.get(job) == self._names.owners_id(claim_id, job[0]):
            del self._held[job]
