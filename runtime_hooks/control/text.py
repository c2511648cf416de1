"""Renders an engine's answers for people, within 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runtime_hooks.settings.quotas import in_words
from spec.cli.layout import wrap
from spec.language.prose import counted, printable

if TYPE_CHECKING:
    from runtime_hooks.controller.views import (
        ClaimsPage,
        ClaimView,
        DrainPage,
        EngineView,
        QuotasPage,
        ReleasePage,
        ShowPage,
    )

__all__ = ["claims_text", "drain_text", "quotas_text", "release_text", "show_text"]

_KEY: Final = 11  # columns before a value


def claims_text(page: ClaimsPage) -> str:
    """The claims, two lines each."""
    lines = _head(page.engine)
    for claim in page.claims:
        lines += [printable(claim.claim_id), _row(claim)]
    if page.left_out:
        lines.append(f"{counted(page.left_out, 'more claim')}; --owner shows those of one owner.")
    return "\n".join(lines) + "\n"


def show_text(page: ShowPage) -> str:
    """One claim, with its last steps."""
    shown = page.shown
    claim = shown.claim
    rows = [
        ("claim", printable(claim.claim_id)),
        ("owner", printable(claim.owner_scope)),
        ("mode", claim.mode + ("" if shown.priority is None else f", priority {shown.priority}")),
        ("state", f"{claim.state}, for {claim.age_s:.1f} s live{_never(claim)}"),
        ("predicate", f"{shown.predicate}: {'true' if shown.holds else 'false'} now"),
        (
            "blocks",
            f"{claim.blocks}: {claim.held} cached, {shown.excluded} excluded from eviction, "
            f"{shown.shared} shared with other claims, {shown.copied} copied to the tier",
        ),
        ("duration", f"{shown.duration}, {claim.left} left" if shown.duration else "none"),
        ("object", printable(shown.object_id)),
        ("end", printable(shown.ends)),
    ]
    if claim.state == "waiting":
        rows = [row for row in rows if row[0] in ("claim", "owner", "mode", "end")]
    lines = [wrap(f"{key:{_KEY}}{value}", 0, _KEY) for key, value in rows]
    for number, step in enumerate(shown.steps):
        key = "" if number else "last steps"
        said = f"{step.report} by {printable(step.by)}: {step.state}"
        lines.append(wrap(f"{key:{_KEY}}{said}", 0, _KEY))
    return "\n".join([*lines, "", *_head(page.engine)[:-1]]) + "\n"


def release_text(page: ReleasePage) -> str:
    """What became of a claim."""
    name = printable(page.claim_id)
    if page.report == "withdrawn":
        said = f"Claim {name} waits no more: no request had its prefix yet."
    else:
        said = (
            f"Claim {name} has ended: {page.report} by {page.by}, with "
            f"{counted(page.blocks, 'block')}."
        )
    return "\n".join([wrap(said), "", *_head(page.engine)[:-1]]) + "\n"


def drain_text(page: DrainPage) -> str:
    """What is left to end."""
    lines = _head(page.engine)[:-1]
    if page.engine.drains and page.unlimited:
        said = f"{counted(page.unlimited, 'live claim')} without a duration"
        lines.append(wrap(f"{said}: only a release by the owner ends such a claim."))
    return "\n".join(lines) + "\n"


def quotas_text(page: QuotasPage) -> str:
    """The quota of every owner, and the use that each owner makes of its own."""
    lines = [*_head(page.engine), wrap(f"An owner has at most {in_words(page.each)}.")]
    for each in page.owners:
        used = f"{counted(each.claims, 'claim')}, {counted(each.blocks, 'block')}"
        most = "" if each.quota == page.each else f"; at most {in_words(each.quota)}"
        lines.append(wrap(f"{printable(each.owner_scope)}: {used}{most}", 0, 4))
    return "\n".join(lines) + "\n"


def _head(engine: EngineView) -> list[str]:
    """The engine in a sentence, and what keeps it from accepting claims."""
    left = engine.usable - engine.claimed
    sentence = (
        f"{counted(engine.live, 'live claim')} with {engine.claimed} of {engine.usable} blocks; "
        f"{left} are left"
    )
    if engine.floor:
        sentence += f", of which no claim may take {engine.floor}"
    lines = [wrap(f"{sentence}; {counted(engine.requests, 'unfinished request')}.")]
    if engine.drains:
        lines.append("It drains: no more claims are accepted.")
    if engine.alarm:
        lines.append(wrap(f"No more claims are accepted: {printable(engine.alarm)}."))
    return [*lines, f"Stream {printable(engine.stream)}, epoch {engine.epoch}.", ""]


def _never(claim: ClaimView) -> str:
    return ", and was never there" if claim.never_there else ""


def _row(claim: ClaimView) -> str:
    parts = [printable(claim.owner_scope), claim.mode, claim.state]
    if claim.state != "waiting":
        parts.append(f"{claim.held} of {claim.blocks} blocks cached")
    if claim.never_there:
        parts.append(f"never there in {claim.age_s:.1f} s")
    if claim.left:
        parts.append(f"{claim.left} left")
    return wrap(", ".join(parts), 4, 4)
