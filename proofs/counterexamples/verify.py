"""Verifies a suite that was written before against this specification, and names what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from models.registry import RUNTIMES, inferences, runtime
from monitor import InputError, check_files
from proofs.counterexamples.labels import labelled
from proofs.counterexamples.suite import INDEX, SCHEMA, Row, Suite, concludes_of
from proofs.product.membership import is_run
from spec.digest import SHORT, spec_digest
from spec.events.canonical import Event
from spec.files.json_text import decode_json
from spec.files.plain import open_plain
from spec.language.called import called
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from models.framework.inference import Inference

__all__ = ["Change", "read_suite", "verify"]

_LARGEST: Final = 64 << 20


class Change(msgspec.Struct, frozen=True):
    """What of a row is not as it was written."""

    inference: str
    what: str
    was: str
    now: str


def read_suite(folder: Path) -> Suite:
    """The index of a suite.

    Raises:
        SpecError: there is none, or it is none of this form.
    """
    path = folder / INDEX
    try:
        with open_plain(path) as file:
            text = file.read(_LARGEST)
        suite = decode_json(text, Suite)
    except (OSError, ValueError) as problem:
        cause = f"cannot read {path}: {' '.join(str(problem).split())}"
        again = called("proofs counterexamples -o DIR")
        raise SpecError(cause, f"{again} writes a suite") from None
    if suite.schema != SCHEMA:
        raise SpecError(f"{path} is no {SCHEMA}", "write it again with this version")
    if not suite.rows:
        raise SpecError(f"{path} has no rows", "write it again")
    return suite


def verify(folder: Path, suite: Suite) -> list[Change]:
    """What changed: the specification, labels, verdicts, and runs that are none of the model now.

    Raises:
        SpecError: a row names a trace outside the folder.
    """
    known = {each.name: each for each in inferences()}
    homes = {each.name: name for name in RUNTIMES for each in runtime(name).inferences}
    changes = []
    if suite.spec != spec_digest():
        changes.append(Change("", "specification", suite.spec[:SHORT], spec_digest()[:SHORT]))
    for row in suite.rows:
        inference = known.get(row.inference)
        if inference is None:
            changes.append(Change(row.inference, "inference", "in the suite", "not known"))
            continue
        changes += _changed(folder, row, inference, homes[row.inference])
    listed = {row.inference for row in suite.rows}
    about = {homes[name] for name in listed & set(homes)}
    changes += [
        Change(each.name, "inference", "not in the suite", name)
        for name in RUNTIMES
        if name in about
        for each in runtime(name).inferences
        if each.name not in listed
    ]
    return changes


def _changed(folder: Path, row: Row, inference: Inference, home: str) -> list[Change]:
    label = labelled(inference)
    concludes = concludes_of(inference.concludes, str(inference.mode))
    found = [
        ("runtime", row.runtime, home),
        ("feature", row.feature, inference.feature),
        ("mode", row.mode, str(inference.mode)),
        ("concludes", _named(row.concludes), _named(concludes)),
        ("parent", row.parent or "", inference.parent or ""),
        ("label", row.label or "", str(label.label or "")),
        ("result", row.result, label.result),
        ("missing", ", ".join(row.missing), ", ".join(label.missing)),
    ]
    if row.trace is None:
        found += [("verdict", row.verdict, "none"), ("events", str(row.events), "0")]
    if row.trace is not None:
        if row.trace != row.trace.rpartition("/")[2] or row.trace.startswith("."):
            raise SpecError(f"the trace {row.trace!r} is not in the folder of the suite")
        found += _of_trace(folder / row.trace, row, inference)
    return [Change(row.inference, what, was, now) for what, was, now in found if was != now]


def _named(concludes: Mapping[Any, str]) -> str:
    return ", ".join(f"{what} {name}" for what, name in concludes.items())


def _of_trace(path: Path, row: Row, inference: Inference) -> list[tuple[str, str, str]]:
    try:
        report = check_files([str(path.absolute())], row.mode)  # "-" would be standard input
        events = [msgspec.json.decode(line, type=Event) for line in path.read_bytes().splitlines()]
    except (OSError, InputError, ValueError) as problem:
        return [("trace", "readable", " ".join(str(problem).split()))]
    yes = "a run of the model"
    holds = is_run(inference.model(), inference.shim, events)
    return [
        ("verdict", row.verdict, str(report.verdict)),
        ("events", str(row.events), str(len(events))),
        ("trace", yes, yes if holds else "no run of the model"),
    ]
