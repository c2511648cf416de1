"""Lays out what the commands show of the specification, within 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.cli.layout import STYLES, Styled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spec.cli.layout import Page
    from spec.docs.search import Search
    from spec.docs.views import (
        InterpretationView,
        ListView,
        ModeView,
        ObligationView,
        ReasonView,
        RuleView,
        WordView,
    )

__all__ = [
    "put_interpretation",
    "put_list",
    "put_mode",
    "put_obligation",
    "put_reason",
    "put_search",
    "put_word",
]


def put_list(out: Page, listing: ListView) -> None:
    """The modes, the obligations, the interpretations, the words of lowering and the reasons."""
    out.put("Modes", "bold underline")
    modes = [(mode.name, mode.promise) for mode in listing.modes]
    out.grid(modes, head=("mode", "promise"), indent=2, gap=2).title("Obligations")
    obligations = [(each.code, each.name, each.reason) for each in listing.obligations]
    out.grid(obligations, head=("code", "obligation", "why"), indent=2, gap=2)
    interpretations = [(each.name, each.in_short) for each in listing.interpretations]
    out.title("Interpretations")
    out.grid(interpretations, head=("interpretation", "in short"), indent=2, gap=2)
    out.title("Terms of lowering")
    words = [(kind, ", ".join(names)) for kind, names in listing.words.items()]
    out.grid(words, head=("kind", "words"), indent=2, gap=2)
    out.title("Reasons of inconclusive verdicts")
    reasons = [(each.name, each.title, each.remedy) for each in listing.reasons]
    out.grid(reasons, head=("code", "reason", "what to do"), indent=2, gap=2)


def put_mode(out: Page, mode: ModeView) -> None:
    """The mode as `spec show` prints it."""
    out.put(f"mode {mode.name}", "bold").put(mode.promise)
    out.title(f"Obligations ({len(mode.contract)})")
    for part in mode.parts:
        marks = [" critical"] if part.critical else []
        marks += [" added by the contract"] if part.added else []
        out.append(f"  {part.code:<3} {part.name}", "bold").append(f"{','.join(marks)}\n", "yellow")
        out.put(part.reason, indent=6)
        if part.added:
            out.put(f"Added because {part.added}.", indent=6)
    out.title("Explicit actions on a request that does not fit beside the claim")
    out.put(", ".join(mode.actions) or "none", indent=2)
    out.title("Depth at which an adapter can supply the mode")
    for depths in mode.depths:
        out.put(" and ".join(depths), indent=2)
    out.title("Interpretations")
    interpretations = [(Styled(each.name, "bold"), each.in_short) for each in mode.interpretations]
    out.grid(interpretations, indent=2, gap=2)


def put_obligation(out: Page, obligation: ObligationView) -> None:
    """The obligation as `spec show` prints it."""
    out.put(f"{obligation.code}  {obligation.name}", "bold").put(obligation.reason).put()
    for label, value in _facts(obligation):
        out.put(f"{label}: {value}", hanging=2)
    out.title("States")
    for state in obligation.states:
        out.append(f"  {state.name:<10} ", "bold").append(
            f"{state.verdict}\n", STYLES[state.verdict]
        )
        out.put(state.says, indent=6)
    out.title("Rules, tried in this order")
    for rule in obligation.rules:
        _put_rule(out, rule)


def put_interpretation(out: Page, interpretation: InterpretationView) -> None:
    """The interpretation as `spec show` prints it."""
    out.put(f"interpretation {interpretation.name}", "bold").put(interpretation.decides).put()
    out.put(f"otherwise: {interpretation.otherwise}", hanging=2)
    out.put(f"modes: {', '.join(interpretation.modes)}", hanging=2)


def put_word(out: Page, word: WordView) -> None:
    """A depth, an order or a signal as `spec show` prints it."""
    out.put(f"{word.kind} {word.name}", "bold").put(word.says).put()
    for label, names in word.facts.items():
        out.put(f"{label}: {', '.join(names) or 'none'}", hanging=2)


def put_reason(out: Page, reason: ReasonView) -> None:
    """A reason of an inconclusive verdict as `spec show` prints it."""
    out.put(f"reason {reason.name} {reason.title}", "bold")
    out.put(f"inconclusive: {reason.concerns}", hanging=2)
    out.put(f"what to do: {reason.remedy}", hanging=2)


def put_search(out: Page, found: Search) -> None:
    """Passages as `spec search` prints them."""
    if not found.passages:
        out.put(f"No passage has {' or '.join(found.words)}.")
    for each in found.passages:
        out.put(f"{each.page}, {each.heading}", "bold").put(each.text, indent=2).put()
    if found.more:
        out.put(f"{found.more} more; --most lists more of them")


def _facts(obligation: ObligationView) -> Iterator[tuple[str, str]]:
    yield "source", obligation.source
    if obligation.aliases:
        yield "also called", ", ".join(obligation.aliases)
    yield "scope", "per claim and request" if obligation.per_request else "per claim"
    modes = (f"{m} (added)" if m in obligation.added_to else m for m in obligation.modes)
    yield "modes", ", ".join(modes) or "none"
    for name, initial in obligation.registers.items():
        yield "register", f"{name}, at first {initial}"


def _put_rule(out: Page, rule: RuleView) -> None:
    head = Styled(f"  {rule.number} {rule.guard} ", "cyan").append(f"{rule.name}: ", "bold")
    out.put(head.append(f"{', '.join(rule.source)} -> {rule.to}"), hanging=6)
    out.put(f"because {rule.why}", indent=6)
    if rule.allowed:
        out.put(f"expected instead: {rule.allowed}", indent=6)
    out.put(f"when {rule.reads}", "bright_black", indent=6, hanging=11)
    for register, value in rule.sets.items():
        out.put(f"sets {register} to {value}", "bright_black", indent=6, hanging=11)
