"""Changes of the naive projection are noticed by the comparison, and taken back."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random
from types import CodeType, FunctionType
from typing import Any, Final

import pytest

from spec.projection import definitions, fields, naive, pool, ranks, rights, unknown
from tests.differential.compare import compare
from tests.projection_cases import FAMILIES
from tests.projection_mutants import campaign as projection_mutants
from tests.projection_mutants.campaign import judge, made, main, streams
from tests.projection_mutants.changes import MODULES, OPERATORS, Change, changes
from tests.projection_mutants.equal import EQUAL

DOCS: Final = Path(__file__).parents[2] / "docs"

KILLED: Final = (
    *("ranks.is_ranked:negate-1", "ranks._ranked:affirm-1"),
    "ranks.ranked_losers:lack-1",
    *("ranks.lower_priority_available:branch-7", "ranks.lower_priority_available:branch-3"),
    *("ranks.lower_priority_available:compare-2", "ranks.lower_priority_available:flip-2"),
    *("ranks.lower_priority_available:join-1", "ranks.lower_priority_available:swap-1"),
    *("ranks.lower_priority_available:lack-9", "ranks.lower_priority_available:negate-3"),
    *("ranks.higher_priority_kept:compare-1", "ranks.higher_priority_kept:quantify-1"),
    "ranks.higher_priority_kept:swap-1",
    *("rights.begin:branch-2", "rights.begin:negate-1", "rights.begin:sum-1"),
    *("rights.is_due:lack-6", "rights.is_due:join-2", "rights.unclear:branch-2"),
    *("rights.authorised:branch-5", "rights.authorised:more-1", "rights.authorised:negate-4"),
    *("rights.owner_unknown:lack-2", "rights.owner_unknown:negate-3"),
)
"""Changes that a hand-written trace notices."""

TRACES: Final = 38
"""Hand-written traces in the canonical form: a pair for each obligation."""

SAMPLE: Final = 60
"""Cases of a family that are compared."""

NO_CHANGE: Final = "ranks._ranked:lack-5"
"""`claim.priority or 0` becomes `claim.priority`: of the claims that have one."""


def every(*modules: str) -> dict[str, Change]:
    return {change.name: change for name in modules for change in changes(name)}


def state() -> dict[str, Any]:
    """The code of every function of some modules, and every other value, by its name."""
    found: dict[str, Any] = {}
    for module in (definitions, fields, naive, pool, ranks, rights, unknown):
        for name, value in vars(module).items():
            if name != "__builtins__":
                found[f"{module.__name__}.{name}"] = value
            if isinstance(value, FunctionType):
                found[f"{module.__name__}.{name}()"] = value.__code__
            for each, method in vars(value).items() if isinstance(value, type) else ():
                if isinstance(code := getattr(method, "__code__", None), CodeType):
                    found[f"{module.__name__}.{name}.{each}()"] = code
    return found


@pytest.fixture(scope="module")
def some() -> dict[str, Change]:
    return every("ranks", "rights")


class TestFates:
    def test_sample(self, some: dict[str, Change]) -> None:
        """Each of a sample is killed by the hand-written traces, what is no change is not, and
        everything is as it was after that."""
        before = state()
        asked = [some[name] for name in (*KILLED, NO_CHANGE)]
        fates = judge(asked, islice(streams(1), TRACES))
        assert set(KILLED) == {*fates.verdict, *fates.exception}
        assert fates.whole
        after = state()
        assert before.keys() == after.keys()
        assert [] == [name for name, value in before.items() if after[name] is not value]

    def test_no_time(self, some: dict[str, Change]) -> None:
        """Where the time is over nothing more is judged, and the fates say so."""
        fates = judge([some[NO_CHANGE]], streams(1), until=0.0)
        assert (0, False) == (fates.streams, fates.whole)


class TestMade:
    def test_constant(self) -> None:
        """A constant is another one wherever it was imported, and so is what rests on it."""
        change = every("unknown")["unknown.OTHERS:fewer-1"]
        was = unknown.OTHERS
        with made(change):
            assert frozenset() == unknown.OTHERS
        assert was is unknown.OTHERS

    def test_imported(self) -> None:
        """Another module has the changed constant, too."""
        change = every("unknown")["unknown.POOL:fewer-1"]
        was = fields.POOL
        with made(change):
            assert fields.POOL is unknown.POOL
            assert len(was) > len(fields.POOL)
        assert fields.POOL is was is unknown.POOL

    def test_default(self) -> None:
        """A field of a dataclass has another default."""
        change = every("pool")["pool.Claim.met:constant-1"]
        with made(change):
            assert 1 == pool.Claim("a").met
        assert 0 == pool.Claim("a").met

    def test_property(self) -> None:
        """A property is changed like any function."""
        change = every("pool")["pool.Claim.extent:extreme-1"]
        claim = pool.Claim("a", footprint=3)
        with made(change):
            assert 0 == claim.extent
        assert 3 == claim.extent


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_cases(family: str) -> None:
    """Each stream that is written by hand for the comparison has a name of its own, and the monitor
    and the projection agree on some of each family; `make differential` compares all."""
    cases = FAMILIES[family]
    assert len(cases) == len({case.name for case in cases})
    for case in Random(0).sample(cases, min(SAMPLE, len(cases))):
        compare(case.lines, case.mode)


def test_operators() -> None:
    """Every operator that is listed makes some change, and each change has a name of its own."""
    found = [change for name in MODULES for change in changes(name)]
    assert set(OPERATORS) == {change.operator for change in found}
    assert len(found) == len({change.name for change in found})


def test_equal() -> None:
    """Every change that is said to be none exists, as it is written there, and has a reason."""
    found = {change.name: change.says for name in MODULES for change in changes(name)}
    assert {name: each.says for name, each in EQUAL.items()} == {n: found.get(n) for n in EQUAL}
    assert all(each.why for each in EQUAL.values())


@pytest.mark.slow
def test_page() -> None:
    """docs/mutation.md has how many changes each module has, once."""
    page = (DOCS / "mutation.md").read_text(encoding="utf-8")
    for module in MODULES:
        assert 1 == page.count(f"\n| `{module}` | {len([*changes(module)])} |\n")


class TestCommand:
    def test_survivors(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With no stream and no example nothing is noticed: the exit code and the page say so."""
        monkeypatch.setattr(projection_mutants, "noticed", lambda change: "")
        assert 1 == main(["sight", "--streams", "0"])
        said = capsys.readouterr().out
        assert "survive 0 streams" in said
        assert "spec/projection/sight.py:" in said

    def test_no_time(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Without time the command is interrupted."""
        assert 3 == main(["sight", "--streams", "1", "--minutes", "0"])

    def test_no_module(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A module that is not there is an error of usage."""
        with pytest.raises(SystemExit, match="2"):
            main(["nonesuch"])
