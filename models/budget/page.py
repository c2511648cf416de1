"""Lays out a budget within 80 columns: the answer, the tables, and what the figures leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.budget.sizes import in_binary
from spec.language.prose import counted

if TYPE_CHECKING:
    from models.budget.budget import Budget, Group, Tier
    from models.budget.estimate import Estimate
    from spec.cli.layout import Page

__all__ = ["put_budget"]

_KINDS = {"full": "full attention", "latent": "MLA", "state": "states"}


def put_budget(out: Page, found: Budget) -> None:
    """A budget as it is printed."""
    out.put(_answer(found), "bold")
    out.title("What fits, by tier")
    names = [each.tier for each in found.tiers]
    if found.estimate is not None:
        names[:2] = ["gpu, at least", "gpu, at most"]
    rows = [
        (name, in_binary(each.memory), f"{each.blocks:,}", f"{each.usable:,}", *_fits(each))
        for name, each in zip(names, found.tiers, strict=True)
    ]
    out.grid(rows, head=("tier", "memory", "blocks", "usable", "longest", "claims"), gap=2)
    out.title("What a block holds")
    out.put(_block(found))
    cells = [
        (
            _kind(each),
            str(each.layers),
            f"{each.block_tokens:,}",
            f"{each.token_bytes:,}" if each.token_bytes else "-",
            _number(each.needs),
        )
        for each in found.groups
    ]
    out.grid(cells, head=("group", "layers", "tokens", "bytes a token", "a claim takes"), gap=2)
    if found.estimate is not None:
        _put_estimate(out, found.estimate)
    out.title("What the figures leave out")
    for each in _left_out(found):
        out.put(f"* {each}", hanging=2)


def _answer(found: Budget) -> str:
    """What fits into the GPU, in a sentence."""
    some = found.tiers[: 1 if found.estimate is None else 2]
    estimate = "" if found.estimate is None else "An estimate: "
    blocks = f"{estimate}{_between([each.blocks for each in some])} blocks"
    if len(found.groups) == 1 and found.groups[0].groups == 1:
        what = f"{blocks} of {found.align:,} tokens: {_reach(some)}"
    else:
        groups = sum(each.groups for each in found.groups)
        what = f"{blocks} for {groups} groups of layers: {_reach(some)}"
    if found.prefix is None:
        return f"{what}."
    claims = [each.claims or 0 for each in some]
    noun = "claim" if claims == [1] else "claims"
    verb = "fits" if claims == [1] else "fit"
    return (
        f"{what}; {_between(claims)} {noun} of a prefix of {found.held:,} tokens {verb} "
        "into an empty pool."
    )


def _reach(some: tuple[Tier, ...]) -> str:
    lengths = [each.longest for each in some]
    if None in lengths:
        return "a prefix of any length"
    return f"{_between([each or 0 for each in lengths])} tokens"


def _between(counts: list[int]) -> str:
    return " to ".join(f"{count:,}" for count in dict.fromkeys(counts))


def _fits(tier: Tier) -> tuple[str, str]:
    return "any" if tier.longest is None else f"{tier.longest:,}", _number(tier.claims)


def _block(found: Budget) -> str:
    rank = " on the rank with most of it" if found.ranks > 1 else ""
    text = f"A block has {found.block_bytes:,} bytes{rank}, and holds tokens of one group."
    if found.prefix is not None:
        text += f" A claim takes {counted(found.footprint or 0, 'block')}."
    return text


def _kind(group: Group) -> str:
    name = _KINDS.get(group.kind) or f"{group.kind} of {group.reach:,}"
    return name if group.groups == 1 else f"{group.groups} of {name}"


def _number(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"


def _put_estimate(out: Page, found: Estimate) -> None:
    out.title("What the estimate takes for a rank")
    parts = {
        "weights": found.weights,
        "activations": found.activations,
        "other": found.other,
        "left for the cache": found.cache,
    }
    rows = [(name, in_binary(each.least), in_binary(each.most)) for name, each in parts.items()]
    out.grid(rows, head=("part", "at least", "at most"), gap=2)
    share = f"{found.utilization:.0%} of the memory, {in_binary(found.requested)}"
    out.put(
        f"vLLM may use {share}. At start it measures these parts, and prints what is left: give "
        "that as --kv-cache-memory for exact figures."
    )


def _left_out(found: Budget) -> list[str]:
    """What a reader may miss."""
    notes = [
        "Requests take blocks of the GPU, too, for prompt and answer; quotas and the floor of the "
        "plugin leave less to claims.",
        "Claims on prompts with a common prefix share its blocks, so more of them fit.",
    ]
    if found.prefix is not None and found.held != found.prefix:
        rest = found.prefix - (found.held or 0)
        notes.append(f"The last {rest:,} tokens of the prefix do not make a whole block.")
    if len(found.groups) > 1 or found.groups[0].kind in {"window", "state"}:
        notes.append(
            "A claim takes what a hit needs: all blocks of full attention and of chunks, the last "
            "window, the last state."
        )
        notes.append(
            "`simulate` has one group of full attention: it does not simulate the hits, the "
            "victims and the waits of this model."
        )
    notes.append(
        "Draft models, LoRA and KV connectors that change the layout are not counted. If vLLM "
        "prints another block size at start, give that as --block-size."
    )
    if found.printed is not None:
        notes.append(
            f"vLLM prints 'GPU KV cache size: {found.printed:,} tokens': it counts block 0, which "
            "no request gets."
        )
    elif found.request is not None and found.request > found.tiers[0].usable:
        notes.append(
            f"vLLM does not start: a request of --max-model-len needs {found.request:,} blocks."
        )
    if found.unarmed:
        notes.append(f"The plugin for vLLM would accept no claim here: {found.unarmed}.")
    return notes
