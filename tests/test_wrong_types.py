"""What a caller of the Python API gives of another type is bad input, with a plain message."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models import descriptor
from monitor import EventMonitor, InputError, TraceWriter, check_files
from monitor.samples import sample
from proofs import check_mode
from spec import (
    Depth,
    Event,
    Kind,
    Mode,
    SpecError,
    StreamMark,
    decided_by,
    drawing,
    find_mode,
    lower,
    parse_descriptor,
    parse_predicate,
    read_descriptor,
    why_missing,
)

TRACE = sample("hard_protected_refusal")
ODD: list[Any] = [5, 2.5, True, b"x", [], {}, object(), Mode]
NAMES: dict[str, Callable[[Any], object]] = {
    "check_files(mode)": lambda given: check_files(TRACE, given),
    "check_files(bundle)": lambda given: check_files(TRACE, bundle=given),
    "check_files(claim)": lambda given: check_files(TRACE, claim=given),
    "EventMonitor(mode)": EventMonitor,
    "EventMonitor(bundle)": lambda given: EventMonitor(bundle=given),
    "EventMonitor(claim)": lambda given: EventMonitor(claim=given),
    "EventMonitor(name)": lambda given: EventMonitor(name=given),
    "find_mode": find_mode,
    "drawing": drawing,
    "parse_predicate": parse_predicate,
    "descriptor": descriptor,
    "read_descriptor": read_descriptor,
    "lower(descriptor)": lambda given: lower(given, Mode.EXPIRING, Depth.NONE),
    "lower(evidence)": lambda given: lower(
        descriptor("continuum"), Mode.EXPIRING, Depth.NONE, evidence=given
    ),
    "decided_by": decided_by,
    "why_missing": lambda given: why_missing(given, "claim_identity"),
    "check_mode(mode)": check_mode,
    "check_mode(bundle)": lambda given: check_mode(Mode.BEST_EFFORT, given),
    "check_mode(engine)": lambda given: check_mode(Mode.BEST_EFFORT, engine=given),
    "check_mode(certificate)": lambda given: check_mode(Mode.BEST_EFFORT, certificate=given),
    "check_mode(trace)": lambda given: check_mode(Mode.BEST_EFFORT, trace=given),
}


@pytest.mark.parametrize("given", ODD, ids=lambda given: type(given).__name__)
@pytest.mark.parametrize("name", NAMES)
def test_refused(name: str, given: Any) -> None:
    """The message is one line that names the type and what to give."""
    with pytest.raises(SpecError, match="is of type") as caught:
        NAMES[name](given)
    assert type(given).__name__ in str(caught.value)
    assert caught.value.remedy


OPTIONAL = {"check_files(mode)", "check_files(claim)", "EventMonitor(mode)", "EventMonitor(claim)"}
OPTIONAL |= {"lower(evidence)", "check_mode(certificate)", "check_mode(trace)"}


@pytest.mark.parametrize("name", sorted({*NAMES} - OPTIONAL))
def test_none(name: str) -> None:
    """So is None, where it does not stand for something."""
    with pytest.raises(SpecError, match="is of type None"):
        NAMES[name](None)


@pytest.mark.parametrize(
    "given",
    [None, 5, b"x", [None], [b"x"], [[TRACE]], object(), io.BytesIO(b"x")],
    ids=lambda given: type(given).__name__,
)
def test_paths(given: Any) -> None:
    """What is to be checked is named by texts and paths; what is none of them is not looked for."""
    with pytest.raises(SpecError, match=r"of type .*; give a text or a pathlib\.Path"):
        check_files(given)


def test_several_paths() -> None:
    """Whatever can be gone through may hold them."""
    for given in (TRACE, str(TRACE), [TRACE], (str(TRACE), TRACE), iter([TRACE])):
        assert "kept" == check_files(given).verdict


@pytest.mark.parametrize(
    "judge", [lambda: EventMonitor(claim=""), lambda: check_files("", claim="")]
)
def test_no_claim(judge: Callable[[], object]) -> None:
    """An empty text is the id of no claim."""
    with pytest.raises(SpecError, match="claim is empty"):
        judge()


@pytest.mark.parametrize("name", ["mode", "depth", "bundle"])
def test_names_for_values(name: str) -> None:
    """A name equals the value of an enumeration and is not that value: a label by it would leave
    out what is forbidden."""
    given: dict[str, Any] = {"mode": Mode.EXPIRING, "depth": Depth.NONE}
    given[name] = {"mode": "expiring", "depth": "none", "bundle": "contract"}[name]
    with pytest.raises(SpecError, match=f"{name} is of type str; give a {name.title()}"):
        lower(descriptor("continuum"), **given)


def test_content() -> None:
    """The content of a descriptor is bytes."""
    with pytest.raises(SpecError, match="is of type str; give bytes"):
        parse_descriptor("schema: x", "a.yaml")  # type: ignore[arg-type]


@pytest.mark.parametrize("depth", [0, -1])
def test_depth(depth: int) -> None:
    """A search is of at least one event."""
    with pytest.raises(SpecError, match="depth is"):
        check_mode(Mode.BEST_EFFORT, depth=depth)


EVENTS: list[Any] = [
    *(None, 5, "block_evicted", b"x", [], [1], object(), {}, {1: 2}, {"kind": None}),
    *(Kind.BLOCK_EVICTED, Event, {"kind": Event}, Event(kind="x"), StreamMark(kind="x")),  # type: ignore[arg-type]
    *(Event(kind=5), Event(kind=Kind.BLOCK_EVICTED, block_ids=(object(),))),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("given", EVENTS, ids=range(len(EVENTS)))
def test_event(given: Any, tmp_path: Path) -> None:
    """What is no event is an InputError of whoever judges or writes events."""
    with pytest.raises(InputError, match="events:1: "):
        EventMonitor().feed(given)
    with TraceWriter(tmp_path / "t.jsonl") as trace, pytest.raises(InputError, match="jsonl:2: "):
        trace.write(given)


@pytest.mark.parametrize(
    "given",
    [None, 5, b"x", [], object(), io.StringIO(), io.BytesIO, True],
    ids=lambda given: type(given).__name__,
)
def test_target(given: Any) -> None:
    """A trace is written to a path, or to a file open for writing bytes."""
    with pytest.raises(SpecError, match="a path, or a file open for writing bytes"):
        TraceWriter(given)


def test_no_path() -> None:
    """A path that no system takes is an InputError."""
    with pytest.raises(InputError, match="cannot be made"):
        TraceWriter("a\0b")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"clock": 5}, "clock is of type int; give a function"),
        ({"clock": "now"}, "clock is of type str"),
        ({"observes": 5}, "observes is of type int; give the names"),
    ],
)
def test_options(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    """Other options of a writer are checked before its file is made."""
    with pytest.raises(SpecError, match=said):
        TraceWriter(tmp_path / "t.jsonl", **options)
    assert [] == [*tmp_path.iterdir()]
    TraceWriter(tmp_path / "t.jsonl", clock=time.monotonic_ns, observes=["block_evicted"]).close()
