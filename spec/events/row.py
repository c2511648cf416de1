"""Defines the record of one kind of event, from which the tables of kinds and fields are made."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

__all__ = ["By", "Names", "Role", "Row"]


class Role(Enum):
    """Who is answerable for an event."""

    CHOICE = "fact, chosen by the runtime"
    ENVIRONMENT = "fact, from outside the runtime"
    REPORT = "report"


class Names(Enum):
    """Whether an event names a claim by `claim_id`."""

    NEVER = "never"
    MAY = "may"
    MUST = "must"


class By(Enum):
    """How an event is matched to the claims that it is about."""

    NAME = "the claim of its claim_id, with an identity that agrees with what that is bound to"
    ENTRY = "the same, unless it has no commitment, or its duration ended it before"
    OBJECT = "if it names no claim: the claims, known to a registry, on its object"
    BLOCKS = "if it names neither a claim nor an object: the claims that hold any of its blocks"
    CONTENT = "the claims that gain a block by it, since they are on the same content"
    LOSS = (
        "the claims that no longer hold a position; or, for an unknown block, those that it "
        "names or means"
    )
    FOREIGN = "if no registry holds the claim that it names: those that are on its object"
    REQUEST = "the request of its request_id, or the only one that can have cached its blocks"
    POOL = "every claim of the pool, about which it is not"


class Row(Struct, frozen=True):
    """All that is stated of a kind; the tables of kinds and fields are made from these.

    Args:
        says: what happened, or what is reported, in words.
        claim: whether it names a claim.
        fields: what it may state besides claim, request, time and identity, with blanks between.
        required: those without which it cannot be judged, besides claim and request; of fields
            with a bar between them one is enough.
        request: it names a request, always.
        renews: a fact of the next request of an id, where the one before has ended: a router
        reports on it before its arrival, and where an engine reports that a load failed there may
        be an outcome to come.
        about_blocks: it is about blocks of a claim that existed before it.
        lifecycle: a report that moves the claim along its lifecycle.
        ends: a report that ends responsibility.
        blocks_gone: a fact that takes cached blocks away.
        action: a report of an action on active work in conflict with claims.
        by: by what it finds the claims that it is about, where that does not follow from its role
            and from whether it names a claim or a request.
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
    by: tuple[By, ...] = ()
    tells: tuple[str, str] | None = None

    @property
    def finds(self) -> tuple[By, ...]:
        """How it is matched to the claims that it is about, and those that it is delivered to."""
        if self.by:
            return self.by
        found: tuple[By, ...]
        if self.claim is Names.NEVER:
            found = (By.POOL,)
        elif self.claim is Names.MAY:
            found = (By.NAME, By.OBJECT, By.BLOCKS)
        else:
            found = (By.NAME, By.FOREIGN) if self.role is Role.REPORT else (By.NAME,)
        return (*found, By.REQUEST) if self.request else found
