"""Computes the capacity sweep: figure 4, table 9, and the capacity proof of table 10."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from models.experiments.comparison import Compared, Experiment
from models.sweep import Cell, SweepRow, sweep

__all__ = ["POLICIES", "Boundary", "boundary", "capacity", "fate"]

RESIDENT, ACTIVE, SMALL = 60, 70, 80
"""Blocks of the claim, of the request and of the pool: section 5.3 of the paper."""

_NULL_BLOCK: Final = "findings.md#a-published-capacity-proof-does-not-add-up"

POLICIES: Final = {
    "native": "native eviction",
    "no_admit": "write no-admit",
    "exclusion": "hard exclusion",
}


def fate(cell: Cell) -> str:
    """What became of the request and of the claim."""
    kept = "claim kept" if not cell.lost else f"claim lost {cell.lost}"
    return f"{cell.outcome}, {kept}"


@dataclass(frozen=True, slots=True)
class Boundary:
    """The smallest pool from which on request and claim coexist, found by running the pools."""

    first: Mapping[str, int]
    rows: tuple[SweepRow, ...]


def boundary(resident: int, active: int, usable: Iterable[int]) -> Boundary:
    """Run every pool of these sizes, and find where each policy serves the request without loss.

    Raises:
        ValueError: a policy has no such size, or a smaller pool after one that coexists fails.
    """
    rows = tuple(sweep(resident, active, usable))
    first: dict[str, int] = {}
    for policy in POLICIES:
        both = [getattr(row, policy) == Cell("served", 0) for row in rows]
        if not both[-1] or sorted(both) != both:
            raise ValueError(f"{policy} has no boundary among these sizes")
        first[policy] = rows[both.index(True)].usable
    return Boundary(first, rows)


def capacity() -> Experiment:
    """Figure 4: pools of 80 to 150 blocks, a claim of 60 and a request of 70."""
    sizes = range(SMALL, 151)
    found = boundary(RESIDENT, ACTIVE, sizes)
    at = {row.usable: row for row in found.rows}
    probe, lost = at[SMALL], at[SMALL].native.lost
    (edge,) = set(found.first.values())
    below = [row for row in found.rows if row.usable < edge]
    live = boundary(40, 46, range(68, 101)).first["exclusion"]
    return Experiment(
        name="capacity",
        title="Capacity sweep",
        source="*Resident KV Claims*, section 5.3, figure 4, tables 9 and 10",
        inputs=(
            f"The paper's: a claim of {RESIDENT} blocks, a request of {ACTIVE}, a pool of "
            f"{SMALL}; for table 10, 40 and 46 blocks in a pool of 68. Each size from "
            f"{sizes[0]} to {sizes[-1]} is run through the model of vLLM's block pool."
        ),
        head=("usable blocks", *POLICIES.values()),
        rows=tuple(
            (str(size), *(fate(getattr(at[size], name)) for name in POLICIES))
            for size in (80, 100, 120, edge - 1, edge, 150)
        ),
        compared=(
            Compared("feasibility boundary, usable blocks", 130, edge),
            Compared(
                "below it, native and no-admit serve the request",
                True,
                all("served" == row.native.outcome == row.no_admit.outcome for row in below),
            ),
            Compared(
                "below it, native and no-admit lose the claim",
                True,
                all(row.native.lost and row.no_admit.lost for row in below),
            ),
            Compared(
                "below it, hard exclusion refuses the request and keeps the claim",
                True,
                all(row.exclusion == Cell("refused", 0) for row in below),
            ),
            Compared("table 9, resident blocks evicted", 50, lost),
            Compared("table 9, resident blocks that remain", 10, RESIDENT - lost),
            Compared(
                "table 9, the request is not served beside protected blocks",
                True,
                probe.exclusion.outcome == "refused",
            ),
            Compared("probe of a hard claim (L3), shortfall in blocks", 50, edge - SMALL),
            Compared("table 10, resident and active blocks", 86, live),
            Compared(
                "table 10, shortfall of a pool of 68 blocks",
                19,
                live - 68,
                f"86 - 68 is {live - 68}; the run's pool [had one block less]({_NULL_BLOCK})",
            ),
        ),
        finding=(
            f"Claim and request coexist from {edge} blocks on, by every policy; {edge} is "
            f"{RESIDENT} + {ACTIVE}. One block less, native eviction and no-admit lose "
            f"{at[edge - 1].native.lost} block of the claim, and hard exclusion refuses the "
            "request."
        ),
        command="python -m models sweep --resident 60 --active 70; python -m proofs check capacity",
        plot={
            "sizes": [row.usable for row in found.rows],
            "lost": {
                label: [getattr(row, name).lost for row in found.rows]
                for name, label in POLICIES.items()
            },
            "refused": {
                label: [getattr(row, name).outcome == "refused" for row in found.rows]
                for name, label in POLICIES.items()
            },
            "edge": edge,
            "resident": RESIDENT,
            "active": ACTIVE,
        },
    )
