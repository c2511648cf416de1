"""Tables 5, 8 and 12: what answers leave and cost, and which predictions hold on a model."""

import shlex

import pytest

from models.__main__ import main
from models.experiments.answers import Prices, cost, live, oracle, outcome, regret
from models.experiments.predictions import PREDICTIONS
from models.runtimes.micro import Mechanism

M = Mechanism


@pytest.mark.parametrize(
    ("usable", "lost"), [(80, 50), (100, 30), (129, 1), (130, 0)], ids=lambda value: str(value)
)
def test_lost_blocks(usable: int, lost: int) -> None:
    """Native eviction loses fewer blocks of a larger pool, and none from the boundary on."""
    assert (lost, not lost) == (outcome(M.NATIVE, usable).lost, outcome(M.NATIVE, usable).kept)


def test_what_answers_cost() -> None:
    """Each cost is made of what the run left: 50 blocks again, 60 copied twice, 50 copied twice."""
    costs = {each: cost(each, 1.0) for each in (M.NATIVE, M.OFFLOAD_RESIDENT, M.OFFLOAD_ACTIVE)}
    assert {M.NATIVE: 50, M.OFFLOAD_RESIDENT: 24, M.OFFLOAD_ACTIVE: 20} == costs
    assert (0, 12) == (cost(M.NATIVE, 0.0), cost(M.OFFLOAD_RESIDENT, 0.0))


def test_the_oracle_has_no_regret() -> None:
    """It is never dearer than another answer, and some answer equals it at each probability."""
    for used in (0.0, 0.2, 0.5, 0.8, 1.0):
        others = [each for each in Mechanism if each is not M.ORACLE]
        regrets: dict[Mechanism, float] = {each: regret(each, used) for each in others}
        assert 0 == min(regrets.values()) == regrets[oracle(used)]


def test_the_oracle_follows_prices() -> None:
    """It chooses native eviction, then offloading; where a copy is dear, it routes elsewhere."""
    assert [M.NATIVE, M.OFFLOAD_RESIDENT, M.OFFLOAD_ACTIVE] == [oracle(p) for p in (0.1, 0.5, 0.9)]
    assert M.ROUTE is oracle(0.9, Prices(copy=1.0))


def test_no_conflict_costs_nothing() -> None:
    """From 130 blocks on no answer is needed, so none costs anything."""
    assert {0} == {cost(each, 1.0, usable=130) for each in Mechanism}


@pytest.mark.parametrize(
    ("chunks", "accumulated"),
    [((20, 20, 20, 10), [20, 40, 60, 70]), ((35, 35), [35, 70]), ((5, 5), [5, 10])],
    ids=["table 8", "two chunks", "a small request"],
)
def test_chunks(chunks: tuple[int, ...], accumulated: list[int]) -> None:
    """Under full attention earlier chunks stay live, however they are cut."""
    assert accumulated == live(chunks)


def test_predictions() -> None:
    """Those that a model has hold on it."""
    assert [True] * 7 == [each.holds() for each in PREDICTIONS if each.holds is not None]


@pytest.mark.parametrize(
    "command",
    sorted({p.command for p in PREDICTIONS if p.command.startswith("python -m models")}),
)
def test_the_command_of_a_prediction(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It runs, and prints something."""
    assert 0 == main(shlex.split(command)[3:])
    assert capsys.readouterr().out
