"""Makes the pages of the modes and of the interpretations."""

from __future__ import annotations

from spec.contract.interpretations import INTERPRETATIONS
from spec.contract.modes import MODES, REPORTED_BY, ConflictAction, ModeSpec
from spec.contract.vocabulary import CONSTANTS
from spec.docs.diagrams import mode_diagram
from spec.docs.markdown import fence, link, obligation_link, page, table
from spec.docs.mermaid import to_mermaid
from spec.docs.views import ModeView, interpretation_view, mode_view

__all__ = ["interpretations_page", "modes_page"]


def modes_page() -> str:
    """The page: each mode with its promise, its bundle and how it can be had."""
    specs = [(spec, mode_view(spec)) for spec in MODES.values()]
    return page(
        "# The seven modes",
        "A mode is a promise and the obligations that imply it ([glossary](glossary.md)). "
        'The *paper* bundle is the one of "Fail-Closed Lowering of Resident KV Claims", '
        "section 3; the *contract* is that bundle and the obligations without which an "
        "auditor who reads only reports could draw a wrong conclusion. *Critical* "
        "obligations are those whose absence would let a look-alike, such as a priority "
        "field or a flag that offloads, pass for the mode.",
        table(("mode", "promise"), ((link(view.name), view.promise) for _, view in specs)),
        *(_chapter(spec, view) for spec, view in specs),
    )


def _action(name: str) -> str:
    kinds = " or ".join(f"`{kind}`" for kind in REPORTED_BY[ConflictAction(name)])
    return f"`{name}` ({kinds})"


def _chapter(spec: ModeSpec, view: ModeView) -> str:
    rows = [
        (
            f"`{part.code}`",
            obligation_link(part.name),
            "critical" if part.critical else "",
            f"added: {part.added}" if part.added else part.reason,
        )
        for part in view.parts
    ]
    depths = ", or ".join(" and ".join(f"`{d}`" for d in depths) for depths in view.depths)
    actions = ", ".join(map(_action, view.actions)) or "none"
    interpretations = (link(each.name, "interpretations.md") for each in view.interpretations)
    facts = [
        "* explicit actions on a request that does not fit beside the claim, and the report of "
        f"each: {actions}",
        f"* depth at which an adapter can supply the mode: {depths}",
        f"* interpretations: {', '.join(interpretations)}",
        "* for each obligation a trace that keeps it and one that breaks it: "
        f"[samples](samples.md#{view.name})",
        "* runtimes whose features are taken for it, each with a run that breaks it: "
        f"[bad lowerings](bad-lowerings.md#{view.name})",
    ]
    facts += [
        f"* in the [rules](rule-terms.md) `c.{name}` is true: {CONSTANTS[name][1]}"
        for name, value in view.constants.items()
        if value
    ]
    return "\n\n".join(
        [
            f"## {view.name}",
            view.promise,
            "\n".join(facts),
            table(("code", "obligation", "", "why"), rows),
            fence(to_mermaid(mode_diagram(spec)), "mermaid"),
        ]
    )


def interpretations_page() -> str:
    """The page: every choice of interpretation, why it was made, and the modes that rest on it."""
    parts = [
        "# The interpretations",
        "Where the papers leave a term open, an interpretation fixes its meaning (a semantic "
        "assumption): what is provable depends on it. Reports and proofs cite its name.",
        table(
            ("interpretation", "in short"), ((link(r.name), r.in_short) for r in INTERPRETATIONS)
        ),
    ]
    for view in map(interpretation_view, INTERPRETATIONS):
        modes = ", ".join(link(mode, "modes.md") for mode in view.modes)
        parts += [
            f"## {view.name}",
            view.decides,
            f"Otherwise: {view.otherwise}",
            f"Modes that rest on it: {modes}.",
        ]
    return page(*parts)
