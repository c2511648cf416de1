"""Models one admission beside a resident prefix by counts, block by block, for any size of pool.

Source: vLLM 0.32.0, `vllm/v1/core/block_pool.py` (`get_new_blocks`, `_maybe_evict_cached_block`):
blocks are taken from the head of the free queue, and a block that cached something loses it. A
prefix that was computed by a request that finished lies at the tail, so blocks that cache nothing
are taken first. This is the scenario of "Resident KV Claims", section 5.3.

The transition relation is written in the term language of the specification, so that the model runs
it and Z3 reasons about the same terms for all sizes (`proofs.product.capacity`). It is what the
block pools of `vllm_pool` and `vllm_pool_exclusion` do in this scenario, which their tests check.

Left out: everything but the number of blocks.

Names are not interchangeable: there are none, only counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

from models.framework.model import Action, Model, Next
from spec.language.partial_evaluation import value_of
from spec.language.terms import Const, Scope, Sort, Term, Var, conj

__all__ = [
    "EXCLUSION",
    "INFERENCES",
    "NATIVE",
    "SIZES",
    "VARIANTS",
    "Counts",
    "PoolCounts",
    "Relation",
    "initial",
]


def _int(name: str) -> Var:
    return Var(Scope.OWN, name, Sort.INT)


RESIDENT, ACTIVE, USABLE = map(_int, ("resident", "active", "usable"))
SIZES: Final[Term] = conj(
    Const(0) <= RESIDENT, RESIDENT <= USABLE, Const(0) <= ACTIVE, ACTIVE <= USABLE
)
"""The sizes: both fit into the pool by themselves."""

PLAIN, CACHED, TAKEN, LOST, REFUSED = map(_int, ("plain", "cached", "taken", "lost", "refused"))


class Counts(NamedTuple):
    """Blocks: free without content, free with the resident prefix, taken by the active request, and
    lost by the prefix; and whether the request was refused, as 0 or 1.
    """

    plain: int
    cached: int
    taken: int = 0
    lost: int = 0
    refused: int = 0


@dataclass(frozen=True)
class Relation:
    """A transition relation by counts: for each action a guard, and the registers that it sets."""

    actions: Mapping[str, tuple[Term, Mapping[str, Term]]]


_wants = conj(TAKEN < ACTIVE, REFUSED.eq(0))
_take_plain = {"plain": PLAIN - 1, "taken": TAKEN + 1}
_take_cached = {"cached": CACHED - 1, "taken": TAKEN + 1, "lost": LOST + 1}

NATIVE: Final = Relation(
    {
        "take": (conj(_wants, Const(0) < PLAIN), _take_plain),
        "evict": (conj(_wants, PLAIN.eq(0), Const(0) < CACHED), _take_cached),
    }
)
"""Any free block is taken, what caches nothing first."""

EXCLUSION: Final = Relation(
    {
        "take": (conj(_wants, ACTIVE + RESIDENT <= USABLE, Const(0) < PLAIN), _take_plain),
        "refuse": (conj(_wants, USABLE < ACTIVE + RESIDENT), {"refused": Const(1)}),
    }
)
"""The blocks of the claim are no victims; a request that does not fit beside it is refused."""


def initial(resident: int, usable: int) -> Counts:
    """The pool after the resident prefix was computed, and before the active request."""
    return Counts(usable - resident, resident)


class PoolCounts(Model[Counts]):
    """One admission by counts.

    Args:
        resident: blocks of the prefix that is there.
        active: blocks that the request needs.
        usable: blocks of the pool.
        relation: what the pool does.
    """

    name: ClassVar = "pool_counts"
    about: ClassVar = "One admission beside one resident prefix, by counts, for pools of any size."
    source: ClassVar = "vLLM 0.32.0, vllm/v1/core/block_pool.py; Resident KV Claims, section 5.3"
    left_out: ClassVar = "everything but the number of blocks"

    def __init__(
        self,
        resident: int = 60,
        active: int = 70,
        usable: int = 80,
        relation: Relation = NATIVE,
    ) -> None:
        self.relation = relation
        self.sizes = {"resident": resident, "active": active, "usable": usable}

    def value(self, state: Counts, term: Term) -> int:
        """The value of a term over the sizes and the counts; a truth is 0 or 1."""
        known = {**self.sizes, **state._asdict()}
        return int(value_of(term, lambda scope, name: known[name]))

    def initial(self) -> Iterator[Counts]:
        """The prefix is there, and nothing is taken."""
        yield initial(self.sizes["resident"], self.sizes["usable"])

    def actions(self, state: Counts) -> Iterator[Action]:
        """The actions of the relation whose guard holds."""
        for name, (guard, _) in self.relation.actions.items():
            if self.value(state, guard):
                yield Action(name)

    def apply(self, state: Counts, action: Action) -> Next[Counts]:
        """The counts after an action."""
        _, sets = self.relation.actions[action.name]
        return Next(state._replace(**{n: self.value(state, t) for n, t in sets.items()}))

    @property
    def always(self) -> Mapping[str, Callable[[Counts], bool]]:
        """No block is made or lost."""
        usable = self.sizes["usable"]
        return {"every block is counted once": lambda s: s.plain + s.cached + s.taken == usable}


VARIANTS: Final[Mapping[str, Callable[[], Model[Any]]]] = {
    "native": PoolCounts,
    "exclusion": lambda: PoolCounts(relation=EXCLUSION),
}
INFERENCES: Final = ()
