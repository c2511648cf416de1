"""Each claim judged by the mode that it states: `check` without a mode."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from monitor.check.events import EventMonitor
from monitor.check.files import check
from monitor.input.dialects import Reader
from monitor.input.errors import InputError
from monitor.report.verdict import ClaimReport, ModeChoice, Report
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.events.canonical import EVENT_ENCODER, Event
from spec.events.fields import IDENTITY, fields_of
from spec.stream.breaks import Limits, Line
from tests.monitor.traces import CLAIM, OTHER, RUN, Trace, text, write
from tests.monitor.traces_allocator import allocator, allocator_refusal
from tests.monitor.traces_canonical import about, canonical, canonical_claim, canonical_refusal
from tests.monitor.traces_connector import connector_success
from tests.monitor.traces_reference import reference_success
from tests.streams.wide import told

RECORDED = Path(__file__).parents[4] / "shared" / "traces"
needs_recordings = pytest.mark.skipif(
    not RECORDED.is_dir(), reason="the recorded traces are not beside this checkout"
)
SEEDS = 60
PREDICATE = "leading_prefix_at_least(1)"
VICTIM = canonical("block_evicted", block_ids=[100])


def judge(content: bytes, mode: Mode | None = None, **options: object) -> Report:
    return check(["-"], mode, Bundle.CONTRACT, stdin=io.BytesIO(content), **options)


def each(trace: Trace, **options: object) -> Report:
    return judge(text(trace), **options)


def written(lines: list[Line]) -> bytes:
    """A stream as its file has it, without what the canonical form has no words for."""
    return b"".join(line for line in map(_line, lines) if _is_read(line))


def _is_read(line: bytes) -> bool:
    with contextlib.suppress(InputError):
        Reader("-").feed(line, 1)
        return True
    return False


def _line(line: Line) -> bytes:
    if line.mark is not None:
        said: dict[str, Any] = {
            "kind": line.mark.kind,
            "sequence": line.sequence,
            "time_ns": line.time_ns,
        }
        if line.observes is not None:
            said["observes"] = sorted(line.observes)
        return json.dumps({n: v for n, v in said.items() if v is not None}).encode() + b"\n"
    (event,) = line.events
    allowed = (*fields_of(event.kind), *IDENTITY, "kind", "claim_id")
    plain = {f.name: f.default for f in msgspec.structs.fields(Event) if f.name not in allowed}
    stamp = {"sequence": line.sequence, "time_ns": line.time_ns}
    event = msgspec.structs.replace(event, **{**plain, **stamp})
    return EVENT_ENCODER.encode(event) + b"\n"


def mingled(chance: Random, modes: tuple[Mode, ...], silent: float) -> bytes:
    """A stream of a whole runtime whose claims state some of these modes, a few of them none, and
    a few another one later.
    """
    asked: dict[str | None, Mode | None] = {}
    lines = []
    for line in told(chance, modes[0]):
        events = []
        for event in line.events:
            if event.mode is not None:
                none = chance.random() < silent
                mode = asked.setdefault(event.claim_id, None if none else chance.choice(modes))
                if mode is not None and chance.random() < silent / 4:
                    mode = chance.choice(modes)
                event = msgspec.structs.replace(event, mode=mode and mode.value)
            events.append(event)
        lines.append(line._replace(events=tuple(events)))
    return written(lines)


def streams() -> Iterator[bytes]:
    for seed in range(SEEDS):
        chance = Random(seed)
        modes = tuple(chance.sample(list(Mode), chance.choice((1, 2, 2, 3))))
        yield mingled(chance, modes, chance.choice((0.0, 0.0, 0.2)))


def _early(claim: ClaimReport) -> bool:
    """Whether a report came before the claim stated its mode: then no mode can judge it."""
    return "RC202" in {each.code for each in claim.obligations.values()}


class TestLikeByMode:
    """No claim is judged otherwise than `--mode` judges it, unless reports came before its mode."""

    @pytest.mark.slow
    def test_equal(self) -> None:
        """On streams of a whole runtime whose claims state several modes each claim, and where
        every claim states one each mode, comes to what it comes to when its mode is asked for."""
        several = silent = violated = kept = 0
        for content in streams():
            auto = judge(content)
            if any(map(_early, auto.claims)):
                continue
            away = [*auto.unjudged.claims, *auto.unjudged.turned_away]
            left = {(c.claim_id, c.stream) for c in away}
            for mode in Mode:
                one = judge(content, mode)
                expected = [c for c in one.claims if (c.claim_id, c.stream) not in left]
                own = [c for c in auto.claims if c.mode is mode]
                own = [c for c in own if (c.claim_id, c.stream) not in left]
                assert expected == own
                found = [part for part in auto.modes if part.mode is mode]
                assert bool(expected) == bool(found)
                if not left:
                    assert found == (one.modes if expected else [])
            verdicts = {part.verdict for part in auto.modes}
            if "violated" in verdicts:
                assert "violated" == auto.verdict
            elif auto.unjudged.claims or verdicts != {"kept"}:
                assert "inconclusive" == auto.verdict
            else:
                assert "kept" == auto.verdict
            several += len(auto.modes) > 1
            silent += bool(left)
            violated += "violated" == auto.verdict
            kept += "kept" == auto.verdict
        assert min(several, silent, violated, kept) >= 5, (several, silent, violated, kept)


class TestPool:
    """What the modes come to together."""

    TWO = (*canonical_refusal(), *canonical_claim(OTHER, first=500, mode="demotable"))

    def test_kept(self) -> None:
        """Two modes that are kept are kept, each with its own part."""
        found = each([*self.TWO])
        assert ("auto", "kept") == (found.mode, found.verdict)
        assert [("hard_protected", "kept"), ("demotable", "kept")] == [
            (part.mode, part.verdict) for part in found.modes
        ]
        assert [(CLAIM, "hard_protected"), (OTHER, "demotable")] == [
            (claim.claim_id, claim.mode) for claim in found.claims
        ]
        assert {} == found.others

    def test_violated(self) -> None:
        """One that is violated makes the whole violated, whatever is left unjudged."""
        silent = canonical_claim("claim:c", first=700, mode=None)
        found = each([*self.TWO, *silent, VICTIM])
        assert "violated" == found.verdict
        assert "hard_protected: not kept: victim_exclusion_before_violation" == found.why
        assert ["claim:c"] == [claim.claim_id for claim in found.unjudged.claims]

    def test_strict(self) -> None:
        """What a mode's claims did not exercise is enough, where that is asked for."""
        assert "inconclusive" == each([*self.TWO], strict=True).verdict

    def test_no_claim(self) -> None:
        """A stream without a claim is no pass."""
        found = each([allocator("gpu_hiccup")])
        assert ("inconclusive", "no claim", []) == (found.verdict, found.why, found.modes)
        assert not found.theorem.applies

    def test_one_claim(self) -> None:
        """One claim alone is judged by its mode; one that does not occur is named."""
        found = each([*self.TWO], claim=OTHER)
        assert ["demotable"] == [part.mode for part in found.modes]
        absent = each([*self.TWO], claim="nobody")
        assert ("inconclusive", "claim nobody does not occur") == (absent.verdict, absent.why)

    def test_lenient(self) -> None:
        """A line that cannot be read keeps every mode from being kept."""
        found = each([*self.TWO, {"kind": "block_cached", "stream": RUN, "held": -1}], lenient=True)
        assert ["inconclusive"] * 2 == [part.verdict for part in found.modes]
        assert "1 line could not be read" in found.why
        nothing = judge(b"{\n", lenient=True)
        assert ("inconclusive", "1 line could not be read") == (nothing.verdict, nothing.why)

    def test_choices(self) -> None:
        """A report names a mode of the contract, or auto."""
        assert {*map(str, Mode), "auto"} == set(map(str, ModeChoice))


