"""Makes the page of the tables by which a row is labelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.contract.modes import MODES
from spec.contract.obligations import OBLIGATIONS
from spec.docs.markdown import codes, page, table
from spec.lowering.depths import LADDER, MAY_SUPPLY, PRECONDITIONS
from spec.lowering.meanings import DEPTHS, MUST_HOLD, ORDERS, PRIMITIVES, WORDS
from spec.lowering.obligations import NEVER_BY_TELEMETRY, REJECTED_WITHOUT, RELEVANT_ORDER
from spec.lowering.signals import TEMPTS
from spec.lowering.vocabulary import ATOMS_FOR

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["lowering_page"]


def lowering_page() -> str:
    """The page: per mode, per depth, per obligation and per signal."""
    return page(
        "# The tables of lowering",
        "The tables that the relation of [lowering](lowering.md) uses. Obligations "
        "are written by their [codes](obligations.md); the other terms of a "
        "descriptor are [at the end](#words).",
        "## Modes",
        "If any obligation of the first set is missing, a look-alike of the mode is "
        "*rejected*. Telemetry can never supply the second set: if only such an "
        "obligation is missing, the row is *approximate*.",
        table(
            ("mode", "rejected without", "never by telemetry", "paper", "added"),
            (
                (
                    mode,
                    _codes(REJECTED_WITHOUT[mode]),
                    _codes(NEVER_BY_TELEMETRY.intersection(spec.names())),
                    _codes(spec.paper),
                    _codes(spec.added),
                )
                for mode, spec in MODES.items()
            ),
        ),
        "## Depths",
        "What an adapter at a depth may supply by itself, and the preconditions "
        "under which it does. A row at a depth also uses every shallower adapter.",
        table(
            ("depth", "what it reaches", "may supply", "preconditions"),
            (
                (f"`{d}`", DEPTHS[d], _codes(MAY_SUPPLY[d]), codes(PRECONDITIONS[d]) or "none")
                for d in LADDER
            ),
        ),
        "## Preconditions",
        table(
            ("precondition", "what must hold"),
            ((f"`{p}`", says) for p, says in MUST_HOLD.items()),
        ),
        "## Obligations",
        "The order that a run must preserve, and the atoms that must be observed as well.",
        table(
            ("code", "obligation", "order", "atoms"),
            (
                (
                    f"`{o.code}`",
                    o.name,
                    f"`{RELEVANT_ORDER[o.name]}`",
                    codes(sorted(ATOMS_FOR.get(o.name, ()))) or "none",
                )
                for o in OBLIGATIONS.values()
            ),
        ),
        "## Orders",
        table(("order", "the order of events"), ((f"`{o}`", s) for o, s in ORDERS.items())),
        "## Approximation signals",
        "Primitives that resemble a mode. None satisfies an obligation.",
        table(
            ("signal", "what it is", "tempts to"),
            (
                (f"`{signal}`", PRIMITIVES[signal], codes(sorted(modes)) or "none")
                for signal, modes in TEMPTS.items()
            ),
        ),
        "## Words",
        "The other terms that a descriptor may use. Whether an item counts is "
        "decided by [these six points](lowering.md#when-a-statement-counts).",
        table(
            ("in", "word", "means"),
            (
                (part, f"`{word}`", says)
                for part, words in WORDS.items()
                for word, says in words.items()
            ),
        ),
    )


def _codes(names: Iterable[str]) -> str:
    found = set(names)
    return " ".join(o.code for o in OBLIGATIONS.values() if o.name in found) or "none"
