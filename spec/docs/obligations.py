"""Makes the index of the obligations, a page for each, and the page of the terms of their rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.obligations import OBLIGATIONS
from spec.contract.vocabulary import CONSTANTS, EVENT_FIELDS
from spec.docs.diagrams import observer_diagram
from spec.docs.markdown import codes, fence, link, obligation_link, page, table, wrapped
from spec.docs.mermaid import to_mermaid
from spec.docs.views import obligation_view
from spec.docs.wording import (
    GUARD_MEANS,
    KIND_SETS,
    SCOPE_MEANS,
    SHARED,
    definition,
    rule_in_words,
    term_text,
)
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spec.docs.views import ObligationView
    from spec.language.machine import Ledger, Observer, Rule

__all__ = ["obligation_page", "obligations_page", "terms_page"]

_VERDICTS = {
    Verdict.UNEXERCISED: "not exercised: no event concerned the obligation; never shown as a pass",
    Verdict.SATISFIED: "exercised, and nothing is owed",
    Verdict.PENDING: "something is owed and not due yet",
    Verdict.INCONCLUSIVE: (
        "undetermined: events are missing, ambiguous or out of order where it matters"
    ),
    Verdict.VIOLATED: "violated; no later event changes that",
}


def obligations_page() -> str:
    """The page: what an observer is, and an index of the obligations."""
    views = [obligation_view(observer) for observer in OBLIGATIONS.values()]
    index = table(
        ("code", "obligation", "modes"),
        ((f"`{v.code}`", obligation_link(v.name), ", ".join(_modes(v))) for v in views),
    )
    return page(
        "# The obligations",
        "Each obligation ([glossary](glossary.md)) is an observer, a small state machine: it "
        "is in one state, reads the events that concern one claim, and tries its rules in "
        "order; the first that applies is taken, and where none applies nothing changes. An "
        "observer per claim and request runs once for the claim and once for each request, "
        "and the worst verdict counts.",
        table(
            ("verdict", "meaning"), ((verdict.value, says) for verdict, says in _VERDICTS.items())
        ),
        table(("guard", "meaning of such a rule"), GUARD_MEANS.items()),
        "A rule is named for what it finds: `..._reported` is a report that was due, "
        "`..._not_reported` a deadline that passed without it, and `..._reported_while_...` or "
        "`..._reported_without_...` a report that the facts contradict.",
        "The page of an obligation has its observer, its rules, and a trace that keeps it and one "
        "that breaks it. The words of the rules are in [terms of the rules](rule-terms.md), the "
        "[samples](samples.md) of all modes on one page.",
        index,
    )


def _modes(view: ObligationView, folder: str = "") -> list[str]:
    return [
        link(mode, f"{folder}modes.md") + (" (added)" if mode in view.added_to else "")
        for mode in view.modes
    ]


def obligation_page(observer: Observer, *sections: str) -> str:
    """The page of an obligation, in a folder below that of the other pages.

    Args:
        sections: what stands between its reason and its observer.
    """
    view = obligation_view(observer)
    facts = [f"* code: `{view.code}`", f"* source: {view.source}"]
    if view.aliases:
        facts.append(f"* also called: {codes(view.aliases)}")
    facts.append(f"* scope: {'per claim and request' if view.per_request else 'per claim'}")
    facts.append(f"* modes: {', '.join(_modes(view, '../')) or 'none'}")
    for name, initial in view.registers.items():
        facts.append(f"* register: `{name}`, at first {initial}")
    states = table(
        ("state", "verdict", "meaning"), ((s.name, s.verdict, s.says) for s in view.states)
    )
    return page(
        f"# {view.name}",
        view.reason,
        "\n".join(facts),
        *sections,
        "## Put to the test",
        "Until one of these happens or the obligation is violated, it is unexercised:",
        "\n".join(f"* {rule.why}" for rule in _exercising(observer)),
        "## Observer",
        fence(to_mermaid(observer_diagram(observer)), "mermaid"),
        states,
        "## Rules",
        "The first rule that applies is taken. Their words are in [terms of the "
        "rules](../rule-terms.md).",
        *_rules(observer),
    )


def _exercising(observer: Observer) -> Iterator[Rule]:
    """The rules by which the obligation is put to the test for the first time."""
    verdicts = {state.name: state.verdict for state in observer.states}
    for rule in observer.rules:
        before = {verdicts[source] for source in observer.sources(rule)}
        exercised = verdicts[rule.to] in (Verdict.SATISFIED, Verdict.PENDING)
        if exercised and Verdict.UNEXERCISED in before:
            yield rule


def _rules(observer: Observer) -> list[str]:
    parts = []
    for number, rule in enumerate(observer.rules, start=1):
        term = [f"when {term_text(rule.when)}"]
        term += [f"sets {name} to {term_text(value)}" for name, value in rule.sets.items()]
        words = rule_in_words(observer, rule)
        parts.append(
            f"**{number}. {rule.guard.value}: `{rule.name}`.** {words[0].upper()}{words[1:]}"
        )
        parts.append(fence("\n".join(wrapped(line) for line in term)))
    return parts


def terms_page() -> str:
    """The page: the words that the terms of the rules use."""
    return page(
        "# Terms of the rules",
        "The rules of the [obligations](obligations.md) use these variables and shared terms.",
        "## Variables",
        "The prefix of a variable states what it belongs to:",
        table(
            ("prefix", "belongs to"),
            ((f"`{scope.value}`", says) for scope, says in SCOPE_MEANS.items()),
        ),
        "Fields of the event, as computed for one claim. Counts are in blocks:",
        table(
            ("field", "sort", "meaning"),
            ((f"`e.{n}`", sort.value, says) for n, (sort, says) in EVENT_FIELDS.items()),
        ),
        "Constants of the claim and of its mode:",
        table(
            ("constant", "sort", "meaning"),
            ((f"`c.{n}`", sort.value, says) for n, (sort, says) in CONSTANTS.items()),
        ),
        "## Shared terms",
        *(_shared(name, says) for name, (_, says) in SHARED.items()),
        "## Shared sets of kinds",
        *(f"`{n}`\n\n" + fence(wrapped(", ".join(sorted(k)))) for n, k in KIND_SETS.items()),
        "## Facts",
        "Facts about the claim and the request, updated at every event from their values "
        "before it:",
        *(_ledger(ledger) for ledger in (CLAIM_FACTS, DECLARED, REQUEST_FACTS)),
    )


def _shared(name: str, says: str) -> str:
    if "lifecycle.md" in says:
        return f"`{name}`: {says.replace('docs/lifecycle.md', '[the lifecycle](lifecycle.md)')}."
    return f"`{name}`: {says}.\n\n" + fence(wrapped(definition(name)))


def _ledger(ledger: Ledger) -> str:
    lines = (wrapped(f"{name} := {term_text(t)}") for name, t in ledger.following.items())
    return f"{ledger.name}\n\n" + fence("\n".join(lines))
