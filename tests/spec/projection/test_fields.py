"""Tests of the tables: every field and every kind has its row, and nothing is read beside them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spec.contract.facts import FACTS_ARE_FACTS
from spec.contract.interpret import at_kind
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.obligations import OBLIGATIONS
from spec.contract.vocabulary import EVENT_FIELDS
from spec.events.alphabet import CONFLICT_ACTIONS, FACTS, REPORTS, Kind
from spec.language.terms import Ite, Scope, Sort, Term, children, variables
from spec.projection import definitions
from spec.projection.concerns import ABOUT, CONCERNS, By
from spec.projection.fields import FIELDS
from spec.projection.unknown import POOL


def terms() -> Iterator[tuple[str, Term]]:
    """Every term that reads an event, with where it stands."""
    for ledger in (CLAIM_FACTS, DECLARED, REQUEST_FACTS):
        yield from ((f"{ledger.name}: {name}", term) for name, term in ledger.following.items())
    for name, observer in OBLIGATIONS.items():
        for rule in observer.rules:
            yield from ((f"{name}: {rule.name}", t) for t in (rule.when, *rule.sets.values()))
    yield from ((each.name, each.holds) for each in FACTS_ARE_FACTS)


def reads(term: Term) -> set[str]:
    """The fields of the event that a term reads."""
    return {var.name for var in variables(term) if var.scope is Scope.EVENT}


class TestTables:
    """The tables are whole."""

    def test_fields(self) -> None:
        """Each field has a definition, and a value of its sort where it is not computed."""
        assert list(EVENT_FIELDS) == list(FIELDS)
        for name, row in FIELDS.items():
            assert callable(getattr(definitions, name))
            assert row.kinds, name
            assert EVENT_FIELDS[name][1] == row.says

    def test_concerns(self) -> None:
        """Each kind finds claims in some way, and every way has a meaning."""
        assert set(Kind) == set(CONCERNS)
        assert set(By) == set(ABOUT) | {By.REQUEST, By.POOL}
        assert all(ways for ways in CONCERNS.values())

    def test_pool(self) -> None:
        """What every claim hears of is no fact or report about a claim, but for an eviction."""
        everyone = {kind for kind, ways in CONCERNS.items() if By.POOL in ways}
        requests = CONFLICT_ACTIONS | {Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED}
        assert requests | {Kind.BLOCK_EVICTED, Kind.STREAM_DISORDER} == everyone
        assert {By.REQUEST, By.POOL} == {way for kind in requests for way in CONCERNS[kind]}

    def test_names(self) -> None:
        """Every report about a claim finds it by name, and no action on a request does."""
        about = {kind for kind, ways in CONCERNS.items() if By.FOREIGN in ways}
        assert REPORTS - CONFLICT_ACTIONS == about
        assert not any(By.NAME in CONCERNS[kind] for kind in CONFLICT_ACTIONS)
        assert not any(By.FOREIGN in CONCERNS[kind] for kind in FACTS)


@pytest.mark.parametrize("kind", Kind)
def test_what_is_read(kind: Kind) -> None:
    """A field is computed on exactly the kinds on which a term reads it."""
    computed = {name for name, row in FIELDS.items() if kind in row.kinds}
    assert computed == {name for _, term in terms() for name in reads(at_kind(term, kind))}


def test_ledgers_are_certain() -> None:
    """No ledger reads what may be unknown at an event: registers are always certain."""
    for ledger in (CLAIM_FACTS, DECLARED, REQUEST_FACTS):
        for term in ledger.following.values():
            assert not reads(term) & (POOL | {"lower_priority_available"})


def test_no_number_hangs_on_the_unknown() -> None:
    """No number depends on a condition that reads what may be unknown of the room."""

    def numbers(term: Term) -> Iterator[Ite]:
        if isinstance(term, Ite) and term.sort is Sort.INT:
            yield term
        for child in children(term):
            yield from numbers(child)

    for where, term in terms():
        assert not any(reads(each.cond) & POOL for each in numbers(term)), where
