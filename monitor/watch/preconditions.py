"""Evaluates the nine preconditions under which observations are joined with claims.

If one is not met for a claim, the claim is not registered, or is inconclusive. Source: Fail-Closed
Lowering of Resident KV Claims, table 5.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from monitor.watch.prefixes import NO_TOKENS, Lack
from spec.language.prose import counted
from spec.lowering.depths import Precondition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.watch.join import Join
    from monitor.watch.registry import Watching

__all__ = ["Evaluated", "Met", "preconditions", "utc"]

_P: Final = Precondition


class Met(StrEnum):
    """Whether a precondition holds."""

    MET = "met"
    NOT_MET = "not met"
    NOT_OBSERVABLE = "not observable"


class Evaluated(msgspec.Struct, frozen=True):
    """One precondition, whether it holds, and what shows it."""

    precondition: Precondition
    met: Met
    evidence: str


def preconditions(
    watching: Watching, joins: Sequence[Join], *, open_ends: Sequence[str] = ()
) -> list[Evaluated]:
    """The nine preconditions, over all streams that were read, in the order of the table.

    Args:
        open_ends: sources of which batches may be missing, at their end or all of them, and why.
    """
    claims = counted(len(watching.claims), "claim")
    return [
        _before_events(watching, joins),
        Evaluated(
            _P.STABLE_CLAIM_ID,
            Met.MET,
            f"{claims} named by the registry; KV events name no request",
        ),
        _object_named(joins),
        Evaluated(
            _P.FIXED_PREDICATE, Met.MET, "leading_prefix_at_least(blocks of the registry's prefix)"
        ),
        _token_map(watching, joins),
        _one_identity(watching, joins),
        Evaluated(_P.OBSERVATION_POINT, Met.MET, "the end of each KV event"),
        _joinable(joins, open_ends),
        _ambiguity(joins),
    ]


def utc(time_ns: int) -> str:
    """A time as people write it."""
    return f"{datetime.fromtimestamp(time_ns // 1_000_000_000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _before_events(watching: Watching, joins: Sequence[Join]) -> Evaluated:
    name = _P.ACCEPTED_CLAIM_REGISTRY
    if not joins:
        return Evaluated(name, Met.NOT_OBSERVABLE, "no batch was read")
    if older := [join for join in joins if not join.is_open]:
        last = utc(older[0].now_ns)
        says = f"{watching.says_since}, and the last batch of {older[0].stream} is of {last}"
        return Evaluated(name, Met.NOT_MET, f"{says}: state registered if the file is newer")
    return Evaluated(name, Met.MET, f"{watching.says_since}; batches from then on are judged")


def _object_named(joins: Sequence[Join]) -> Evaluated:
    name, bad = _P.REUSABLE_OBJECT_ID, [join for join in joins if join.contradictions]
    if bad:
        times = counted(sum(join.contradictions for join in bad), "contradiction")
        return Evaluated(name, Met.NOT_MET, f"{times}: {bad[0].last_contradiction}")
    if blocks := sum(len(join.prefixes.nodes) for join in joins):
        has = "has one hash" if blocks == 1 else "have one hash each"
        return Evaluated(name, Met.MET, f"{counted(blocks, 'block')} of prefixes {has}")
    return Evaluated(name, Met.NOT_OBSERVABLE, "no block of a registered prefix was stored")


def _token_map(watching: Watching, joins: Sequence[Join]) -> Evaluated:
    name, says, hashing = _P.REQUEST_TOKEN_MAP, watching.says_tokens, watching.hashing
    if any(fault.lack is Lack.TOKENS for join in joins for fault in join.prefixes.faults):
        return Evaluated(
            name, Met.NOT_OBSERVABLE, f"{NO_TOKENS}, and the registry states no hashing"
        )
    recognised = sum(join.prefixes.recognised for join in joins)
    if any(join.prefixes.veiled and not join.prefixes.recognised for join in joins):
        assert hashing is not None
        why = f"{NO_TOKENS}, and none under a hash that {hashing.scheme} gives to a prefix"
        return Evaluated(name, Met.NOT_OBSERVABLE, f"{why}: its scheme or seed may be another")
    if hashing is not None and recognised:
        times = counted(recognised, "store")
        says += f"; {times} recognised by hashes recomputed by {hashing.scheme}"
    return Evaluated(name, Met.MET, says)


def _one_identity(watching: Watching, joins: Sequence[Join]) -> Evaluated:
    name, size = _P.FIXED_CACHE_IDENTITY, watching.block_size
    faults = [fault for join in joins for fault in join.prefixes.faults]
    if other := next((fault.why for fault in faults if fault.lack is Lack.SIZE), ""):
        return Evaluated(name, Met.NOT_MET, f"{other}, and the registry says {size}")
    if hidden := next((join.hides for join in joins if join.hides), ""):
        return Evaluated(name, Met.NOT_OBSERVABLE, hidden)
    if faults:
        return Evaluated(name, Met.NOT_OBSERVABLE, faults[0].why)
    if any(join.joined for join in joins):
        recognised = any(join.prefixes.recognised for join in joins)
        how = "hashed" if recognised else "stated"
        says = f"blocks of {size} tokens; adapters and salts are {how} with them"
        return Evaluated(name, Met.MET, says)
    return Evaluated(name, Met.NOT_OBSERVABLE, "no block of a registered prefix was stored")


def _joinable(joins: Sequence[Join], open_ends: Sequence[str]) -> Evaluated:
    name, breaks = _P.JOINABLE_EVENTS, sum(join.breaks for join in joins)
    if paused := next((join.paused for join in joins if join.paused), ""):
        return Evaluated(name, Met.NOT_MET, f"batches may be missing at the end: {paused}")
    if breaks:
        first = next(join.first_break for join in joins if join.breaks)
        return Evaluated(name, Met.NOT_MET, f"{counted(breaks, 'break')}; first: {first}")
    if open_ends or not joins:
        return Evaluated(name, Met.NOT_OBSERVABLE, [*open_ends, "no batch was read"][0])
    return Evaluated(name, Met.MET, "tokens, parents and numbers; no batch is missing")


def _ambiguity(joins: Sequence[Join]) -> Evaluated:
    alone = sum(join.doubts for join in joins)
    says = "no removal made a judged claim ambiguous"
    if alone:
        times = counted(alone, "time")
        says = f"{times} a removal was of one of several copies, and the claim inconclusive"
    return Evaluated(_P.AMBIGUITY_FAILS_CLOSED, Met.MET, says)
