"""The outcome of a check, as published: schema `resident-claims/verdict/1`."""

from __future__ import annotations

import msgspec

__all__ = ["SCHEMA", "ClaimReport", "Events", "Input", "ObligationReport", "Place", "Report"]

SCHEMA = "resident-claims/verdict/1"


class Place(msgspec.Struct, frozen=True):
    """Where the deciding event was read; lines count from 1."""

    file: str
    line: int
    sequence: int | None


class ObligationReport(msgspec.Struct, frozen=True):
    """One obligation of one claim: its verdict, the event that decided it, and why.

    `allowed` says what would have been right where the obligation was violated.
    """

    verdict: str
    at: Place | None
    why: str
    allowed: str = ""


class ClaimReport(msgspec.Struct, frozen=True):
    """One claim of one stream; `state` is where its lifecycle stands, as reported."""

    claim_id: str
    stream: str
    state: str
    verdict: str
    obligations: dict[str, ObligationReport]
    declared_mode: str | None = None


class Input(msgspec.Struct, frozen=True):
    """A file as the user named it, with the SHA-256 of its bytes."""

    file: str
    sha256: str


class Events(msgspec.Struct, frozen=True):
    """Lines read, lines of unknown kinds by kind, and lines rejected (only with --lenient)."""

    read: int
    unknown: dict[str, int]
    rejected: int


class Report(msgspec.Struct, frozen=True):
    """A whole check. `why` says in a sentence what decided the verdict."""

    schema: str
    tool: str
    spec: str
    inputs: list[Input]
    mode: str
    bundle: str
    strict: bool
    verdict: str
    why: str
    obligations: dict[str, str]
    events: Events
    claims: list[ClaimReport]
