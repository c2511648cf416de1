"""Lays out a budget within 80 columns: the answer, the tables, and what the figures leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.budget.sizes import in_binary
from spec.language.prose import counted

if TYPE_CHECKING:
    from models.budget.budget import Budget, Group
    from spec.cli.layout import Page

__all__ = ["put_budget"]


def put_budget(out: Page, found: Budget) -> None:
    """A budget as it is printed."""
    out.put(_answer(found), "bold")
    out.title("Tiers")
    rows = [
        (
            each.tier,
            f"{each.blocks:,}",
            f"{each.usable:,}",
            _tokens(each.longest),
            _number(each.claims),
        )
        for each in found.tiers
    ]
    out.grid(rows, head=("tier", "blocks", "usable", "longest prefix", "claims"), gap=2, indent=2)
    out.title("Groups")
    cells = [
        (
            _kind(each),
            str(each.layers),
            f"{each.block_tokens:,}",
            f"{each.token_bytes:,}",
            _number(each.needs),
        )
        for each in found.groups
    ]
    out.grid(
        cells, head=("cache", "layers", "tokens a block", "bytes a token", "claim"), gap=2, indent=2
    )


def _answer(found: Budget) -> str:
    gpu = found.tiers[0]
    text = f"{gpu.blocks:,} blocks of {found.align:,} tokens, {in_binary(found.block_bytes)} each: "
    text += "any length" if gpu.longest is None else f"{gpu.longest:,} tokens"
    if gpu.claims is not None:
        text += f"; {counted(gpu.claims, 'claim')} of a prefix of {found.held:,} tokens fit beside nothing else"
    return f"{text}."


def _kind(group: Group) -> str:
    names = {"full": "full attention", "latent": "MLA", "state": "state"}
    return names.get(group.kind) or f"{group.kind} of {group.reach:,}"


def _tokens(length: int | None) -> str:
    return "any" if length is None else f"{length:,}"


def _number(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"
