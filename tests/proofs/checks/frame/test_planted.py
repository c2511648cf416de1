"""Planted mistakes in what runs: each turns `check frame` red, and says where."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import pytest

from monitor.native import library
from monitor.native.binding import table_of, vocabulary
from proofs.checks.frame.generated import (
    prove_connectives,
    prove_generated,
    prove_row,
    prove_tables,
)
from proofs.checks.frame.results import Failure
from proofs.checks.frame.statements import Lemma
from proofs.checks.frame.table_reader import Row, Table, read_table
from proofs.checks.frame.translation import Situation, Translation
from proofs.checks.frame.verification_conditions import Prover
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.events.alphabet import Kind
from spec.stream.generate import CLAIM, compiled, function_of, texts, three_valued
from tests.proofs.checks.frame.edits import BUGS, Site, found, sites, with_part

HARD = Mode.HARD_PROTECTED
EVICTED = Situation(Kind.BLOCK_EVICTED, HARD)


@cache
def hard() -> dict[str, Site]:
    """The functions of hard_protected, by their names."""
    return sites(HARD)


def failures(prover: Prover) -> list[Failure]:
    """What was found."""
    return [failure for lemma in Lemma for failure in prover.answer(lemma).failures]


def lemmas(prover: Prover) -> dict[str, str]:
    """The results of the lemmas that were asked."""
    answers = [prover.answer(lemma) for lemma in Lemma]
    return {answer.name: answer.result for answer in answers if answer.questions}


class TestAsItIs:
    """What runs, unaltered."""

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", [Mode.BEST_EFFORT, Mode.HARD_PROTECTED])
    def test_proved(self, mode: Mode) -> None:
        """Every function and every table of a mode is proved, and some of each was asked."""
        prover = Prover()
        translation = Translation(prover)
        prove_connectives(translation)
        prove_generated(translation, [mode])
        asked = {
            Lemma.LEDGERS,
            Lemma.RULES,
            Lemma.OPENING,
            Lemma.THREE,
            Lemma.CONNECTIVES,
            Lemma.RUNS,
        }
        if library() is not None:
            prove_tables(translation, [mode])
            asked.add(Lemma.TABLES)
        assert dict.fromkeys(asked, "proved") == lemmas(prover)

    def test_unaltered(self) -> None:
        """A function that is made again of its own text is proved, so an edit alone is noticed."""
        for site in list(hard().values())[::60]:
            assert [] == site.failures(f"{site.text}\n")


class TestPlanted:
    """Mistakes in the text of the functions."""

    PLACES = 6

    @pytest.mark.slow
    @pytest.mark.parametrize("bug", BUGS)
    def test_each(self, bug: str) -> None:
        """A bug at a random place is found wherever a random input shows that it is one."""
        rng, noticed = random.Random(bug), 0
        places = [(site, *place) for site in hard().values() for place in site.places(bug)]
        for site, place, edit in rng.sample(places, self.PLACES):
            text = site.planted(place, edit)
            if site.differs(text, rng):
                results = site.failures(text)
                assert results, text
                assert {"refuted"} == {failure.result for failure in results}
                assert results[0].counterexample or results[0].says
                noticed += 1
        assert 0 < noticed

    @pytest.mark.parametrize(
        ("name", "old", "new", "part"),
        [
            ("two", "(t <= w[4])", "(t < w[4])", "losses"),
            ("three", "_apply(_le, t, w[4])", "_apply(_lt, t, w[4])", "losses"),
            ("two", "(w[5] or (e['mine'] and (t <= n[4])))", "(t <= n[4])", "there"),
            (
                "three",
                "_choose(e['mine'], e['restorable'], w[7])",
                "e['restorable']",
                "whole",
            ),
            ("two", "n[7] = ", "n[6] = ", "host"),
        ],
    )
    def test_ledger(self, name: str, old: str, new: str, part: str) -> None:
        """A wrong operator, a dropped condition or a register at another place is found."""
        made, path = compiled(EVICTED.kind, HARD), ("claim", name)
        assert made.claim
        text = texts[getattr(made.claim, name)]
        assert 1 == text.count(old), text
        results = found(EVICTED, with_part(made, path, function_of(text.replace(old, new))))
        assert {"claim"} == {failure.of for failure in results}
        assert part in {failure.part.partition(" ")[0] for failure in results}

    def test_another_sort(self) -> None:
        """A number at the place of a truth value is refused."""
        made = compiled(EVICTED.kind, HARD)
        assert made.claim
        text = texts[made.claim.two].replace("n[13] = ", "n[12] = ")
        (only,) = found(EVICTED, with_part(made, ("claim", "two"), function_of(text)))
        assert "declared is of another sort" == only.says

    def test_counterexample(self) -> None:
        """A guard that asks for less is reported with an event at which it shows."""
        name = next(n for n in hard() if n.startswith("opens at request_deferred"))
        site = hard()[name]
        (first,) = site.failures("def f(e, here, t, w, n, r, q, o):\n    return here")
        assert "opens" == first.of
        assert first.counterexample is not None
        assert {"here": "true"} == first.counterexample.event
        (change,) = first.counterexample.changes
        assert ("value", "false", "true") == (change.what, change.expected, change.found)

    def test_left_out(self) -> None:
        """An observer that a kind of event moves is missed where it is left out."""
        made = compiled(EVICTED.kind, HARD)
        results = found(EVICTED, with_part(made, ("own",), made.own[1:]))
        assert any("is missing" in failure.part for failure in results)

    def test_another_scope(self) -> None:
        """An observer that is not followed for each request is found among those that are."""
        made = compiled(EVICTED.kind, HARD)
        results = found(EVICTED, with_part(made, ("scoped",), made.own))
        assert "observers" in {failure.of for failure in results}

    def test_ledger_left_out(self) -> None:
        """A ledger that no function updates is missed, in two values and in three."""
        made = compiled(EVICTED.kind, HARD)
        results = found(EVICTED, with_part(made, ("claim",), None))
        assert {True, False} == {"three" in failure.part for failure in results}


def unsound(text: str) -> list[Failure]:
    """What is found where this expression decides in three values whether a request opens."""
    made = compiled(Kind.REQUEST_DEFERRED, HARD)
    three = function_of(f"def f(e, here, t, w, n, r, q, o):\n    return {text}")
    return found(Situation(Kind.REQUEST_DEFERRED, HARD), with_part(made, ("opens_three",), three))


class TestThreeValues:
    """Mistakes that show only where an input is unknown."""

    def opens(self) -> str:
        """The expression as it is generated."""
        made = compiled(Kind.REQUEST_DEFERRED, HARD)
        return texts[made.opens_three].partition("return ")[2]

    def test_other_expressions(self) -> None:
        """An expression that is as good is accepted; one that knows less of known inputs is not."""
        whole = self.opens()
        assert [] == unsound(f"_not(_not({whole}))")
        assert unsound(f"_and({whole}, e['mine'])")

    def test_plain_python(self) -> None:
        """Python's own `and`, for which None is false, is refused in three values."""
        assert any("three values" in each.says for each in unsound("(here and e['mine'])"))

    @pytest.mark.parametrize(
        ("name", "wrong"),
        [
            ("_and", lambda *values: all(value is not False for value in values)),
            ("_and", lambda *values: all(values)),
            ("_or", lambda *values: any(values)),
            ("_or", lambda *values: three_valued["_or"](*values[:6])),
            ("_not", lambda value: not value),
            ("_apply", lambda operator, a, b: operator(a or 0, b or 0)),
            ("_choose", lambda condition, then, otherwise: then if condition else otherwise),
            ("_choose", lambda condition, then, other: None if condition is None else then),
            ("_lt", lambda a, b: a <= b),
            ("_eq", lambda a, b: a is not b),
        ],
    )
    def test_connectives(self, name: str, wrong: Callable[..., Any]) -> None:
        """A connective that is not Kleene's is found, such as `and` that returns True on None."""
        prover = Prover()
        prove_connectives(Translation(prover), {**three_valued, name: wrong})
        assert "refuted" == lemmas(prover)[Lemma.CONNECTIVES]
        assert "Kleene" in failures(prover)[0].says


