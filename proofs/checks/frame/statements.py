"""The lemmas that `check frame` proves, as sentences."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias

__all__ = ["Lemma"]

Part: TypeAlias = Literal["frame", "translation"]


class Lemma(StrEnum):
    """A lemma by its name, in the order in which they are printed; `says` is a sentence.

    `of_requests` says that it is only about observers that are followed for each request.
    """

    says: str
    part: Part
    of_requests: bool

    def __new__(
        cls, name: str, says: str, part: Part = "frame", of_requests: bool = False
    ) -> Lemma:
        """A name that knows its sentence."""
        lemma = str.__new__(cls, name)
        lemma._value_, lemma.says, lemma.part, lemma.of_requests = name, says, part, of_requests
        return lemma

    INVARIANTS = (
        "invariants",
        "What the lemmas take for granted of a state holds at the start and after every event.",
    )
    CLAIM_FACTS = (
        "claim facts",
        "An event that is not delivered to a claim leaves each register of its ledgers as it is.",
    )
    CLAIM_OBSERVERS = (
        "claim observers",
        "An event that is not delivered to a claim leaves each observer of the claim itself in "
        "its state, with its registers.",
    )
    NO_REQUEST = (
        "no request here",
        "Where no event is of the request, request registers keep their first values.",
    )
    REQUEST_FACTS = (
        "request facts",
        "An event that is not delivered to a request which is followed leaves its ledger as it is.",
    )
    REQUEST_OBSERVERS = (
        "request observers",
        "An event that is not delivered to a request which is followed leaves each observer of "
        "that request in its state, or else the claim itself violates the obligation by then.",
        "frame",
        True,
    )
    UNOPENED_FACTS = (
        "unopened facts",
        "An event that does not open a request leaves its registers at their first values, but "
        "for those that the pool knows, and those that follow from the claim's own ledger.",
    )
    UNOPENED_OBSERVERS = (
        "unopened observers",
        "An event that does not open a request leaves each observer of that request where it is "
        "for the claim itself, or else the claim itself violates the obligation by then.",
        "frame",
        True,
    )
    KNOWN_TO_ALL = (
        "known to all",
        "What the pool knows of a request is the same for every claim.",
    )
    ENDED_UNOPENED = (
        "ended unopened",
        "A request that ends without having been opened leaves nothing but what the pool must "
        "still know of it.",
    )
    RETIRED = (
        "retired requests",
        "Where no event is of a request, what moves an observer of that request reads none of its "
        "registers.",
        "frame",
        True,
    )
    UNMET = (
        "not met yet",
        "To a claim that no event was about, none is delivered that does not name, blame or "
        "concern it.",
    )
    AGREEMENT = (
        "agreement",
        "Delivery to some scopes and delivery to all agree after every event, in each register of "
        "each ledger, and in each observer until the claim itself violates the obligation.",
    )
    LEDGERS = (
        "ledgers generated",
        "Each register that a generated function of a ledger returns equals its term.",
        "translation",
    )
    RULES = (
        "rules generated",
        "A generated step tries the rules of an observer in their order, each where its guard "
        "holds, and returns the state, the registers and the number of the rule.",
        "translation",
    )
    OPENING = (
        "opening generated",
        "The generated function that opens a request equals the term of delivery.",
        "translation",
    )
    THREE = (
        "three values",
        "A generated function in three values returns the value of its term where all inputs are "
        "known. Where some are unknown and it returns a value, each value of the unknown inputs "
        "gives that value.",
        "translation",
    )
    CONNECTIVES = (
        "connectives",
        "The functions that generated functions call in three values are Kleene's connectives, "
        "for all values of small domains.",
        "translation",
    )
    TABLES = (
        "tables",
        "Each term of the tables of the native core equals the term of the specification, in two "
        "values and in three; states and initial values are the specification's.",
        "translation",
    )
    RUNS = (
        "what runs",
        "The functions that the judge calls have the code of the texts that were read.",
        "translation",
    )
