"""Defines quotas: what the live claims of one owner may take together."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import asdict

from spec.claims.claim import MAX_PRIORITY
from spec.claims.durations import Duration
from spec.language.errors import ClaimError

__all__ = ["Most", "Quota", "Quotas", "described", "in_words", "quota_of"]

Most = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Owner = Annotated[str, Meta(min_length=1, max_length=1024)]


class Quota(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one owner may claim; None where nothing is set.

    `blocks` is the most blocks that the owner's live claims hold, `claims` how many of them may
    live. `duration` is the longest that a claim may ask for; a claim must then ask for one, in
    this unit. `priority` is the highest that a claim may have.

    Raises:
        ValueError: the duration is none.
    """

    blocks: Most | None = None
    claims: Most | None = None
    duration: str | None = None
    priority: Annotated[int, Meta(ge=0, le=MAX_PRIORITY)] | None = None

    def __post_init__(self) -> None:
        if self.duration is not None:
            try:
                Duration.parse(self.duration)
            except ClaimError as error:
                raise ValueError(f"the duration {self.duration!r:.40}: {error}") from None


class Quotas(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The quotas of one engine.

    `each` is that of every owner, and `owners` override it, field by field. `floor` is how many
    blocks no claim may take.
    """

    each: Quota = Quota()
    owners: dict[Owner, Quota] = {}
    floor: Most = 0


def quota_of(owner: str, quotas: Quotas, default: Quota) -> Quota:
    """The quota of an owner: its own, then that of every owner, then the default."""
    own = quotas.owners.get(owner)
    found = asdict(default)
    for each in (quotas.each, own or Quota()):
        found.update((name, value) for name, value in asdict(each).items() if value is not None)
    return Quota(**found)


def described(quotas: Quotas, *, claims: int, half: bool) -> str:
    """The quotas in one line.

    Args:
        claims: the live claims of an owner whose quota states no number.
        half: whether an owner whose quota states no blocks has half of the pool.
    """
    each = in_words(quota_of("", Quotas(quotas.each), Quota(claims=claims)))
    if half and quotas.each.blocks is None:
        each = f"half of the pool, {each}"
    parts = [f"an owner has at most {each}"]
    for owner, own in sorted(quotas.owners.items()):
        parts.append(f"{owner} has at most {in_words(own) or 'the same'}")
    if quotas.floor:
        parts.append(f"no claim takes the last {quotas.floor} blocks")
    return ", and ".join(parts)


def in_words(quota: Quota) -> str:
    """What a quota sets; empty where it sets nothing."""
    parts = []
    if quota.blocks is not None:
        parts.append(f"{quota.blocks} blocks")
    if quota.claims is not None:
        parts.append(f"{quota.claims} claims")
    if quota.duration is not None:
        parts.append(f"{Duration.parse(quota.duration)} a claim")
    if quota.priority is not None:
        parts.append(f"priority {quota.priority}")
    return ", ".join(parts)
