"""Computes tables 5 and 8: what each answer to a conflict leaves, what it costs, and its regret.

Each answer is a run of MicroRuntime's model. Its cost is made of what the run left: lost blocks are
computed again, moved blocks are copied, a refusal and a delay have a price. The unit is the prefill
of one block, so a price states a ratio and no time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from models.experiments.comparison import Compared, Experiment, shown
from models.runtimes.micro import Mechanism, Micro

__all__ = ["PRICES", "Outcome", "Prices", "answers", "cost", "live", "oracle", "outcome", "regret"]

_M: Final = Mechanism
RESIDENT, USABLE = 60, 80
"""Blocks of the claim and of the pool: section 3.5. The request has 70 in chunks: table 8."""


class Outcome(NamedTuple):
    """What an answer leaves at the end of the conflict.

    `served` is yes, no or later. `reusable` are blocks of the request that a repeat finds, `lost`
    those of the claim that neither the GPU nor a tier has, and `excess` those of the request that
    are not live at once.
    """

    served: str
    reusable: int
    lost: int
    excess: int

    @property
    def kept(self) -> bool:
        """Whether the claim keeps its predicate, and so its value."""
        return not self.lost


def outcome(mechanism: Mechanism, usable: int = USABLE) -> Outcome:
    """Run MicroRuntime until the request is served, refused or deferred."""
    model = Micro(mechanism, RESIDENT, usable=usable)
    (state,) = model.initial()
    while (actions := list(model.actions(state))) and state.phase not in ("waiting", "served"):
        state = model.apply(state, actions[0]).state
    served = {"served": "yes", "waiting": "later"}.get(state.phase, "no")
    lost = 0 if state.copy else model.size - state.resident
    return Outcome(served, state.reusable, lost, max(0, model.active - model.room))


def live(chunks: tuple[int, ...], usable: int = USABLE) -> list[int]:
    """Live blocks of a request after each chunk, under full attention."""
    model = Micro(_M.NATIVE, RESIDENT, chunks, usable)
    (state,) = model.initial()
    found = []
    while actions := list(model.actions(state)):
        state = model.apply(state, actions[0]).state
        if actions[0].name == "prefill":
            found.append(state.live)
    return found


@dataclass(frozen=True, slots=True)
class Prices:
    """What answers cost, in prefills of one block.

    Args:
        copy: to copy a block to another tier or back.
        refusal: to refuse the request: two prefills of it.
        delay: to defer the request until the claim ends.
        route: to send the request to another engine with capacity.
        block: to have one more block in the pool.
    """

    copy: float = 0.2
    refusal: float = 140
    delay: float = 100
    route: float = 30
    block: float = 4


PRICES: Final = Prices()


def cost(mechanism: Mechanism, used: float, prices: Prices = PRICES, usable: int = USABLE) -> float:
    """What an answer costs where the claim is used again with the probability `used`."""
    if mechanism is _M.ORACLE:
        return min(cost(each, used, prices, usable) for each in _CHOICES)
    found = outcome(mechanism, usable)
    if usable >= RESIDENT + _ACTIVE:
        return 0
    answer: dict[Mechanism, float] = {
        _M.EXCLUSION: prices.refusal,
        _M.RESERVE: prices.refusal,
        _M.DEFER: prices.delay,
        _M.OFFLOAD_RESIDENT: RESIDENT * prices.copy * (1 + used),
        _M.OFFLOAD_ACTIVE: found.excess * prices.copy * 2,
        _M.BOUND: found.excess,
        _M.SPLIT: found.excess,
        _M.ROUTE: prices.route,
        _M.LARGER: (RESIDENT + _ACTIVE - usable) * prices.block,
    }
    return answer.get(mechanism, 0) + used * found.lost


_ACTIVE: Final = sum(Micro().chunks)
_CHOICES: Final = tuple(each for each in Mechanism if each is not _M.ORACLE)


def oracle(used: float, prices: Prices = PRICES) -> Mechanism:
    """The cheapest answer, of equal ones the first of table 5."""
    return min(_CHOICES, key=lambda each: cost(each, used, prices))


def regret(mechanism: Mechanism, used: float, prices: Prices = PRICES) -> float:
    """What an answer costs more than the oracle's."""
    return cost(mechanism, used, prices) - cost(_M.ORACLE, used, prices)


