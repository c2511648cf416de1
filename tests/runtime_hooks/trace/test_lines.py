"""The lines that a serving process writes are as their published schemas say."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from monitor.cli.pages import pages
from runtime_hooks.settings.config import Drill
from runtime_hooks.trace.inline import Inline
from runtime_hooks.trace.journal import Line
from spec.events.alphabet import Kind
from spec.events.canonical import EVENT_ENCODER
from tests.runtime_hooks.tiny import TinyEngine, claim
from tests.schemas import faults

DOCS = Path(__file__).parents[3] / "docs"
UNTOLD = Drill(suppress=(Kind.REQUEST_REFUSED,))


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DOCS / "schema" / name).read_bytes())
    return found


def lines(**settings: object) -> list[Line]:
    """Claims of several modes, one of which refuses a request, to the end of the engine."""
    engine = TinyEngine(**settings)
    for mode, more in (
        ("hard_protected", {}),
        ("demotable", {}),
        ("expiring", {"duration": "15 s"}),
        ("soft_priority", {"priority": 1}),
    ):
        assert engine.serve(mode, 10, claim(f"claim:{mode}", 10, mode, **more))
    engine.serve("rejected", 1, claim("claim:hard_protected", 1))
    engine.serve("active", 70)
    engine.controller.close()
    return engine.lines()


def verdicts(tmp_path: Path, **settings: object) -> list[dict[str, Any]]:
    """The file of verdicts on these."""
    inline = Inline("tiny", str(tmp_path / "verdicts"), str(tmp_path / "socket"))
    inline.take(lines(**settings))
    inline.close()
    return [json.loads(line) for line in (tmp_path / "verdicts").read_bytes().splitlines()]


def test_fresh() -> None:
    """The published schemas are those of what is written."""
    for name, page in pages().items():
        assert page == (DOCS / name).read_text(), "run python -m monitor docs"


@pytest.mark.parametrize("drill", [Drill(), UNTOLD], ids=["kept", "violated"])
def test_verdicts(tmp_path: Path, drill: Drill) -> None:
    """Live verdicts, the last of them, and the end."""
    told, live = verdicts(tmp_path, drill=drill), schema("live.json")
    assert [] == [fault for line in told for fault in faults(line, live, live)]
    assert {"resident-claims/live/2", "resident-claims/live-end/1"} == {
        line["schema"] for line in told
    }
    assert drill.suppress == () or "violated" in {line.get("verdict") for line in told}


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "resident-claims/live/1"},
        {"mode": "hard"},
        {"verdict": 1},
        {"final": "yes"},
        {"stream": "x" * 5_000},
        {"obligations": {"claim_identity": "kept"}},
        {"sequence": 1.5},
        {"state": None},
    ],
    ids=str,
)
def test_not_a_verdict(tmp_path: Path, change: dict[str, Any]) -> None:
    """What is no line of verdicts is none by the schema."""
    live = schema("live.json")
    good = verdicts(tmp_path)[0]
    assert [] == faults(good, live, live)
    assert faults({**good, **change}, live, live)
    assert faults({name: good[name] for name in good if name not in change}, live, live) or (
        change.keys() <= {"final", "sequence", "obligations"}
    )


def test_events() -> None:
    """The lines of the trace, its marks among them."""
    event = schema("event.json")
    written = [msgspec.json.decode(EVENT_ENCODER.encode(line)) for line in lines()]
    assert [] == [fault for line in written for fault in faults(line, event, event)]
    assert faults({"kind": "stream_opened", "claim_id": "c"}, event, event)
    assert faults({"kind": "claim_vanished"}, event, event)
