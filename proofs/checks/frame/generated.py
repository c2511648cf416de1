"""Proves that what runs equals the terms: the judge's functions, and the native core's tables.

For every kind of event, mode and bundle, the source of each function that `spec.stream.generate`
makes is read back, and so are the tables of `monitor.native.tables`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final

from monitor.native.binding import table_of, vocabulary
from proofs.checks.frame.reader import CLAIM, REQUEST, Reader, Refused, Taken
from proofs.checks.frame.statements import Lemma
from proofs.checks.frame.table_reader import TableReader, read_table
from proofs.checks.frame.three_values import connectives
from proofs.checks.frame.translation import (
    Comparison,
    Situation,
    following,
    ledger,
    rules,
    terms_of,
)
from spec.contract.facts import FACTS_ARE_FACTS
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import Kind
from spec.language.terms import TRUE, Scope
from spec.stream import generate
from spec.stream.generate import assumed, compiled, texts, three_valued
from spec.stream.scopes import DELIVERY

if TYPE_CHECKING:
    from proofs.checks.frame.reader import Assigned
    from proofs.checks.frame.table_reader import Row, Table
    from proofs.checks.frame.translation import Translation
    from spec.claims.states import Mode
    from spec.contract.facts import Assumption
    from spec.language.machine import Observer
    from spec.language.terms import Term
    from spec.stream.generate import Compiled, Update, Watch

__all__ = ["prove_connectives", "prove_functions", "prove_generated", "prove_row", "prove_tables"]

_LEDGERS: Final = (
    ("claim", Scope.WAS, Scope.NOW),
    ("request", Scope.REQ_WAS, Scope.REQ),
)
Assumed = Sequence[tuple["Assumption", object, Callable[..., Any]]]


def prove_connectives(
    translation: Translation, functions: Mapping[str, Callable[..., Any]] = three_valued
) -> None:
    """Compare the connectives that generated functions call with the translation to Z3."""
    for name, wrong in connectives(functions):
        translation.prover.count(Lemma.CONNECTIVES, name)
        if wrong:
            translation.refuse(Lemma.CONNECTIVES, name, "", wrong)


def prove_generated(translation: Translation, modes: Sequence[Mode]) -> None:
    """Prove that the functions that the judge calls equal their terms."""
    translation.same(Lemma.RUNS, "registers", "of a claim", generate.CLAIM, CLAIM)
    translation.same(Lemma.RUNS, "registers", "of a request", generate.REQUEST, REQUEST)
    for mode, bundle, observers in _bundles(modes):
        for kind in Kind:
            situation, found = Situation(kind, mode), compiled(kind, mode, bundle)
            prove_functions(translation, situation, observers, found)


def prove_functions(
    translation: Translation,
    situation: Situation,
    observers: Sequence[Observer],
    functions: Compiled,
    assumptions: Assumed | None = None,
) -> None:
    """Prove that the functions of one kind of event, mode and bundle equal their terms.

    Args:
        assumptions: by default those of the kind and mode (`spec.stream.generate.assumed`).
    """
    if assumptions is None:
        assumptions = assumed(situation.kind, situation.mode)
    read = _Functions(translation, situation)
    for of, before, _ in _LEDGERS:
        update: Update | None = getattr(functions, of)
        two, three = (None, None) if update is None else (update.two, update.three)
        if translation.is_read(of, following(before).values(), situation, two, three):
            continue
        translation.prove(Lemma.LEDGERS, of, situation, read.ledger(of, two, before, three=False))
        more = read.ledger(of, three, before, three=True)
        translation.prove(Lemma.THREE, of, situation, more, three=True)
    for watches, alone in ((functions.own, True), (functions.scoped, False)):
        at, followed = {watch.place: watch for watch in watches}, _followed(observers, alone)
        known = sorted({*at} & {*followed})
        translation.same(Lemma.RUNS, "observers", str(situation), [w.place for w in watches], known)
        for place in followed:
            name, watch = observers[place].name, at.get(place)
            terms = terms_of(observers[place])
            if not translation.is_read(name, terms, situation, alone, _made_of(watch)):
                step = read.step(observers[place], watch, alone=alone)
                translation.prove(Lemma.RULES, name, situation, step)
                more = read.rules(observers[place], watch, alone=alone)
                translation.prove(Lemma.THREE, name, situation, more, three=True)
    if translation.is_new(situation, functions.opens, functions.opens_three, *assumptions):
        translation.prove(
            Lemma.OPENING, "opens", situation, read.opens(functions.opens, three=False)
        )
        more = read.opens(functions.opens_three, three=True)
        translation.prove(Lemma.THREE, "opens", situation, more, three=True)
        translation.prove(
            Lemma.THREE, "assumptions", situation, read.assumed(assumptions), three=True
        )


class _Functions:
    """Reads the functions of one kind of event, and compares each with its term."""

    def __init__(self, translation: Translation, situation: Situation) -> None:
        self.translation, self.situation = translation, situation

    def text(self, of: str, function: Callable[..., Any]) -> str:
        """The source of a function, which must be the one that runs."""
        text = texts.get(function, "")
        if self.translation.is_new(function):
            self.translation.same(
                Lemma.RUNS, of, str(self.situation), code_of(function), code_in(text)
            )
        return text

    def ledger(
        self, of: str, function: Callable[..., Any] | None, before: Scope, *, three: bool
    ) -> Iterator[Comparison]:
        """The registers that a function assigns; None leaves them all as they are."""
        names = ("w", "n") if before is Scope.WAS else ("r", "q")
        found: Assigned = ()
        if function is not None:
            found = Reader(three=three).ledger(self.text(of, function), *names)
        yield from ledger(of, found, before)

    def step(self, observer: Observer, watch: Watch | None, *, alone: bool) -> Iterator[Comparison]:
        """The rules of the function that takes a step; None takes none."""
        taken: Sequence[Taken] = ()
        if watch is not None:
            taken = Reader(observer=observer).rules(self.text(observer.name, watch.step))
        yield from rules(observer, taken, alone=alone)

    def rules(
        self, observer: Observer, watch: Watch | None, *, alone: bool
    ) -> Iterator[Comparison]:
        """The same in three values, where each rule has functions of its own."""
        name, reader, taken = observer.name, Reader(three=True, observer=observer), list[Taken]()
        for rule in () if watch is None else watch.rules:
            when = reader.truth(self.text(name, rule.holds))
            values = None if rule.sets is None else reader.terms(self.text(name, rule.sets))
            taken.append(Taken(rule.number, rule.sources, rule.to, when, values))
        yield from rules(observer, taken, alone=alone)

    def opens(self, function: Callable[..., Any], *, three: bool) -> Iterator[Comparison]:
        """Whether a request is followed from the event on."""
        read = Reader(three=three).truth(self.text("opens", function))
        yield Comparison("opens", "", read, DELIVERY.term("opens"))

    def assumed(self, found: Assumed) -> Iterator[Comparison]:
        """The assumptions; those that are not evaluated hold."""
        read = {
            each.name: Reader(three=True).truth(self.text(each.name, function))
            for each, _, function in found
        }
        yield from _assumptions([read.get(each.name, TRUE) for each in FACTS_ARE_FACTS])


def _made_of(watch: Watch | None) -> tuple[object, ...]:
    """What an observer runs; equal texts are one function."""
    if watch is None:
        return ()
    rules = ((r.number, r.sources, r.to, r.holds, r.sets) for r in watch.rules)
    return (watch.step, *rules)


def code_in(text: str) -> list[object]:
    """The code of the functions that a text defines, with what such a function may have."""
    parts = compile(text, "<string>", "exec").co_consts
    return [part for part in parts if isinstance(part, CodeType)] + [None, None, three_valued]


def code_of(function: Callable[..., Any]) -> list[object]:
    """The same of a function: its code, its defaults and closure, and the connectives it calls."""
    if not isinstance(function, FunctionType):
        return [function]
    calls = {name: function.__globals__.get(name) for name in three_valued}
    return [function.__code__, function.__defaults__, function.__closure__, calls]


def _followed(observers: Sequence[Observer], alone: bool) -> list[int]:
    return [n for n, observer in enumerate(observers) if alone or observer.per_request]


def prove_tables(
    translation: Translation,
    modes: Sequence[Mode],
    written: Callable[[Bundle], bytes] = table_of,
) -> None:
    """Prove that the tables of the native core, which must be built, equal the terms.

    Args:
        written: returns the table of a bundle.
    """
    for bundle in Bundle:
        try:
            found = read_table(written(bundle), vocabulary())
        except Refused as refused:
            translation.refuse(Lemma.TABLES, "table", str(bundle), str(refused))
            continue
        for what, stated, expected in _listed(found):
            translation.same(Lemma.TABLES, what, str(bundle), stated, expected)
        for mode, each, observers in _bundles(modes):
            if mode is None or each is bundle:
                _table_of_mode(translation, mode, observers, found, bundle)


def _table_of_mode(
    translation: Translation,
    mode: Mode | None,
    observers: Sequence[Observer],
    found: Table,
    bundle: Bundle,
) -> None:
    of = f"{mode}, {bundle}"
    row = next((each for each in found.modes if each.name == (mode or "")), None)
    if row is None or sorted(found.kinds) != sorted(Kind) or len(row.rows) != len(found.kinds):
        translation.refuse(Lemma.TABLES, "modes", of, "there is no row for the mode and each kind")
        return
    numbers = [[*OBLIGATIONS].index(observer.name) for observer in observers]
    translation.same(Lemma.TABLES, "obligations", of, row.obligations, numbers)
    constants = Situation(Kind.CLAIM_REGISTERED, mode).constants
    stated = {"watched": row.watched, "ranked": row.ranked}
    translation.same(Lemma.TABLES, "constants", of, stated, {n: constants[n] for n in stated})
    counts = [len(observer.registers) for observer in observers]
    begin = [sum(counts[:place]) for place in range(len(counts))]
    translation.same(Lemma.TABLES, "registers of observers", of, row.offsets, begin)
    first = [int(r.initial) for observer in observers for r in observer.registers]
    translation.same(Lemma.TABLES, "registers of observers", of, row.registers, first)
    for kind, each in zip(found.kinds, row.rows, strict=True):
        prove_row(translation, Situation(Kind(kind), mode), observers, found, each)


def prove_row(
    translation: Translation,
    situation: Situation,
    observers: Sequence[Observer],
    of: Table,
    row: Row,
) -> None:
    """Prove that what a table says of one kind of event equals its terms."""
    read = _Row(translation, situation, of)
    for three in (False, True):
        for name, before, after in _LEDGERS:
            found = read.ledger(name, row, before, after, three=three)
            translation.prove(Lemma.TABLES, name, situation, found, three=three)
        rest = read.terms(row)
        translation.prove(Lemma.TABLES, "opens and assumptions", situation, rest, three=three)
        for rows, alone in ((row.own, True), (row.scoped, False)):
            places, followed = [place for place, _ in rows], _followed(observers, alone)
            known = sorted({*places} & {*followed})
            translation.same(Lemma.TABLES, "observers", str(situation), places, known)
            for place in followed:
                taken = read.rules(observers[place], row, place, alone=alone, three=three)
                translation.prove(
                    Lemma.TABLES, observers[place].name, situation, taken, three=three
                )


class _Row:
    """Reads what a table says of one kind of event, and compares what was not compared yet."""

    def __init__(self, translation: Translation, situation: Situation, of: Table) -> None:
        self.translation, self.situation, self.table = translation, situation, of

    def ledger(
        self, of: str, row: Row, before: Scope, after: Scope, *, three: bool
    ) -> Iterator[Comparison]:
        """The registers of a ledger."""
        unset = _unset(row, alone=before is Scope.WAS)
        found = tuple(TableReader(self.table, None, unset).ledger(getattr(row, of), after))
        terms = following(before).values()
        if not self.translation.is_read(of, terms, self.situation, three, found):
            yield from ledger(of, found, before)

    def terms(self, row: Row) -> Iterator[Comparison]:
        """Whether a request is followed, and the assumptions."""
        opens = TableReader(self.table, None, _unset(row, alone=False)).truth(row.opens)
        yield Comparison("opens", "", opens, DELIVERY.term("opens"))
        before = TableReader(self.table, None, _unset(row._replace(claim=[]), alone=True))
        read = [TRUE if each is None else before.truth(each) for each in row.assumed]
        yield from _assumptions(read)

    def rules(
        self, observer: Observer, row: Row, place: int, *, alone: bool, three: bool
    ) -> Iterator[Comparison]:
        """The rules of an observer."""
        reader = TableReader(self.table, observer, _unset(row, alone=alone))
        rows = dict(row.own if alone else row.scoped).get(place, ())
        taken, terms = reader.rules(rows), terms_of(observer)
        key = (alone, three, taken)
        if not self.translation.is_read(observer.name, terms, self.situation, *key):
            yield from rules(observer, taken, alone=alone)


def _unset(row: Row, *, alone: bool) -> frozenset[tuple[Scope, str]]:
    """What has no value in the row of numbers: registers after the event but those that it changes;
    and in the scope of the claim itself what is of a request.
    """
    claim, request = dict(row.claim), {} if alone else dict(row.request)
    found = {(Scope.NOW, each.name) for place, each in enumerate(CLAIM) if place not in claim}
    found |= {(Scope.REQ, each.name) for place, each in enumerate(REQUEST) if place not in request}
    if alone:
        found |= {(Scope.EVENT, "here"), *((Scope.REQ_WAS, each.name) for each in REQUEST)}
    return frozenset(found)


def _listed(found: Table) -> Iterator[tuple[str, object, object]]:
    """What a table states beside its terms, and what the specification has."""
    yield "registers of a claim", found.claim, [int(r.initial) for r in CLAIM]
    yield "registers of a request", found.request, [int(r.initial) for r in REQUEST]
    yield "obligations", [each.name for each in found.obligations], [*OBLIGATIONS]
    verdicts = vocabulary()["verdicts"]
    for row in found.obligations:
        observer = OBLIGATIONS.get(row.name)
        if observer is not None:
            states = [verdicts.index(state.verdict) for state in observer.states]
            yield row.name, row.verdicts, states
            expected = (len(observer.registers), observer.per_request)
            yield row.name, (row.registers, row.per_request), expected


def _assumptions(read: Sequence[Term]) -> Iterator[Comparison]:
    """Each assumption about facts."""
    if len(read) != len(FACTS_ARE_FACTS):
        raise Refused(f"there are {len(read)} assumptions")
    for each, term in zip(FACTS_ARE_FACTS, read, strict=True):
        yield Comparison(each.name, "", term, each.holds)


def _bundles(modes: Sequence[Mode]) -> Iterator[tuple[Mode | None, Bundle, tuple[Observer, ...]]]:
    """The bundles of some modes, and claims that no mode judges."""
    yield None, Bundle.CONTRACT, ()
    for mode in modes:
        for bundle in Bundle:
            yield mode, bundle, MODES[mode].bundle(bundle)
