"""Makes the page of the reasons for which a verdict is inconclusive."""

from __future__ import annotations

from spec.docs.markdown import table
from spec.stream.codes import Code

__all__ = ["reasons_page"]

_GROUPS = (
    ("1", "Breaks: every claim that is alive is inconclusive from there on"),
    ("2", "Reasons that concern one claim"),
    ("3", "Reasons that concern one obligation of a claim"),
)


def reasons_page() -> str:
    """The page, a table for each group of codes."""
    parts = [
        "# Reasons of inconclusive verdicts",
        "",
        "JSON gives each inconclusive finding a code, a reason and its place; a text report those "
        "of claims that are not violated. A break concerns every claim that is alive, but for "
        "`RC130` and, of a report, `RC118`, which concern the claim alone. "
        "[The meaning of a stream](stream.md) says when each occurs.",
    ]
    for first, title in _GROUPS:
        codes = [code for code in Code if code.number[2] == first]
        rows = [[f"`{code.number}`", code.title, code.remedy] for code in codes]
        parts += ["", f"## {title}", "", table(["code", "reason", "what to do"], rows)]
    return "\n".join(parts) + "\n"