class TestWhatRuns:
    """Functions that are not those of the text that was read."""

    def wrong(self, function: Any) -> set[str]:
        """The subjects of what is found of another function that opens requests."""
        made = compiled(EVICTED.kind, HARD)
        return {each.of for each in found(EVICTED, with_part(made, ("opens",), function))}

    def test_no_text(self) -> None:
        """A function without a text is found."""
        assert "opens" in self.wrong(lambda *_: False)
        assert "opens" in self.wrong(len)

    def test_another_text(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A function beside whose text another one is kept is found."""
        opens = compiled(EVICTED.kind, HARD).opens
        another = function_of("def f(e, here, t, w, n, r, q, o):\n    return True")
        monkeypatch.setitem(texts, another, texts[opens])
        assert {"opens"} == self.wrong(another)

    def test_other_connectives(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A function that calls other connectives than those that were compared is found."""
        opens = compiled(EVICTED.kind, HARD).opens
        assert isinstance(opens, FunctionType)
        other = FunctionType(opens.__code__, {**opens.__globals__, "_and": all})
        monkeypatch.setitem(texts, other, texts[opens])
        assert {"opens"} == self.wrong(other)


@cache
def native() -> Table:
    """The table of the native core."""
    return read_table(table_of(Bundle.CONTRACT), vocabulary())


def evicted() -> Row:
    """What the table says of evictions in hard_protected."""
    (mode,) = (each for each in native().modes if each.name == HARD)
    return mode.rows[native().kinds.index("block_evicted")]


def of_row(row: Row, table: Table | None = None) -> list[Failure]:
    """What is found of this row in the place of that of evictions."""
    prover = Prover()
    prove_row(Translation(prover), EVICTED, MODES[HARD].bundle(), table or native(), row)
    return failures(prover)


def with_rule(**parts: Any) -> Row:
    """The row of evictions with a changed first rule."""
    (place, rules), *others = evicted().own
    return evicted()._replace(own=[(place, [rules[0]._replace(**parts), *rules[1:]]), *others])


@pytest.mark.skipif(library() is None, reason="the native core is not built")
class TestTables:
    """Mistakes in the tables of the native core."""

    def test_unaltered(self) -> None:
        """The row as it is is proved."""
        assert [] == of_row(evicted())

    @pytest.mark.parametrize(
        ("old", "new"), [("Less", "AtMost"), ("AtMost", "Less"), ("Plus", "Minus")]
    )
    def test_operators(self, old: str, new: str) -> None:
        """An operator in the place of another is found."""
        steps = [(new if name == old else name, operands) for name, operands in native().steps]
        assert of_row(evicted(), native()._replace(steps=steps))

    def test_places(self) -> None:
        """Registers before and after the event, a field or a constant that is another is found."""
        table = native()
        slots = {**table.slots, "was": table.slots["now"], "now": table.slots["was"]}
        assert of_row(evicted(), table._replace(slots=slots))
        fields = [*table.fields[1:], table.fields[0]]
        assert of_row(evicted(), table._replace(fields=fields))
        constants = [(slot, value ^ 1) for slot, value in table.constants]
        assert of_row(evicted(), table._replace(constants=constants))

    def test_choices(self) -> None:
        """A choice that leads the other way is found."""
        steps = [
            (name, (*operands[:-2], operands[-1], operands[-2]) if name == "Holds" else operands)
            for name, operands in native().steps
        ]
        assert of_row(evicted(), native()._replace(steps=steps))

    def test_unset(self) -> None:
        """A register is not read after the event where the row does not set it."""
        found = of_row(evicted()._replace(claim=[]))
        assert "is read before it is set" in " ".join(failure.says for failure in found)

    @pytest.mark.parametrize(
        ("of", "change"),
        [
            ("claim", lambda row: row._replace(claim=row.claim[:-1])),
            ("request", lambda row: row._replace(request=[*row.request, row.request[0]])),
            ("claim", lambda row: row._replace(claim=[(99, row.claim[0][1])])),
            ("observers", lambda row: row._replace(scoped=[*row.scoped, row.own[0]])),
            ("opens", lambda row: row._replace(opens=row.own[0][1][0].when)),
            ("opens and assumptions", lambda row: row._replace(assumed=row.assumed[:-1])),
        ],
    )
    def test_rows(self, of: str, change: Callable[[Row], Row]) -> None:
        """A row that is dropped, doubled, or not of the specification is found."""
        assert of in {failure.of for failure in of_row(change(evicted()))}

    def test_rules(self) -> None:
        """A rule with another number, state, end, guard or register is found."""
        place, (first, *_) = evicted().own[0]
        changed = (
            with_rule(number=first.number + 1),
            with_rule(sources=first.sources ^ 1),
            with_rule(to=first.to ^ 1),
            with_rule(when=evicted().opens),
            with_rule(sets=[1, 1, 1, 1, 1, 1]),
            evicted()._replace(own=evicted().own[1:]),
        )
        for row in changed:
            assert {MODES[HARD].names()[place]} == {failure.of for failure in of_row(row)}

    def test_bytes(self) -> None:
        """A table that ends too soon or too late, or whose initial values differ, is found."""

        def results(change: Callable[[bytes], bytes]) -> set[str]:
            prover = Prover()
            prove_tables(Translation(prover), [], lambda bundle: change(table_of(bundle)))
            return {failure.of for failure in failures(prover)}

        assert set() == results(lambda content: content)
        assert {"table"} == results(lambda content: content[:-1])
        assert {"table"} == results(lambda content: content + bytes(1))
        first = len(CLAIM).to_bytes(8, "little") + bytes(8 * len(CLAIM))  # of requests, too
        other = first[:8] + (1).to_bytes(8, "little") + first[16:]
        assert {"registers of a claim", "registers of a request"} == results(
            lambda content: content.replace(first, other)
        )
