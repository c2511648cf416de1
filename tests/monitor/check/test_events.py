"""A stream that is judged event by event comes to the report of its file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from monitor.__main__ import main
from monitor.check.events import EventMonitor, Violation
from monitor.check.files import check_files
from monitor.input.errors import InputError
from monitor.report.verdict import Place, Report
from monitor.samples import sample
from monitor.trace_writer import TraceWriter
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.language.errors import SpecError, UnknownName
from tests.monitor.test_trace_writer import KEPT

HOSTILE = sorted((Path(__file__).parents[1] / "hostile").glob("*.jsonl"))
EVICTED = {"kind": "block_evicted", "block_ids": [7]}
OTHER = {"claim_id": "b", "cache_identity": "other/16", "block_ids": [9, 10]}
TWO = [*KEPT[:5], *({**each, **{k: v for k, v in OTHER.items() if k in each}} for each in KEPT[:5])]
"""Two claims that are held, a of the blocks 7 and 8, b of 9 and 10."""


def fed(path: Path, mode: str | None) -> Report:
    """The report on the lines of a file, fed one by one."""
    monitor = EventMonitor(mode, name=str(path))
    for line in path.read_text().splitlines():
        monitor.feed(json.loads(line))
    return monitor.finish()


def as_of_file(path: Path, mode: str | None) -> Report:
    """The report on a file, without the digest of its bytes."""
    report = check_files(path, mode)
    inputs = [msgspec.structs.replace(each, sha256="") for each in report.inputs]
    return msgspec.structs.replace(report, inputs=inputs)


class TestEventMonitor:
    @pytest.mark.parametrize("mode", [*Mode, None])
    def test_as_of_the_file(self, mode: str | None) -> None:
        """Of canonical samples and of streams made to fool it, the report is that of the file."""
        paths = [sample("hard_protected_refusal"), sample("hard_protected_victim"), *HOSTILE[::4]]

        assert [as_of_file(path, mode) for path in paths] == [fed(path, mode) for path in paths]

    def test_what_is_not_observed(self, tmp_path: Path) -> None:
        """A stream whose hooks do not state each fact leaves the theorem, fed or in a file."""
        path = tmp_path / "t.jsonl"
        with TraceWriter(path, observes=[Kind.BLOCK_CACHED]) as trace:
            for event in KEPT:
                trace.write(event)

        report = fed(path, Mode.HARD_PROTECTED)

        assert as_of_file(path, Mode.HARD_PROTECTED) == report
        assert report.theorem.because.startswith("not observed: ")

    def test_violations(self) -> None:
        """A violation is seen after the event that it lies in, and not before."""
        monitor = EventMonitor("hard_protected")
        for event in KEPT[:5]:
            monitor.feed(event)
            assert [] == monitor.violations()

        monitor.feed(EVICTED)

        assert monitor.violations() == [
            Violation(
                "a",
                "victim_exclusion_before_violation",
                Place("events", 6, None),
                "a block of the claim was chosen as a victim while the runtime was responsible",
                "another victim, or refusing or deferring the request first",
            )
        ]
        assert "violated" == monitor.finish().verdict

    def test_since(self) -> None:
        """Violations can be asked for from an event on: those that it decided, and later ones."""
        monitor = EventMonitor("hard_protected")
        for event in (*KEPT[:5], EVICTED):
            monitor.feed(event)

        assert monitor.violations() == monitor.violations(since=5)
        assert [] == monitor.violations(since=6)

    @pytest.mark.parametrize("name", ["hard_protected_refusal", "hard_protected_victim"])
    def test_called(self, name: str) -> None:
        """Each violation is passed once, in the call that decided it, with the place that a check
        of the file cites."""
        path, called = sample(name), list[tuple[int, Violation]]()
        monitor = EventMonitor(
            "hard_protected",
            name=str(path),
            on_violation=lambda each: called.append((monitor.account.lines, each)),
        )
        for line in path.read_text().splitlines():
            monitor.feed(json.loads(line))

        assert [each for _, each in called] == monitor.violations()
        assert all(each.at is not None and line == each.at.line for line, each in called)
        due = {
            (claim.claim_id, obligation): found.at
            for claim in check_files(path, "hard_protected").claims
            for obligation, found in claim.obligations.items()
            if found.verdict == "violated"
        }
        assert due == {(each.claim_id, each.obligation): each.at for _, each in called}
        assert bool(called) is (name == "hard_protected_victim")

    @pytest.mark.parametrize("end", [[], [{"kind": "block_evicted", "block_ids": [77]}]])
    def test_raises(self, end: list[dict[str, Any]]) -> None:
        """Where the function raises at the first of two violations of an event, the second one is
        passed in the next call, be that the last."""
        called = list[Violation]()

        def fails_first(each: Violation) -> None:
            called.append(each)
            if len(called) == 1:
                raise RuntimeError

        monitor = EventMonitor(on_violation=fails_first)
        for event in TWO:
            monitor.feed(event)
        with pytest.raises(RuntimeError):
            monitor.feed({"kind": "block_evicted", "block_ids": [7, 9]})
        assert ["a"] == [each.claim_id for each in called]
        for event in end:
            monitor.feed(event)
            assert ["a", "b"] == [each.claim_id for each in called]
        monitor.finish()

        assert called == monitor.violations()

    def test_called_after_a_restore(self) -> None:
        """A monitor that is restored calls the function with what later events decide, and not
        with what was found before."""
        first, called = EventMonitor(), list[Violation]()
        for event in (*TWO, EVICTED):
            first.feed(event)
        monitor = EventMonitor.restore(first.snapshot(), on_violation=called.append)
        monitor.feed({"kind": "block_evicted", "block_ids": [8, 9]})

        assert {*monitor.violations()} - {*first.violations()} == {*called}
        assert len({*called}) == len(called)
        assert {"a", "b"} == {each.claim_id for each in called}

    def test_text(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A report as a text is what the command prints of the file."""
        path = sample("hard_protected_victim")

        assert 1 == main(["check", str(path)])
        assert capsys.readouterr().out == str(check_files(path))

    def test_own_mode(self) -> None:
        """Each claim is judged by the mode that it states, where none is named."""
        monitor = EventMonitor()
        for event in (*KEPT[:5], EVICTED):
            monitor.feed(event)

        assert ["victim_exclusion_before_violation"] == [
            each.obligation for each in monitor.violations()
        ]
        assert "violated" == monitor.finish().verdict

    @pytest.mark.parametrize("more", [{"mode": "demotable"}, {"claim": "b"}])
    def test_not_judged(self, more: dict[str, Any]) -> None:
        """Claims of another mode, and other claims than the one asked for, have no violations."""
        monitor = EventMonitor(**{"mode": "hard_protected", **more})

        for event in (*KEPT[:5], EVICTED):
            monitor.feed(event)

        assert [] == monitor.violations()

    def test_refused(self) -> None:
        """Who swallows a refusal is not told that the mode was kept."""
        monitor = EventMonitor("hard_protected")
        for event in KEPT[:5]:
            monitor.feed(event)

        with pytest.raises(InputError, match="events:6: block_id: no such field"):
            monitor.feed({"kind": "block_evicted", "block_id": 7})
        for event in KEPT[5:]:
            monitor.feed(event)
        report = monitor.finish()

        assert ("inconclusive", 1) == (report.verdict, report.events.rejected)
        assert (8, 1) == (report.inputs[0].lines, report.inputs[0].rejected)

    @pytest.mark.parametrize("given", [None, 5, "block_evicted", [1], object()])
    @pytest.mark.parametrize("mode", ["hard_protected", None])
    def test_no_event(self, mode: str | None, given: Any) -> None:
        """What is no event at all is refused and counted like one that cannot be read."""
        monitor = EventMonitor(mode)
        for event in KEPT[:5]:
            monitor.feed(event)

        with pytest.raises(InputError, match="events:6: no fields can be read from this"):
            monitor.feed(given)
        for event in KEPT[5:]:
            monitor.feed(event)

        assert "inconclusive" == monitor.finish().verdict

    def test_strict(self) -> None:
        """What no claim exercised makes it inconclusive if asked."""
        found = []
        for strict in (False, True):
            monitor = EventMonitor("hard_protected", strict=strict)
            for event in KEPT:
                monitor.feed(event)
            found.append(monitor.finish().verdict)

        assert ["kept", "inconclusive"] == found

    def test_finished(self) -> None:
        """After the report nothing is judged, and the report stays what it is."""
        monitor = EventMonitor("hard_protected")
        report = monitor.finish()

        with pytest.raises(SpecError, match="finished"):
            monitor.feed(EVICTED)

        assert report is monitor.finish()

    def test_bundle_by_name(self) -> None:
        """A bundle may be named; one that there is not is an error, and no other bundle."""
        expected = check_files(sample("hard_protected_victim"), bundle=Bundle.PAPER)
        monitor = EventMonitor(bundle="paper")

        assert expected == check_files(sample("hard_protected_victim"), bundle="paper")
        assert Bundle.PAPER is monitor.finish().bundle
        with pytest.raises(UnknownName, match="there is no bundle 'papers'"):
            check_files(sample("hard_protected_victim"), bundle="papers")
        with pytest.raises(UnknownName, match="there is no bundle 'papers'"):
            EventMonitor(bundle="papers")

    def test_unknown_mode(self) -> None:
        """A mode that there is not is named, with what was perhaps meant."""
        with pytest.raises(UnknownName, match="hard_protected"):
            EventMonitor("hard_protect")


class TestCheckFiles:
    def test_one_path(self) -> None:
        """One path is one file, as a text or as a path, and no sequence of letters."""
        path = sample("hard_protected_refusal")
        reports = [check_files(given, "hard-protected") for given in (path, str(path), [path])]

        assert [reports[0]] * 3 == reports
        assert "kept" == reports[0].verdict

    def test_several(self) -> None:
        """Files in a row are read once each, and options are those of the command."""
        paths = [sample("offloadable_restore"), sample("offloadable_failed_restore")]

        found = check_files((p for p in paths), Mode.OFFLOADABLE, strict=True)

        assert [str(path) for path in paths] == [each.file for each in found.inputs]
        assert ("kept", True) == (found.verdict, found.strict)

    def test_no_file(self) -> None:
        """A file that is not there is an error that says so."""
        with pytest.raises(InputError, match="no such file"):
            check_files("nowhere.jsonl", "hard_protected")
