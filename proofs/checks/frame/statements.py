"""The lemmas that `check frame` proves, as sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = [
    "AGREEMENT",
    "CLAIM_FACTS",
    "CLAIM_OBSERVERS",
    "CONNECTIVES",
    "ENDED_UNOPENED",
    "INVARIANTS",
    "KNOWN_TO_ALL",
    "LEDGERS",
    "LEMMAS",
    "NO_REQUEST",
    "OPENING",
    "REQUEST_FACTS",
    "REQUEST_OBSERVERS",
    "RETIRED",
    "RULES",
    "RUNS",
    "TABLES",
    "THREE",
    "UNMET",
    "UNOPENED_FACTS",
    "UNOPENED_OBSERVERS",
    "Lemma",
]


@dataclass(frozen=True)
class Lemma:
    """A statement with a name; `says` is a sentence.

    `of_requests` says that it is only about observers that are followed for each request.
    """

    name: str
    says: str
    part: Literal["frame", "translation"] = "frame"
    of_requests: bool = False


INVARIANTS: Final = "invariants"
CLAIM_FACTS: Final = "claim facts"
CLAIM_OBSERVERS: Final = "claim observers"
NO_REQUEST: Final = "no request here"
REQUEST_FACTS: Final = "request facts"
REQUEST_OBSERVERS: Final = "request observers"
UNOPENED_FACTS: Final = "unopened facts"
UNOPENED_OBSERVERS: Final = "unopened observers"
KNOWN_TO_ALL: Final = "known to all"
ENDED_UNOPENED: Final = "ended unopened"
RETIRED: Final = "retired requests"
UNMET: Final = "not met yet"
AGREEMENT: Final = "agreement"
LEDGERS: Final = "ledgers generated"
RULES: Final = "rules generated"
OPENING: Final = "opening generated"
THREE: Final = "three values"
CONNECTIVES: Final = "connectives"
TABLES: Final = "tables"
RUNS: Final = "what runs"

LEMMAS: Final = (
    Lemma(
        INVARIANTS,
        "What the lemmas take for granted of a state holds at the start and after every event.",
    ),
    Lemma(
        CLAIM_FACTS,
        "An event that is not delivered to a claim leaves each register of its ledgers as it is.",
    ),
    Lemma(
        CLAIM_OBSERVERS,
        "An event that is not delivered to a claim leaves each observer of the claim itself in its "
        "state, with its registers.",
    ),
    Lemma(
        NO_REQUEST,
        "Where no event is of the request, request registers keep their first values.",
    ),
    Lemma(
        REQUEST_FACTS,
        "An event that is not delivered to a request which is followed leaves its ledger as it is.",
    ),
    Lemma(
        REQUEST_OBSERVERS,
        "An event that is not delivered to a request which is followed leaves each observer of "
        "that request in its state, or else the claim itself violates the obligation by then.",
        of_requests=True,
    ),
    Lemma(
        UNOPENED_FACTS,
        "An event that does not open a request leaves its registers at their first values, but for "
        "those that the pool knows, and those that follow from the claim's own ledger.",
    ),
    Lemma(
        UNOPENED_OBSERVERS,
        "An event that does not open a request leaves each observer of that request where it is "
        "for the claim itself, or else the claim itself violates the obligation by then.",
        of_requests=True,
    ),
    Lemma(KNOWN_TO_ALL, "What the pool knows of a request is the same for every claim."),
    Lemma(
        ENDED_UNOPENED,
        "A request that ends without having been opened leaves nothing but what the pool must "
        "still know of it.",
    ),
    Lemma(
        RETIRED,
        "Where no event is of a request, what moves an observer of that request reads none of its "
        "registers.",
        of_requests=True,
    ),
    Lemma(
        UNMET,
        "To a claim that no event was about, none is delivered that does not name, blame or "
        "concern it.",
    ),
    Lemma(
        AGREEMENT,
        "Delivery to some scopes and delivery to all agree after every event, in each register of "
        "each ledger, and in each observer until the claim itself violates the obligation.",
    ),
    Lemma(
        LEDGERS,
        "Each register that a generated function of a ledger returns equals its term.",
        "translation",
    ),
    Lemma(
        RULES,
        "A generated step tries the rules of an observer in their order, each where its guard "
        "holds, and returns the state, the registers and the number of the rule.",
        "translation",
    ),
    Lemma(
        OPENING,
        "The generated function that opens a request equals the term of delivery.",
        "translation",
    ),
    Lemma(
        THREE,
        "A generated function in three values returns the value of its term where all inputs are "
        "known. Where some are unknown and it returns a value, each value of the unknown inputs "
        "gives that value.",
        "translation",
    ),
    Lemma(
        CONNECTIVES,
        "The functions that generated functions call in three values are Kleene's connectives, "
        "for all values of small domains.",
        "translation",
    ),
    Lemma(
        TABLES,
        "Each term of the tables of the native core equals the term of the specification, in two "
        "values and in three; states and initial values are the specification's.",
        "translation",
    ),
    Lemma(
        RUNS,
        "The functions that the judge calls have the code of the texts that were read.",
        "translation",
    ),
)
"""Every lemma, in the order in which they are printed."""
