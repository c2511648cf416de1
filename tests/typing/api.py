"""Typed calls of the Python API: `make lint` checks the types, tests/test_typing.py runs them.

An `# type: ignore` here is a call that must not pass: mypy reports one that is not needed.
"""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import TYPE_CHECKING, assert_type

import models
import monitor
import spec
from monitor.samples import sample

if TYPE_CHECKING:
    import proofs

__all__ = ["check_a_file", "judge_events", "label_a_descriptor", "state_a_claim", "write_a_trace"]


def check_a_file() -> None:
    """One path, several, a mode, its name; what a report holds."""
    path = sample("hard_protected_victim")
    report = monitor.check_files(path, "hard_protected")
    assert_type(report, monitor.Report)
    assert_type(report.verdict, monitor.ModeVerdict)
    assert_type(report.obligations, dict[str, spec.Verdict])
    assert_type(monitor.EXIT_CODES[report.verdict], int)
    for claim in report.claims:
        assert_type(claim, monitor.ClaimReport)
        for found in claim.obligations.values():
            assert_type(found, monitor.ObligationReport)
            assert_type(found.at, monitor.Place | None)
    again = monitor.check_files(
        [path, str(path)],
        spec.Mode.HARD_PROTECTED,
        bundle=spec.Bundle.PAPER,
        claim="a",
        strict=True,
        lenient=True,
    )
    assert_type(again, monitor.Report)


def judge_events() -> None:
    """Events, marks and fields."""
    judge = monitor.EventMonitor("demotable", claim="a", strict=True, name="engine")
    judge.feed(spec.StreamMark(kind=spec.Mark.STREAM_OPENED, sequence=0))
    judge.feed(spec.Event(kind=spec.Kind.BLOCK_EVICTED, sequence=1, block_ids=(1,)))
    judge = monitor.EventMonitor.restore(judge.snapshot(stream="engine"))
    judge.feed({"kind": "block_evicted", "sequence": 2, "block_ids": [2]})
    assert_type(judge.violations(), list[monitor.Violation])
    assert_type(judge.finish(), monitor.Report)


def write_a_trace() -> None:
    """To a path or a file, with a clock."""
    file = io.BytesIO()
    with monitor.TraceWriter(file, stream="s", observes=spec.FACTS, clock=time.monotonic_ns) as t:
        assert_type(t, monitor.TraceWriter)
        t.write(spec.Event(kind=spec.Kind.BLOCK_EVICTED, block_ids=(1,)))
        t.write({"kind": spec.Kind.BLOCK_EVICTED, "block_ids": [2]})
    t.close(complete=False)


def label_a_descriptor() -> None:
    """A shipped descriptor and one from its text."""
    known = models.descriptor(models.NAMES[0])
    assert_type(known, spec.Descriptor)
    row = spec.lower(known, spec.Mode.OFFLOADABLE, spec.Depth.BACKEND_PATCH, spec.Bundle.PAPER)
    assert_type(row, spec.Row)
    assert_type(row.label, spec.Label)
    assert_type([spec.why_missing(row, each) for each in row.missing], list[str])
    assert_type(spec.decided_by(row), str)
    path = Path(models.__file__).parent / "descriptors" / f"{models.NAMES[0]}.yaml"
    assert_type(spec.read_descriptor(path), spec.Descriptor)
    assert_type(spec.parse_descriptor(path.read_bytes(), "d.yaml"), spec.Descriptor)


def state_a_claim() -> None:
    """A claim, its mode and its obligations."""
    claim = spec.ResidentClaim(
        claim_id="a",
        owner_scope="tenant",
        cache_identity=spec.CacheIdentity(
            key_domain="k", model_id="m", tokenizer_domain="t", namespace="", block_size=16
        ),
        object_id="p",
        materialization_predicate=spec.LeadingPrefixAtLeast(2),
        footprint_blocks=2,
        protection_mode=spec.Mode.EXPIRING,
        duration=spec.Duration.parse("15 s"),
    )
    assert_type(claim.duration, spec.Duration | None)
    assert_type(spec.parse_predicate("contiguous_range(1, 2)"), spec.MaterializationPredicate)
    mode = spec.find_mode("expiring")
    assert_type(mode, spec.ModeSpec)
    assert_type(mode.bundle(), tuple[spec.Observer, ...])
    assert_type(spec.MODES[spec.Mode.EXPIRING], spec.ModeSpec)
    assert_type(spec.OBLIGATIONS[mode.names()[0]].name, str)
    assert_type(spec.drawing("lifecycle").mermaid, str)


def prove_a_mode() -> None:
    """Not run here: docs/python-api.md proves one."""
    assert_type(proofs.check_mode(spec.Mode.BEST_EFFORT), proofs.Check)


def what_must_not_pass() -> None:
    """Not run: each of these is a mistake that a type checker finds."""
    monitor.check_file("a")  # type: ignore[attr-defined]
    monitor.check_files(1, "demotable")  # type: ignore[arg-type]
    monitor.EventMonitor("demotable").feed("block_evicted")  # type: ignore[arg-type]
    monitor.TraceWriter("a", "s")  # type: ignore[call-arg]
    spec.Event(kind="block_evicted")  # type: ignore[arg-type]
    spec.Event(kind=spec.Kind.BLOCK_EVICTED, block_id=7)  # type: ignore[call-arg]
    spec.lower("lmcache", spec.Mode.OFFLOADABLE, spec.Depth.NONE)  # type: ignore[arg-type]
    models.describe("lmcache")  # type: ignore[attr-defined]
    spec.Modes  # type: ignore[attr-defined]  # noqa: B018