class TestUnjudged:
    """Claims that go by no mode, or by two."""

    @pytest.mark.parametrize(
        ("trace", "why", "hint"),
        [
            (canonical_claim(mode=None), "it states no mode", None),
            (connector_success(), "it states no mode", "offloadable"),
            (allocator_refusal(), "hard_exclude is no mode of the contract", "hard_protected"),
        ],
        ids=["none", "connector", "allocator"],
    )
    def test_named(self, trace: Trace, why: str, hint: str | None) -> None:
        """It is inconclusive, and named with the reason."""
        for found in (each(trace),):
            assert "inconclusive" == found.verdict
            assert [] == found.claims
            (claim,) = found.unjudged.claims
            assert (CLAIM, why, hint) == (claim.claim_id, claim.why, claim.hint)
            assert f"claim {CLAIM} cannot be judged: {why}" == found.why

    def test_two(self) -> None:
        """One that is accepted in another mode is judged by the first, and inconclusive."""
        accepted = about("claim_accepted", mode="demotable", footprint=3)
        found = each([*canonical_claim()[:2], accepted, *canonical_claim()[3:]])
        (claim,) = found.claims
        assert ("inconclusive", "hard_protected") == (claim.verdict, claim.mode)
        assert {"RC201"} == {each.code for each in claim.obligations.values()}

    def test_turned_away(self) -> None:
        """One that was turned away, such as a malformed one, is owed nothing: it is named, and the
        verdict is that of the others."""
        turned_away = about("claim_rejected", OTHER)
        for found in (each([*canonical_refusal(), turned_away]),):
            assert ("kept", []) == (found.verdict, found.unjudged.claims)
            assert [OTHER] == [claim.claim_id for claim in found.unjudged.turned_away]

    @pytest.mark.parametrize(
        "more",
        [
            [about("claim_rejected", OTHER), about("claim_harmed", OTHER)],
            [about("claim_harmed", OTHER)],
            [about("claim_committed", OTHER, footprint=1), about("claim_rejected", OTHER)],
            [about("claim_rejected", OTHER), about("claim_accepted", OTHER, footprint=1)],
        ],
    )
    def test_not_only_turned_away(self, more: Trace) -> None:
        """One of which anything else is said keeps the whole from being kept."""
        for found in (each([*canonical_refusal(), *more]),):
            assert "inconclusive" == found.verdict
            assert [OTHER] == [claim.claim_id for claim in found.unjudged.claims]

    def test_blamed_though_turned_away(self) -> None:
        """One that a refusal blames all the same violates a mode that it could have stated, which
        no other claim states: it is not passed over, in a file or fed."""
        kept = [about("claim_registered", mode="best_effort", predicate=PREDICATE)]
        kept += [canonical("block_cached", claim_id=CLAIM, block_ids=[1], positions=[0])]
        kept += [about("claim_materialized")]
        asks = canonical("request_arrived", request_id="r", needed=7, usable=5)
        blames = canonical("request_refused", request_id="r", blocking_claim_ids=[OTHER])
        ends = canonical("request_finished", request_id="r")
        content = text([*kept, about("claim_rejected", OTHER), asks, blames, ends])
        fed = EventMonitor(name="-")
        for line in content.splitlines():
            fed.feed(json.loads(line))
        assert "violated" == judge(content, Mode.HARD_PROTECTED).verdict
        assert "kept" == each([*kept, about("claim_rejected", OTHER)]).verdict
        for found in (judge(content), fed.finish()):
            assert "inconclusive" == found.verdict
            assert [OTHER] == [claim.claim_id for claim in found.unjudged.claims]
            assert [] == found.unjudged.turned_away
            assert 0 == found.unjudged.turned_away_forgotten

    def test_turned_away_alone(self) -> None:
        """Where there is no other claim, there is none to be kept."""
        found = each([about("claim_rejected", OTHER)])
        assert ("inconclusive", "no claim") == (found.verdict, found.why)

    def test_turned_away_forgotten(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is counted where it is not listed any more."""
        monkeypatch.setattr("monitor.check.files.USUAL", Limits(ended=1))
        away = [about("claim_rejected", claim) for claim in (OTHER, "claim:c")]
        found = each([*away, *canonical_refusal()])
        assert ("kept", 1) == (found.verdict, found.unjudged.turned_away_forgotten)
        assert ["claim:c"] == [claim.claim_id for claim in found.unjudged.turned_away]

    def test_forgotten(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One that ended and is not listed is counted all the same."""
        monkeypatch.setattr("monitor.check.files.USUAL", Limits(ended=1))
        trace = []
        for first, claim in ((500, OTHER), (600, "claim:c")):
            trace += canonical_claim(claim, first=first, mode=None)
            trace += [about("claim_retired", claim), about("claim_released", claim, by="tenant:1")]
        found = each([*trace, *canonical_refusal()])
        assert ("inconclusive", 1) == (found.verdict, found.unjudged.forgotten)
        assert ["claim:c"] == [claim.claim_id for claim in found.unjudged.claims]
        assert "2 claims cannot be judged by a mode of their own" == found.why

    def test_dialect(self) -> None:
        """A recorded word that stands for a mode is one, and the report says whose it is."""
        found = each(reference_success())
        assert "kept" == found.verdict
        assert [("offloadable", ["reference_lifecycle"])] == [
            (part.mode, part.read_from) for part in found.modes
        ]

    @needs_recordings
    @pytest.mark.parametrize(
        ("name", "verdict", "modes", "unjudged"),
        [
            ("success_path", "inconclusive", [], 1),
            ("claimed_load_failure", "inconclusive", [], 1),
            ("generic_counter_only", "inconclusive", [], 0),
            ("reference/success_restore", "kept", ["offloadable"], 0),
            ("reference/failure_refusal", "kept", ["offloadable"], 0),
        ],
    )
    def test_recorded(self, name: str, verdict: str, modes: list[str], unjudged: int) -> None:
        """The connector states no mode of its claims; the reference lifecycle offloadable."""
        found = check([str(RECORDED / f"{name}.jsonl")], None, Bundle.CONTRACT)
        assert (verdict, modes) == (found.verdict, [part.mode for part in found.modes])
        assert unjudged == len(found.unjudged.claims)


class TestFiles:
    """Files of claims of several modes."""

    def test_late(self, tmp_path: Path) -> None:
        """A claim of a second mode, in a later file, is judged by what came before it, too."""
        late = canonical_claim(OTHER, first=500, mode="demotable")
        files = [
            write(tmp_path / "a.jsonl", canonical_refusal()),
            write(tmp_path / "b.jsonl", [{**line, "stream": "other"} for line in late]),
        ]
        found = check(files, None, Bundle.CONTRACT)
        assert ("kept", 2) == (found.verdict, len(found.modes))
        assert files == [i.file for i in found.inputs]
        assert len(canonical_refusal()) + len(late) == found.events.read
        for part in found.modes:
            one = check(files, part.mode, Bundle.CONTRACT)
            assert (one.verdict, one.why) == (part.verdict, part.why)

    def test_bad_line(self) -> None:
        """A line that cannot be read is bad input."""
        with pytest.raises(InputError, match="-:9: not JSON"):
            judge(text(canonical_refusal()) + b"{")

    def test_directory(self) -> None:
        """Standard input that cannot be read is bad input."""

        class Broken(io.BytesIO):
            def read1(self, _: object = None) -> bytes:
                raise IsADirectoryError(21, "Is a directory")

        with pytest.raises(InputError, match="-: cannot be read: Is a directory"):
            check(["-"], None, Bundle.CONTRACT, stdin=Broken())