_TABLE_5: Final = {
    _M.NATIVE: ("yes", False),
    _M.NO_ADMIT: ("yes", False),
    _M.EXCLUSION: ("no", True),
    _M.DEFER: ("later", True),
    _M.RESERVE: ("no", True),
    _M.OFFLOAD_RESIDENT: ("yes", True),
    _M.OFFLOAD_ACTIVE: ("yes", True),
    _M.BOUND: ("yes", True),
    _M.ROUTE: ("yes", True),
    _M.RELAX: ("yes", False),
    _M.LARGER: ("yes", True),
}
"""Table 5: whether the request is served, and whether the claim survives. Of splitting it states
no outcome, and of the oracle that it chooses the best."""
_STEPS: Final = [step / 100 for step in range(101)]


def answers() -> Experiment:
    """Table 5 with costs, and what the oracle chooses as the claim is used more."""
    found = {each: outcome(each) for each in Mechanism}
    worst: dict[Mechanism, float] = {
        each: max(regret(each, used) for used in _STEPS) for each in _CHOICES
    }
    safest = min(worst, key=lambda each: worst[each])
    chosen = {oracle(used): None for used in _STEPS}
    turns = {best: next(used for used in _STEPS if oracle(used) is best) for best in chosen}
    edge = outcome(_M.NATIVE, RESIDENT + _ACTIVE - 1)
    compared = [
        Compared(f"{each}: served, claim kept", paper, (found[each].served, found[each].kept))
        for each, paper in _TABLE_5.items()
    ]
    compared += [
        Compared(
            "table 5, the request is reusable after native eviction, no-admit, deferral",
            (True, False, False),
            tuple(bool(found[e].reusable) for e in (_M.NATIVE, _M.NO_ADMIT, _M.DEFER)),
        ),
        Compared("table 8, live blocks after each chunk", (20, 40, 60, 70), tuple(live(_CHUNKS))),
        Compared(
            "costs of the oracle", "schematic", None, "the paper prints no cost and no confidence"
        ),
    ]
    return Experiment(
        name="answers",
        title="Answers to a conflict and their regret",
        source="*Resident KV Claims*, sections 3.5, 5.2 and 7, tables 5, 8 and 11",
        inputs=(
            f"The paper's: {RESIDENT} resident blocks, {_ACTIVE} active ones in chunks of "
            f"{shown(_CHUNKS)}, {USABLE} usable. Assumed, in prefills of one block: {_ASSUMED}. A "
            "lost block is computed again if the claim is used again. Regret is the cost beyond "
            "the oracle's, which knows this probability."
        ),
        head=(
            "answer",
            "request served",
            "reusable blocks",
            "claim's blocks lost",
            "value lost",
            "cost at 0.1",
            "at 0.9",
            "largest regret",
        ),
        rows=tuple(
            (
                str(each),
                left.served,
                str(left.reusable),
                str(left.lost),
                "0" if left.kept else "all",
                *(f"{cost(each, used):.0f}" for used in (0.1, 0.9)),
                f"{worst.get(each, 0):.0f}",
            )
            for each, left in found.items()
        ),
        compared=tuple(compared),
        finding=(
            "By these prices the oracle chooses "
            + ", then ".join(f"{best} from {turns[best]:.2f} on" for best in chosen)
            + f" as the probability of another use grows. Who does not know it loses least by "
            f"{safest}: at most {worst[safest]:.0f} prefills of a block. Value is lost as a whole: "
            f"native eviction loses it with {edge.lost} block as with {found[_M.NATIVE].lost}."
        ),
        command="python -m models show micro",
        plot={
            "used": _STEPS,
            "cost": {
                str(each): [cost(each, used) for used in _STEPS]
                for each in (
                    _M.NATIVE,
                    _M.OFFLOAD_RESIDENT,
                    _M.OFFLOAD_ACTIVE,
                    _M.ROUTE,
                    _M.BOUND,
                    _M.DEFER,
                )
            },
            "turns": {str(best): used for best, used in turns.items()},
            "assumed": _ASSUMED,
        },
    )


_CHUNKS: Final = Micro().chunks
_ASSUMED: Final = (
    f"a copy to or from a tier {PRICES.copy}, a refusal {PRICES.refusal}, a delay {PRICES.delay}, "
    f"another engine {PRICES.route}, a block more {PRICES.block}"
)
"""Prices in prefills of one block."""
