"""Makes the page of the obligations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.obligations import OBLIGATIONS
from spec.contract.vocabulary import CONSTANTS, EVENT_FIELDS
from spec.docs.diagrams import observer_diagram
from spec.docs.markdown import fence, link, table, wrapped
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
    from spec.docs.views import ObligationView
    from spec.language.machine import Ledger, Observer

__all__ = ["obligations_page"]

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
    """The page: what an observer is, each obligation, and the words that the terms use."""
    views = [obligation_view(observer) for observer in OBLIGATIONS.values()]
    index = table(
        ("code", "obligation", "modes"),
        ((f"`{v.code}`", link(v.name), ", ".join(_modes(v))) for v in views),
    )
    parts = [
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
        index,
        *(
            _chapter(observer, view)
            for observer, view in zip(OBLIGATIONS.values(), views, strict=True)
        ),
        _words(),
    ]
    return "\n\n".join(parts) + "\n"


def _modes(view: ObligationView) -> list[str]:
    return [
        link(mode, "modes.md") + (" (added)" if mode in view.added_to else "")
        for mode in view.modes
    ]


def _chapter(observer: Observer, view: ObligationView) -> str:
    facts = [f"* code: `{view.code}`", f"* source: {view.source}"]
    if view.aliases:
        facts.append(f"* also called: {', '.join(f'`{alias}`' for alias in view.aliases)}")
    facts.append(f"* scope: {'per claim and request' if view.per_request else 'per claim'}")
    facts.append(f"* modes: {', '.join(_modes(view)) or 'none'}")
    for name, initial in view.registers.items():
        facts.append(f"* register: `{name}`, at first {initial}")
    states = table(
        ("state", "verdict", "meaning"), ((s.name, s.verdict, s.says) for s in view.states)
    )
    return "\n\n".join(
        [
            f"## {view.name}",
            view.reason,
            "\n".join(facts),
            fence(to_mermaid(observer_diagram(observer)), "mermaid"),
            states,
            *_rules(observer),
        ]
    )


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


def _words() -> str:
    return "\n\n".join(
        [
            "## Variables and shared terms",
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
            "Shared terms:",
            *(_shared(name, says) for name, (_, says) in SHARED.items()),
            "Shared sets of kinds:",
            *(f"`{n}`\n\n" + fence(wrapped(", ".join(sorted(k)))) for n, k in KIND_SETS.items()),
            "Facts about the claim and the request, updated at every event from their values "
            "before it:",
            *(_ledger(ledger) for ledger in (CLAIM_FACTS, DECLARED, REQUEST_FACTS)),
        ]
    )


def _shared(name: str, says: str) -> str:
    if "lifecycle.md" in says:
        return f"`{name}`: {says.replace('docs/lifecycle.md', '[the lifecycle](lifecycle.md)')}."
    return f"`{name}`: {says}.\n\n" + fence(wrapped(definition(name)))


def _ledger(ledger: Ledger) -> str:
    lines = (wrapped(f"{name} := {term_text(t)}") for name, t in ledger.following.items())
    return f"{ledger.name}\n\n" + fence("\n".join(lines))
