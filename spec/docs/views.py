"""Makes plain data of a mode, an obligation or an interpretation, for commands and pages."""

from __future__ import annotations

import msgspec

from spec.contract.interpretations import INTERPRETATIONS, Interpretation
from spec.contract.modes import MODES, Bundle, ModeSpec
from spec.contract.obligations import OBLIGATIONS
from spec.docs.lowering_terms import KINDS
from spec.docs.wording import term_text
from spec.language.machine import Observer
from spec.language.terms import show

__all__ = [
    "InterpretationView",
    "ListView",
    "ModeView",
    "ObligationView",
    "PartView",
    "RuleView",
    "StateView",
    "interpretation_view",
    "list_view",
    "mode_view",
    "obligation_view",
]


class StateView(msgspec.Struct, frozen=True):
    """A state of an observer and the verdict that it means."""

    name: str
    verdict: str
    says: str


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
    states: tuple[StateView, ...]
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
    """All modes, obligations and interpretations, and the words of lowering by their kinds."""

    modes: tuple[ModeView, ...]
    obligations: tuple[ObligationView, ...]
    interpretations: tuple[InterpretationView, ...] = msgspec.field(name="readings")
    words: dict[str, tuple[str, ...]]


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
        states=tuple(StateView(s.name, s.verdict.value, s.says) for s in observer.states),
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


def list_view() -> ListView:
    """Everything, in the order of the specification."""
    return ListView(
        tuple(mode_view(spec) for spec in MODES.values()),
        tuple(obligation_view(observer) for observer in OBLIGATIONS.values()),
        tuple(interpretation_view(each) for each in INTERPRETATIONS),
        {kind: tuple(map(str, words)) for kind, words in KINDS.items()},
    )
