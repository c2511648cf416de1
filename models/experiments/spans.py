"""Computes tables 6 and 7: what cache policies leave of prefixes under pressure, and its value.

MicroRuntime's spans and policies, sections 5.1 and 5.2. A pool caches spans in the order of their
requests and evicts by last use, the last block of a span first, as vLLM does. A policy keeps
leading blocks of some spans, or does not admit what some requests compute. Every request is served:
a block for which there is no victim is computed, and not cached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from models.experiments.comparison import Compared, Experiment, shown
from models.experiments.shares import FAMILIES
from models.simulation.policies.shares import equal, whole

__all__ = ["BULKY", "CARRIER", "Keep", "Span", "SpanCache", "no_admit", "retained", "value_of"]

BLOCK: Final = 16
USABLE: Final = 80
"""Tokens of a block, and blocks of the pool: sections 4.1 and 5.3."""


class Keep(StrEnum):
    """What a policy does beyond evicting by last use."""

    NATIVE = "native"
    FAIR = "naive fair share"
    COMPLETE = "complete-prefix fair share"
    DENSITY = "value density"
    NO_ADMIT = "served but not reusable"
    GATED = "density-gated"
    SALTED = "salted, no reuse"


@dataclass(frozen=True, slots=True)
class Span:
    """A prefix: its blocks, the leading blocks that it needs, and its value where it has them."""

    name: str
    blocks: int
    threshold: int
    value: int

    @property
    def density(self) -> float:
        """Value by block."""
        return self.value / self.blocks


CARRIER: Final = (Span("A", 40, 40, 10), Span("B", 40, 40, 8), Span("C", 40, 40, 2))
BULKY: Final = (
    Span("small_hot", 30, 30, 10),
    Span("small_warm", 30, 30, 8),
    Span("bulky", 70, 70, 1),
)
_FILLER: Final = Span("filler", USABLE, USABLE, 0)


class SpanCache:
    """A pool that caches spans by a policy.

    Args:
        gate: the value by block below which the density-gated policy admits no span.
    """

    def __init__(self, policy: Keep, spans: Sequence[Span], usable: int, gate: float = 0.1) -> None:
        self.policy, self.usable = policy, usable
        self.kept = _kept(policy, spans, usable)
        self.refused = {s.name for s in spans if policy is Keep.GATED and s.density < gate}
        if policy is Keep.NO_ADMIT:
            self.refused = {min(spans, key=lambda span: span.density).name}
        self.cached: dict[tuple[str, int], None] = {}
        self.salt = 0

    def request(self, span: Span) -> int:
        """Serve a request for a span: the leading blocks of it that were cached."""
        name = span.name
        if self.policy is Keep.SALTED:
            self.salt += 1
            name = f"{name}, salt {self.salt}"
        found = next((n for n in range(span.blocks) if (name, n) not in self.cached), span.blocks)
        used = [(name, at) for at in range(found)]
        for block in used:
            del self.cached[block]
        for at in range(found, span.blocks):
            self.cached.pop((name, at), None)
            if len(self.cached) + len(used) >= self.usable and not self._evict():
                break
            used.append((name, at))
        if span.name not in self.refused:
            self.cached |= dict.fromkeys(reversed(used))
        return found

    def _evict(self) -> bool:
        """Evict the block that was used longest ago of those that the policy does not keep."""
        for name, at in self.cached:
            if at >= self.kept.get(name, 0):
                del self.cached[name, at]
                return True
        return False


def _kept(policy: Keep, spans: Sequence[Span], usable: int) -> Mapping[str, int]:
    """The leading blocks of each span that are never victims."""
    sizes = [span.blocks for span in spans]
    match policy:
        case Keep.FAIR:
            kept = equal(sizes, usable)
        case Keep.COMPLETE:
            kept = whole(sizes, usable)
        case Keep.DENSITY:
            kept = whole(sizes, usable, [span.density for span in spans])
        case _:
            return {}
    return dict(zip((span.name for span in spans), kept, strict=True))


def retained(policy: Keep, spans: Sequence[Span], usable: int = USABLE) -> tuple[int, ...]:
    """Leading blocks that each span has left after all were cached and filler came."""
    cache = SpanCache(policy, spans, usable)
    for span in (*spans, _FILLER):
        cache.request(span)
    held = dict(cache.cached)
    return tuple(_probe(cache, held, span) for span in spans)


def _probe(cache: SpanCache, held: Mapping[tuple[str, int], None], span: Span) -> int:
    """What a repeat finds of a span where no other repeat came before."""
    cache.cached = dict(held)
    return cache.request(span)


def value_of(spans: Sequence[Span], leading: Sequence[int]) -> int:
    """The value of the spans whose leading blocks reach their threshold."""
    return sum(s.value for s, there in zip(spans, leading, strict=True) if there >= s.threshold)


_TABLE_6: Final[Mapping[Keep, tuple[tuple[int, ...], int]]] = {
    Keep.NATIVE: ((0, 0, 0), 0),
    Keep.FAIR: ((30, 20, 19), 0),
    Keep.COMPLETE: ((40, 40, 0), 18),
    Keep.DENSITY: ((40, 40, 0), 18),
    Keep.SALTED: ((0, 0, 0), 0),
}
"""Section 5.1, table 6: first missing blocks of A, B and C, and thresholded value."""


def materialization() -> Experiment:
    """Table 6: retained tokens and thresholded value, and where its fair shares come from."""
    found = {policy: retained(policy, CARRIER) for policy in _TABLE_6}
    fair, _ = _TABLE_6[Keep.FAIR]
    searched = [(family, family.search(fair)) for family in FAMILIES]
    tried = sum(search.tried for _, search in searched)
    equal = sum(search.equal for _, search in searched)
    nearest = min((search for _, search in searched), key=lambda each: each.apart)
    derived = None if not equal else fair
    compared = [
        Compared(f"{policy}: first missing blocks", _TABLE_6[policy][0], found[policy])
        for policy in _TABLE_6
        if policy is not Keep.FAIR
    ]
    compared += [
        Compared(f"{policy}: value", paper, value_of(CARRIER, found[policy]))
        for policy, (_, paper) in _TABLE_6.items()
        if not paper
    ]
    compared += [
        Compared(
            f"{Keep.FAIR}: first missing blocks",
            fair,
            derived,
            f"{equal} of {tried:,} divisions give them; equal shares give "
            f"{shown(found[Keep.FAIR])}",
        ),
        Compared(
            f"{Keep.COMPLETE}: value",
            18,
            None,
            "the paper states no value of a span; any two whose sum is 18 give it",
        ),
    ]
    idle = sum(_TABLE_6[Keep.COMPLETE][0]) - sum(fair)
    return Experiment(
        name="materialization",
        title="Retained tokens and thresholded value",
        source="*Resident KV Claims*, section 5.1, table 6",
        inputs=(
            f"The paper's: a block of {BLOCK} tokens; A and B of 40 blocks, which is what their "
            f"complete prefixes have. Assumed: the {USABLE} usable blocks of section 5.3, because "
            "this table states none; C of 40 blocks; each span needs all its blocks; filler "
            "follows that needs the whole pool; values of 10, 8 and 2, so that A and B have the "
            "printed sum of 18."
        ),
        head=("policy", "cached tokens A / B / C", "first missing blocks", "value"),
        rows=tuple(
            (
                str(policy),
                shown(tuple(blocks * BLOCK for blocks in leading)),
                shown(leading),
                str(value_of(CARRIER, leading)),
            )
            for policy, leading in found.items()
        ),
        compared=tuple(compared),
        finding=(
            "Fair shares keep more blocks than one complete prefix, and are worth 0: no span "
            f"reaches its threshold. The shares {shown(fair)} do not follow from the stated "
            f"inputs: {equal} of {tried:,} divisions give them. The nearest is "
            f"{shown(nearest.nearest)}. They are {idle} blocks fewer than the complete prefixes, "
            "of the same pool."
        ),
        command="python -m models experiments materialization",
        plot={
            "policies": [str(policy) for policy in found],
            "leading": [list(leading) for leading in found.values()],
            "paper": [list(_TABLE_6[policy][0]) for policy in found],
            "spans": [span.name for span in CARRIER],
            "threshold": CARRIER[0].threshold,
            "values": [value_of(CARRIER, leading) for leading in found.values()],
            "assumed": (
                f"{USABLE} usable blocks, C of {CARRIER[2].blocks} blocks, "
                f"and the values of spans: {shown(tuple(span.value for span in CARRIER))}"
            ),
        },
        more=(
            ("reading of a fair share", "what is varied", "divisions", "give it", "nearest"),
            tuple(
                (
                    family.name,
                    family.varied,
                    f"{search.tried:,}",
                    str(search.equal),
                    shown(search.nearest),
                )
                for family, search in searched
            ),
        ),
    )


_TABLE_7: Final[Mapping[Keep, int]] = {
    Keep.NATIVE: 1120,
    Keep.NO_ADMIT: 0,
    Keep.GATED: 0,
    Keep.SALTED: 0,
}
"""Section 5.2, table 7: tokens of the bulky request that its immediate repeat finds."""


def no_admit() -> Experiment:
    """Table 7: a request that is not admitted for reuse evicts the residents all the same."""
    rows, compared, lost = list[tuple[str, ...]](), list[Compared](), set[int]()
    *residents, bulky = BULKY
    for policy, paper in _TABLE_7.items():
        cache = SpanCache(policy, BULKY, USABLE)
        for span in BULKY:
            cache.request(span)
        held = dict(cache.cached)
        repeat = _probe(cache, held, bulky) * BLOCK
        leading = [_probe(cache, held, span) for span in residents]
        value = value_of(residents, leading)
        lost.add(value)
        tokens = tuple(blocks * BLOCK for blocks in leading)
        rows.append((str(policy), f"{repeat:,}", shown(tokens), str(value)))
        compared += [
            Compared(f"{policy}: tokens that a repeat of the bulky request finds", paper, repeat),
            Compared(f"{policy}: resident value", 0, value),
        ]
    return Experiment(
        name="no-admit",
        title="Write no-admit does not protect residents",
        source="*Resident KV Claims*, section 5.2, table 7",
        inputs=(
            f"The paper's: {USABLE} blocks, residents of 60 blocks together, a bulky request of "
            "70. Assumed: two residents of 30 blocks that need all of them, values 10, 8 and 1, "
            "and a gate of 0.1 by block."
        ),
        head=("policy", "tokens of a bulky repeat", "tokens of hot / warm", "resident value"),
        rows=tuple(rows),
        compared=(
            *compared,
            Compared(
                "tokens left of the two residents",
                (0, 0),
                None,
                "their sizes and the order of the repeats are not stated; table 9 counts 10 blocks "
                "that remain, the leading ones of the resident used last",
            ),
        ),
        finding=(
            "Admission decides what a repeat of the bulky request finds. The residents are worth "
            f"{shown(tuple(sorted(lost)))} by every policy, because the bulky request evicts them "
            "while it is served."
        ),
        command="python -m models experiments no-admit",
    )
