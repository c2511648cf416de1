"""Makes plain data of modes, obligations, interpretations and words, for commands and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from spec.contract.interpretations import INTERPRETATIONS, Interpretation
from spec.contract.modes import MODES, Bundle, ModeSpec
from spec.contract.obligations import OBLIGATIONS
from spec.contract.supply import Depth, Order
from spec.docs.wording import term_text
from spec.language.machine import Observer, State
from spec.language.terms import show
from spec.lowering.depths import LADDER, MAY_SUPPLY, PRECONDITIONS
from spec.lowering.meanings import DEPTHS, ORDERS, PRIMITIVES
from spec.lowering.obligations import RELEVANT_ORDER
from spec.lowering.signals import TEMPTS, Signal
from spec.stream.codes import Code

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "WORDS",
    "InterpretationView",
    "ListView",
    "ModeView",
    "ObligationView",
    "PartView",
    "ReasonView",
    "RuleView",
    "Word",
    "WordView",
    "interpretation_view",
    "list_view",
    "mode_view",
    "obligation_view",
    "reason_view",
    "word_view",
]


Word: TypeAlias = Depth | Order | Signal

KINDS: Final[Mapping[str, tuple[Word, ...]]] = {
    "depth": tuple(LADDER),
    "order": tuple(Order),
    "signal": tuple(Signal),
}
"""The words in which a runtime is described, by their kinds."""

WORDS: Final[Mapping[str, Word]] = {word.value: word for kind in KINDS.values() for word in kind}
"""The depths, orders and signals by their names."""


class RuleView(msgspec.Struct, frozen=True):
    """A rule; `when` and `sets` are whole terms, `reads` is `when` with shared parts by name."""

    number: int
    name: str
    guard: str
    source: tuple[str, ...]
    to: str
    when: str
    reads: str
    sets: dict[str, str]
    why: str
    allowed: str


class ObligationView(msgspec.Struct, frozen=True):
    """An obligation with everything that defines it, and the modes that have it."""

    name: str
    code: str
    reason: str
    source: str
    aliases: tuple[str, ...]
    per_request: bool
    states: tuple[State, ...]
    registers: dict[str, bool | int]
    rules: tuple[RuleView, ...]
    modes: tuple[str, ...]
    added_to: tuple[str, ...]


class PartView(msgspec.Struct, frozen=True):
    """An obligation in the bundle of a mode; `added` says why the contract adds it, if it does."""

    name: str
    code: str
    reason: str
    critical: bool
    added: str


class InterpretationView(msgspec.Struct, frozen=True):
    """A named interpretation, in a line and in full, and the modes that rest on it."""

    name: str
    in_short: str
    decides: str
    otherwise: str
    modes: tuple[str, ...]


class ModeView(msgspec.Struct, frozen=True):
    """A mode with its bundle; the depths of each inner tuple are needed together."""

    name: str
    promise: str
    paper: tuple[str, ...]
    contract: tuple[str, ...]
    parts: tuple[PartView, ...]
    critical: tuple[str, ...]
    actions: tuple[str, ...]
    depths: tuple[tuple[str, ...], ...]
    constants: dict[str, bool]
    interpretations: tuple[InterpretationView, ...] = msgspec.field(name="readings")


class ListView(msgspec.Struct, frozen=True):
    """All modes, obligations, interpretations and reasons, and the words of lowering by kinds."""

    modes: tuple[ModeView, ...]
    obligations: tuple[ObligationView, ...]
    interpretations: tuple[InterpretationView, ...] = msgspec.field(name="readings")
    words: dict[str, tuple[str, ...]]
    reasons: tuple[ReasonView, ...]


class WordView(msgspec.Struct, frozen=True):
    """A word in which a runtime is described: `facts` are other names, by how they hang on it."""

    kind: str
    name: str
    says: str
    facts: dict[str, tuple[str, ...]]


class ReasonView(msgspec.Struct, frozen=True):
    """A reason of an inconclusive verdict: what it concerns, and what to do about it."""

    name: str
    title: str
    concerns: str
    remedy: str


def obligation_view(observer: Observer) -> ObligationView:
    """The obligation as plain data."""
    name = observer.name
    rules = tuple(
        RuleView(
            number=number,
            name=rule.name,
            guard=rule.guard.value,
            source=observer.sources(rule),
            to=rule.to,
            when=show(rule.when),
            reads=term_text(rule.when),
            sets={register: term_text(term) for register, term in rule.sets.items()},
            why=rule.why,
            allowed=rule.allowed,
        )
        for number, rule in enumerate(observer.rules, start=1)
    )
    return ObligationView(
        name=name,
        code=observer.code,
        reason=observer.reason,
        source=observer.source,
        aliases=observer.aliases,
        per_request=observer.per_request,
        states=observer.states,
        registers={register.name: register.initial for register in observer.registers},
        rules=rules,
        modes=tuple(mode.value for mode, spec in MODES.items() if observer in spec.bundle()),
        added_to=tuple(mode.value for mode, spec in MODES.items() if name in spec.added),
    )


def mode_view(spec: ModeSpec) -> ModeView:
    """The mode as plain data."""
    return ModeView(
        name=spec.mode.value,
        promise=spec.promise,
        paper=spec.names(Bundle.PAPER),
        contract=spec.names(Bundle.CONTRACT),
        parts=tuple(
            PartView(o.name, o.code, o.reason, o.name in spec.critical, spec.added.get(o.name, ""))
            for o in spec.bundle()
        ),
        critical=tuple(sorted(spec.critical)),
        actions=tuple(sorted(action.value for action in spec.actions)),
        depths=tuple(tuple(depth.value for depth in depths) for depths in spec.depths),
        constants=spec.constants,
        interpretations=tuple(
            interpretation_view(each)
            for each in INTERPRETATIONS
            if each.name in spec.interpretations
        ),
    )


def interpretation_view(interpretation: Interpretation) -> InterpretationView:
    """The interpretation as plain data."""
    modes = tuple(
        mode.value for mode, spec in MODES.items() if interpretation.name in spec.interpretations
    )
    return InterpretationView(
        interpretation.name,
        interpretation.in_short,
        interpretation.decides,
        interpretation.otherwise,
        modes,
    )


def word_view(word: Word) -> WordView:
    """The word as plain data."""
    if isinstance(word, Depth):
        reaching = (m for m, spec in MODES.items() if any(word in each for each in spec.depths))
        facts = {
            "may supply": tuple(name for name in OBLIGATIONS if name in MAY_SUPPLY[word]),
            "preconditions": tuple(map(str, PRECONDITIONS[word])),
            "used in the modes": tuple(map(str, reaching)),
        }
        return WordView("depth", word, DEPTHS[word], facts)
    if isinstance(word, Order):
        needing = tuple(name for name, order in RELEVANT_ORDER.items() if order is word)
        return WordView("order", word, ORDERS[word], {"obligations that need it": needing})
    tempting = {"resembles": tuple(sorted(map(str, TEMPTS[word])))}
    return WordView("signal", word, PRIMITIVES[word], tempting)


def reason_view(code: Code) -> ReasonView:
    """The reason as plain data."""
    return ReasonView(code.number, code.title, code.concerns, code.remedy)


def list_view() -> ListView:
    """Everything, in the order of the specification."""
    return ListView(
        tuple(mode_view(spec) for spec in MODES.values()),
        tuple(obligation_view(observer) for observer in OBLIGATIONS.values()),
        tuple(interpretation_view(each) for each in INTERPRETATIONS),
        {kind: tuple(map(str, words)) for kind, words in KINDS.items()},
        tuple(map(reason_view, Code)),
    )
