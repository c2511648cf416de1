"""What is stated of a kind of event, from which the tables of kinds and fields are made."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["Names", "Role", "Row"]


class Role(Enum):
    """Who is answerable for an event."""

    CHOICE = "fact, chosen by the runtime"
    ENVIRONMENT = "fact, from outside the runtime"
    REPORT = "report"
    STREAM = "a property of the stream itself"


class Names(Enum):
    """Whether an event names a claim by `claim_id`."""

    NEVER = "never"
    MAY = "may"
    MUST = "must"


@dataclass(frozen=True, slots=True)
class Row:
    """All that is stated of a kind; the tables of kinds and fields are made from these.

    Args:
        says: what happened, or what is reported, in words.
        claim: whether it names a claim.
        fields: what it may state besides claim, request, time and identity, with blanks between.
        required: those without which it says too little to be judged, besides claim and request.
        request: it names a request, always.
        renews: a fact of the next request of an id, where the one before has ended: a router speaks
            of it before its arrival, and where an engine says that a load failed there may be an
            outcome to come.
        about_blocks: it speaks of blocks of a claim which were there before it.
        lifecycle: a report that moves the claim along its lifecycle.
        ends: a report that ends responsibility.
        blocks_gone: a fact that takes cached blocks away.
        action: a report of an action on active work in conflict with claims.
        tells: of a report about a route, the fact that it is about, and the field that both have.
    """

    role: Role
    says: str
    claim: Names
    fields: str = ""
    required: str = ""
    request: bool = False
    renews: bool = False
    about_blocks: bool = False
    lifecycle: bool = False
    ends: bool = False
    blocks_gone: bool = False
    action: bool = False
    tells: tuple[str, str] | None = None
