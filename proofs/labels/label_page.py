"""Writes labels as a page: the matrix of runtimes and modes, and what each label rests on."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import structs

from proofs.labels.label_text import LABEL_SAYS, codes, rank
from proofs.page.elements import chip, el, facts, table, words
from proofs.page.page import page_of
from spec.contract.obligations import OBLIGATIONS
from spec.language.prose import counted
from spec.lowering.vocabulary import Label

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from proofs.labels.view import RowView
    from proofs.page.elements import Child, Markup
    from spec.lowering.descriptor import Descriptor

__all__ = ["label_page"]

_LOOKS: Final = {
    Label.NATIVE_SOUND: "kept",
    Label.SOUND_WITH_ADAPTER: "kept",
    Label.APPROXIMATE: "some",
    Label.REJECTED: "violated",
}
_ENDS: Final = (
    "A label is no proof that a runtime behaves: it says what its descriptor declares, or what "
    "traces show (docs/lowering.md)."
)


class _Answer(NamedTuple):
    """A row, at all the depths at which it is the same; `place` is its id on the page."""

    place: str
    row: RowView
    depths: list[str]


_Matrix = dict[str, dict[str, list[_Answer]]]
"""The answers by runtime and mode, the best one first."""


def label_page(found: Sequence[Descriptor], rows: Sequence[RowView]) -> bytes:
    """The page of rows of these descriptors."""
    by: _Matrix = {}
    for (name, mode), of_mode in groupby(rows, key=lambda row: (row.descriptor, row.mode)):
        by.setdefault(name, {})[mode] = list(_answers(f"{name}-{mode}", list(of_mode)))
    best = Counter(answers[0].row.label for modes in by.values() for answers in modes.values())
    counts = ", ".join(f"{best[label]} {words(label)}" for label in Label if best[label])
    number = len({row.mode for row in rows})
    of = f"{counted(len(by), 'runtime')} in {counted(number, 'mode')}"
    alone = sum(len(answers) for modes in by.values() for answers in modes.values()) == 1
    sections = [_filters(rows), _matrix(found, by)]
    sections += [_runtime(each, by[each.name], alone=alone) for each in found]
    says = f"{of}, {rows[0].bundle} bundle. By their best label: {counts}."
    verdict = ("labels", "labels", says)
    return page_of(f"labels of {of}", verdict, sections, ends=_ENDS, scripts=("filters.js",))


def _answers(place: str, rows: Sequence[RowView]) -> Iterator[_Answer]:
    """The rows of a runtime in a mode, where several depths have the same row as one."""
    merged: list[_Answer] = []
    for row in sorted(rows, key=rank):
        same = structs.replace(row, depth="")
        there = next((a for a in merged if structs.replace(a.row, depth="") == same), None)
        if there is None:
            merged.append(_Answer(f"{place}-{len(merged)}", row, [row.depth]))
        else:
            there.depths.append(row.depth)
    yield from merged


def _label(row: RowView) -> Markup:
    return chip(_LOOKS.get(Label(row.label), "unknown"), row.label)


def _depths(answer: _Answer) -> str:
    return ", ".join("no adapter" if each == "none" else words(each) for each in answer.depths)


def _marks(answer: _Answer) -> dict[str, str | bool]:
    """What the filters look at."""
    row = answer.row
    return {
        "data_row": True,
        "data_runtime": row.descriptor,
        "data_mode": row.mode,
        "data_answer": row.label,
        "data_depth": " ".join(answer.depths),
    }


def _filters(rows: Sequence[RowView]) -> Markup:
    """The form of the filters, which is there where a script runs."""
    choices: dict[str, list[str]] = {
        "runtime": [row.descriptor for row in rows],
        "mode": [row.mode for row in rows],
        "answer": [label for label in Label if any(row.label == label for row in rows)],
        "depth": [row.depth for row in rows],
    }
    labels = [
        el("label", f"{name.title()} ", el("select", _options(given), name=name))
        for name, given in choices.items()
    ]
    count = el("output", id="match-count")
    return el("form", labels, count, id="filters", role="search", aria_label="Filters", hidden=True)


def _options(names: Iterable[str]) -> Iterator[Markup]:
    yield el("option", "all", value="")
    for name in dict.fromkeys(names):
        yield el("option", "no adapter" if name == "none" else name, value=name)


def _matrix(found: Sequence[Descriptor], by: _Matrix) -> Markup:
    """A cell has each label of a runtime in a mode, as a link to what it rests on."""
    modes = list(dict.fromkeys(mode for row in by.values() for mode in row))
    head = [el("th", words(mode), scope="col", data_column=mode) for mode in modes]
    body = []
    for each in found:
        name = el("a", each.name, href=f"#{each.name}")
        cells = [el("td", _cell(by[each.name].get(mode, ())), data_column=mode) for mode in modes]
        first = el("th", name, el("small", each.version), scope="row")
        body.append(el("tr", first, cells, data_group=True))
    top = el("thead", el("tr", el("th", "runtime", scope="col"), head))
    of = "Labels of runtimes and modes"
    made = el("table", top, el("tbody", body), class_="matrix")
    used = {answer.row.label for row in by.values() for of_ in row.values() for answer in of_}
    legend = facts((words(label), LABEL_SAYS[label]) for label in Label if label in used)
    wide = el("div", made, class_="wide", tabindex="0", role="region", aria_label=of)
    return el("section", wide, legend, class_="panel")


def _cell(answers: Sequence[_Answer]) -> Iterator[Markup]:
    for _, group in groupby(answers, key=lambda answer: answer.row.label):
        same = list(group)
        links = [el("a", _depths(a), href=f"#{a.place}", **_marks(a)) for a in same]
        yield el("div", _label(same[0].row), links, data_group=True)


def _runtime(each: Descriptor, by: Mapping[str, Sequence[_Answer]], *, alone: bool) -> Markup:
    about = el("p", f"{each.runtime}, {each.version}. {each.about}", class_="more")
    answers = [_answer(answer, opened=alone) for of_mode in by.values() for answer in of_mode]
    head = el("h2", each.name)
    return el("section", head, about, answers, class_="panel", id=each.name, data_group=True)


def _answer(answer: _Answer, *, opened: bool) -> Markup:
    """What is supplied, what is missing, and the evidence."""
    row = answer.row
    lacks = f"; lacks {codes(row.missing)}" if row.missing else ""
    head = el(
        "summary",
        *(words(row.mode), " ", _label(row), " "),
        el("span", f"{_depths(answer)}{lacks}", class_="more"),
    )
    inner = el("div", _rests(row), id=answer.place, class_="rests")
    return el("details", head, inner, open=opened, **_marks(answer))


def _rests(row: RowView) -> Iterator[Markup]:
    yield el("p", row.decided)
    if row.forbidden:
        yield el("p", f"Forbidden: {', '.join(row.forbidden)}.")
    if row.evidence:
        yield table(
            ("supplied", "by", "rests on", "evidence"),
            [
                [
                    _named(each.obligation),
                    "the runtime" if each.depth == "none" else words(each.depth),
                    f"{each.rests_on}, {words(each.scope)}",
                    _place(each.anchor, lost=each.nowhere),
                ]
                for each in row.evidence
            ],
            of=f"What {row.descriptor} supplies for {row.mode} at {row.depth}",
        )
    if row.conditions:
        yield table(
            ("provided that", "declared by"),
            [[words(c.condition), _place(c.anchor, lost=c.nowhere)] for c in row.conditions],
            of=f"Conditions of {row.descriptor} for {row.mode} at {row.depth}",
        )
    if row.lacking:
        yield table(
            ("missing", "why", "to supply it"),
            [[_named(each.obligation), each.why, each.upgrade] for each in row.lacking],
            of=f"What {row.descriptor} lacks for {row.mode} at {row.depth}",
        )
    if row.otherwise is not None:
        lacks = f", which lacks {codes(row.otherwise.missing)}" if row.otherwise.missing else ""
        under = f"Under the {row.otherwise.bundle} bundle it is {words(row.otherwise.label)}"
        yield el("p", f"{under}{lacks}.")


def _named(obligation: str) -> Markup:
    code = OBLIGATIONS[obligation].code if obligation in OBLIGATIONS else ""
    return el("span", f"{words(obligation)} ", el("small", code))


def _place(anchor: str, *, lost: bool) -> Child:
    return f"{anchor or 'no anchor'}{' (points nowhere)' if lost else ''}"
