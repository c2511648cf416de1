"""`python -m monitor evidence`: what traces show of a mode, and what they do not."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from monitor.__main__ import main
from monitor.evidence.take import MOST_CLAIMS, as_yaml, take_evidence
from monitor.input.errors import InputError
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.digest import spec_digest
from spec.language.errors import SpecError
from spec.lowering.evidence import MOST_FILES, EvidenceFile
from spec.lowering.obligations import RELEVANT_ORDER
from tests.monitor.traces import CLAIM, OTHER, Trace, moved, text, without, write
from tests.monitor.traces_allocator import allocator_refusal, allocator_victim
from tests.monitor.traces_canonical import about, canonical, canonical_claim, canonical_refusal
from tests.monitor.traces_connector import (
    connector_failure,
    connector_fallback,
    connector_success,
    plain_connector,
)

Capture = pytest.CaptureFixture[str]
Pairs = set[tuple[str, int]]
RECORDED = Path(__file__).parents[4] / "shared" / "traces"
COUNTERS = [
    plain_connector("generic_kv_transfer_failed_counter", "r1"),
    plain_connector("generic_request_error_counter", "r1"),
]
OFFLOADABLE = set(MODES[Mode.OFFLOADABLE].names())
BOTH = {"claim_identity", "explicit_acceptance", "materialization_predicate"}
BOTH |= {"ordered_lifecycle_events"}


def taken(folder: Path, *traces: Trace, mode: Mode = Mode.OFFLOADABLE) -> EvidenceFile:
    """The evidence of these traces, in files of one folder."""
    paths = [write(folder / f"t{number}.jsonl", trace) for number, trace in enumerate(traces)]
    return take_evidence(paths, mode, folder)


def shown(evidence: EvidenceFile) -> Pairs:
    """Each obligation with the file that shows it."""
    return {(item.obligation, item.file) for item in evidence.shown}


def unshown(evidence: EvidenceFile) -> dict[tuple[str, int | None, str], str]:
    """Why not."""
    return {(u.obligation, u.file, u.verdict): u.why for u in evidence.unshown}


def of(evidence: EvidenceFile, obligation: str, file: int = 0) -> dict[str, object]:
    """One item, as plain data."""
    (item,) = (i for i in evidence.shown if (i.obligation, i.file) == (obligation, file))
    return item.model_dump(mode="json")


class TestShown:
    """What is counted."""

    def test_success(self, tmp_path: Path) -> None:
        """A restore that succeeds shows restorability, and no outcome of a failure."""
        evidence = taken(tmp_path, connector_success())
        assert {(name, 0) for name in BOTH | {"offload_restorability"}} == shown(evidence)
        assert {
            ("restoration_failure_outcome", 0, "unexercised"),
            ("claim_harm_attribution", 0, "unexercised"),
        } == set(unshown(evidence))

    def test_failure(self, tmp_path: Path) -> None:
        """A failed restore shows the outcome and harm, and no restorability."""
        evidence = taken(tmp_path, connector_failure())
        expected = BOTH | {"restoration_failure_outcome", "claim_harm_attribution"}
        assert {(name, 0) for name in expected} == shown(evidence)
        assert {("offload_restorability", 0, "unexercised")} == set(unshown(evidence))

    def test_together(self, tmp_path: Path) -> None:
        """Both runs together show every obligation of offloadable."""
        evidence = taken(tmp_path, connector_success(), connector_failure())
        assert OFFLOADABLE == {name for name, _ in shown(evidence)}
        assert 11 == len(evidence.shown)

    def test_item(self, tmp_path: Path) -> None:
        """An item names the events of its occasion by number, the claim, and the order kept."""
        evidence = taken(tmp_path, connector_success(), connector_failure())
        assert {
            "obligation": "offload_restorability",
            "file": 0,
            "sequences": [0, 14],  # registered, restored
            "claims": [CLAIM],
            "verdict": "satisfied",
            "order": ["claim_before_events", "restore_before_reuse"],
            "more": 0,
        } == of(evidence, "offload_restorability")
        failed = of(evidence, "restoration_failure_outcome", 1)
        # registered, load failed, refusal stated, refused
        assert [0, 16] == failed["sequences"]
        assert ["claim_before_events", "failure_before_outcome_before_end"] == failed["order"]

    def test_orders(self, tmp_path: Path) -> None:
        """Each item keeps the order that matters for its obligation."""
        evidence = taken(tmp_path, canonical_refusal(), mode=Mode.HARD_PROTECTED)
        assert 9 == len(evidence.shown)
        assert all(RELEVANT_ORDER[item.obligation] in item.order for item in evidence.shown)

    def test_lines(self, tmp_path: Path) -> None:
        """Where a dialect numbers no events, lines are named."""
        evidence = taken(tmp_path, allocator_refusal(), mode=Mode.HARD_PROTECTED)
        numbers = of(evidence, "explicit_conflict_action")["sequences"]
        lines = (tmp_path / "t0.jsonl").read_text().splitlines()
        assert isinstance(numbers, list)
        assert "active_request_refused" in [json.loads(lines[n - 1])["event"] for n in numbers]

    def test_digest(self, tmp_path: Path) -> None:
        """A file is anchored by the digest of its bytes, and found from beside the evidence."""
        evidence = taken(tmp_path, connector_success())
        digest = hashlib.sha256((tmp_path / "t0.jsonl").read_bytes()).hexdigest()
        assert [("t0.jsonl", digest)] == [(f.path, f.sha256) for f in evidence.files]
        below = take_evidence([str(tmp_path / "t0.jsonl")], Mode.OFFLOADABLE, tmp_path / "a" / "b")
        assert ["../../t0.jsonl"] == [file.path for file in below.files]

    def test_linked_folder(self, tmp_path: Path) -> None:
        """Where the folder of the evidence is a link, the traces are found from where it leads."""
        (tmp_path / "real" / "deep").mkdir(parents=True)
        (tmp_path / "link").symlink_to(tmp_path / "real" / "deep")
        path = write(tmp_path / "t.jsonl", connector_success())
        (trace,) = take_evidence([path], Mode.OFFLOADABLE, tmp_path / "link").files
        assert (tmp_path / "link" / trace.path).samefile(path)

    def test_spec(self, tmp_path: Path) -> None:
        """The evidence names the specification by which the trace was judged."""
        assert spec_digest() == taken(tmp_path, connector_success()).spec

    def test_many_claims(self, tmp_path: Path) -> None:
        """Of many claims some are named, and the others counted."""
        names = [f"claim:{number}" for number in range(MOST_CLAIMS + 4)]
        trace = [
            line for n, name in enumerate(names) for line in canonical_claim(name, first=9 * n)
        ]
        evidence = taken(tmp_path, trace, mode=Mode.HARD_PROTECTED)
        item = of(evidence, "explicit_acceptance")
        assert (names[:MOST_CLAIMS], 4) == (item["claims"], item["more"])


class TestUnshown:
    """What is not counted, and why."""

    def test_no_claim(self, tmp_path: Path) -> None:
        """Counters without a claim show nothing."""
        evidence = taken(tmp_path, COUNTERS)
        assert () == evidence.shown
        assert {(name, 0, "unexercised") for name in OFFLOADABLE} == set(unshown(evidence))
        assert {"there is no claim in this file"} == set(unshown(evidence).values())

    def test_violated(self, tmp_path: Path) -> None:
        """What is violated is not shown, with the reason; the rest is."""
        evidence = taken(tmp_path, connector_fallback())
        broken = [key for key in unshown(evidence) if key[2] == "violated"]
        assert [("restoration_failure_outcome", 0, "violated")] == broken[:1]
        assert not {name for name, _, _ in broken} & {name for name, _ in shown(evidence)}
        assert ("claim_identity", 0) in shown(evidence)

    def test_spoiled(self, tmp_path: Path) -> None:
        """One claim that violates an obligation spoils it for its file, and for no other file."""
        evicted = canonical("block_evicted", block_ids=[100], request_id="q")
        both = [*canonical_claim(), *canonical_claim(OTHER, first=200)]
        harmed = [*both, evicted, about("claim_harmed", OTHER)]
        another = [{**line, "stream": "run-2"} for line in both]
        evidence = taken(tmp_path, harmed, another, mode=Mode.HARD_PROTECTED)
        assert ("claim_harm_attribution", 0, "violated") in unshown(evidence)
        assert ("claim_materialized_event", 0) in shown(evidence)
        assert ("claim_materialized_event", 1) in shown(evidence)

    def test_pending(self, tmp_path: Path) -> None:
        """What is still owed when the trace ends is not shown."""
        cut = connector_failure()[:14]
        evidence = taken(tmp_path, cut)
        assert ("restoration_failure_outcome", 0, "pending") in unshown(evidence)
        assert "restoration_failure_outcome" not in {name for name, _ in shown(evidence)}

    def test_another_claim_pending(self, tmp_path: Path) -> None:
        """What one claim still owes takes nothing from what another has shown."""
        late = canonical_claim(OTHER, first=200)[:-1]
        evidence = taken(tmp_path, [*canonical_claim(), *late], mode=Mode.HARD_PROTECTED)
        assert [CLAIM] == of(evidence, "claim_materialized_event")["claims"]
        why = unshown(evidence)["claim_materialized_event", 0, "pending"]
        assert why.startswith(f"claim {OTHER}: ")

    def test_gap(self, tmp_path: Path) -> None:
        """Where events are missing nothing is shown."""
        numbered = [json.loads(line) for line in text(canonical_refusal()).splitlines()]
        gap = [line for line in numbered if line["sequence"] != 3]
        evidence = taken(tmp_path, gap, mode=Mode.HARD_PROTECTED)
        assert () == evidence.shown
        assert {"inconclusive"} == {verdict for _, _, verdict in unshown(evidence)}

    def test_named_afterwards(self, tmp_path: Path) -> None:
        """What happened before the claim was registered shows nothing of it."""
        late = moved(connector_success(), "request_initialized", before="resident_claim_restored")
        evidence = taken(tmp_path, [plain_connector("request_initialized", "r0"), *late])
        assert "materialization_predicate" not in {name for name, _ in shown(evidence)}
        why = unshown(evidence)["materialization_predicate", 0, "inconclusive"]
        assert f"claim {CLAIM}: it was named before the claim was registered" == why

    def test_torn_run(self, tmp_path: Path) -> None:
        """A run that continues in a file without its acceptance shows nothing, in either file."""
        whole = [json.loads(line) for line in text(canonical_refusal()).splitlines()]
        evidence = taken(tmp_path, whole[:5], whole[5:], mode=Mode.HARD_PROTECTED)
        assert () == evidence.shown
        whys = {why for (_, file, _), why in unshown(evidence).items() if file == 0}
        assert all("is also in another file, of which lines are missing" in why for why in whys)

    def test_never_accepted(self, tmp_path: Path) -> None:
        """A claim that nobody accepted shows nothing."""
        mine, other = (
            canonical_claim(mode="offloadable"),
            canonical_claim(OTHER, mode="offloadable"),
        )
        evidence = taken(tmp_path, [*mine, *other[:1]])
        unaccepted = taken(tmp_path, without(mine, "claim_accepted"))
        assert {(CLAIM,)} == {item.claims for item in evidence.shown}
        assert () == unaccepted.shown

    @pytest.mark.parametrize(
        ("asked", "accepted", "expected"),
        [
            ("demotable", "demotable", True),
            ("demotable", None, True),
            (None, None, True),
            ("hard_protected", None, False),
            ("demotable", "hard_protected", False),
            (None, "hard_protected", False),
        ],
    )
    def test_another_mode(
        self, tmp_path: Path, asked: str | None, accepted: str | None, expected: bool
    ) -> None:
        """A claim that asks for another mode, or is accepted in one, shows nothing of this one."""
        trace = canonical_claim()
        for line, named in ((trace[0], asked), (trace[2], accepted)):
            line["mode"] = named
            if named is None:
                del line["mode"]
        evidence = taken(tmp_path, trace, mode=Mode.DEMOTABLE)
        assert expected is bool(evidence.shown)
        whys = {u.why for u in evidence.unshown}
        assert expected is not any("is of another mode, hard_protected" in why for why in whys)

    @pytest.mark.parametrize("mode", Mode)
    def test_each_told(self, tmp_path: Path, mode: Mode) -> None:
        """In every mode each obligation is shown or unshown, and never both for one verdict."""
        traces = [connector_success(), connector_fallback(), canonical_refusal(), COUNTERS]
        evidence = taken(tmp_path, *traces, mode=mode)
        told = [*shown(evidence), *((name, file) for name, file, _ in unshown(evidence))]
        assert {(name, n) for name in MODES[mode].names() for n in range(len(traces))} == set(told)
        broken = {(n, file) for n, file, verdict in unshown(evidence) if verdict == "violated"}
        assert not broken & shown(evidence)


class TestFile:
    """The evidence as it is written."""

    def test_same_bytes(self, tmp_path: Path) -> None:
        """The same traces make the same bytes."""
        first = as_yaml(taken(tmp_path, connector_success(), connector_failure()))
        assert first == as_yaml(taken(tmp_path, connector_success(), connector_failure()))

    def test_read_back(self, tmp_path: Path) -> None:
        """What is written is read back as it was, whatever the claims are called."""
        odd = canonical_claim('a: "b"\n\t\x00é𝄞\u2028\uffff{}' + "x" * 300)
        evidence = taken(tmp_path, odd, mode=Mode.HARD_PROTECTED)
        assert evidence.shown
        assert evidence == EvidenceFile.model_validate(yaml.safe_load(as_yaml(evidence)))

    def test_model(self, tmp_path: Path) -> None:
        """No file shows what it violates, and none is named that is not there."""
        document = taken(tmp_path, connector_success()).model_dump(mode="json", by_alias=True)
        broken = {"obligation": "claim_identity", "verdict": "violated", "why": "x"}
        for wrong in ({**broken, "file": 0}, broken, {**broken, "file": 1}):
            with pytest.raises(ValidationError):
                EvidenceFile.model_validate({**document, "unshown": [wrong]})
        pending = {**broken, "file": 0, "verdict": "pending"}
        assert EvidenceFile.model_validate({**document, "unshown": [pending]})


class TestCommand:
    """Exit codes, output and bad input."""

    @pytest.mark.parametrize(
        ("trace", "mode", "code"),
        [
            (connector_success(), "offloadable", 0),
            (connector_fallback(), "offloadable", 1),
            (COUNTERS, "offloadable", 3),
            ([*allocator_refusal(), allocator_victim(100)], "hard_protected", 1),
        ],
    )
    def test_codes(
        self, tmp_path: Path, capsys: Capture, trace: Trace, mode: str, code: int
    ) -> None:
        """0 some evidence, 1 something violated, 3 nothing; in text and in JSON."""
        path, target = write(tmp_path / "t.jsonl", trace), tmp_path / "new" / "e.yaml"
        call = ["evidence", path, "--mode", mode]
        assert code == main([*call, "-o", str(target)])
        assert f"made the folder {target.parent}\n" == capsys.readouterr().err
        assert code == main([*call, "--format", "json", "-o", str(target)])
        printed = EvidenceFile.model_validate_json(capsys.readouterr().out)
        written = EvidenceFile.model_validate(yaml.safe_load(target.read_bytes()))
        assert printed == written
        assert ["../t.jsonl"] == [file.path for file in written.files]

    def test_text(self, tmp_path: Path, capsys: Capture) -> None:
        """People are told how much is shown, by which events, and why not more."""
        path = write(tmp_path / "t.jsonl", connector_success())
        assert 0 == main(["evidence", path, "--mode", "offloadable"])
        out = capsys.readouterr().out
        assert out.startswith("5 of the 7 obligations of offloadable shown\n")
        assert "R offload_restorability 0 1 0, 14" in " ".join(out.split())
        assert "file 0  unexercised restoration_failure_outcome\n        no restore failed" in out

    def test_text_violated(self, tmp_path: Path, capsys: Capture) -> None:
        """What is violated is reported first."""
        path = write(tmp_path / "t.jsonl", connector_fallback())
        assert 1 == main(["evidence", path, "--mode", "offloadable"])
        assert capsys.readouterr().out.startswith("violated: restoration_failure_outcome")

    @pytest.mark.parametrize("name", ["-", "a\nb.jsonl", "nowhere.jsonl", "x" * 2000, "a\0b"])
    def test_bad_names(self, tmp_path: Path, name: str) -> None:
        """A trace that cannot be found again, or not at all, is refused."""
        with pytest.raises(InputError):
            take_evidence([name], Mode.OFFLOADABLE, tmp_path)

    def test_pipe(self, tmp_path: Path) -> None:
        """A pipe is not opened: what it holds cannot be read again when the evidence is counted."""
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(InputError, match="evidence refers to a file"):
            take_evidence([str(tmp_path / "pipe")], Mode.OFFLOADABLE, tmp_path)

    def test_one_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """One path, written twice in different ways, is read once."""
        write(tmp_path / "t.jsonl", connector_success())
        monkeypatch.chdir(tmp_path)
        twice = take_evidence(["t.jsonl", "./t.jsonl"], Mode.OFFLOADABLE, tmp_path)
        assert ["t.jsonl"] == [file.path for file in twice.files]

    def test_behind_a_link(self, tmp_path: Path) -> None:
        """`..` after a link leads to where the link leads, and the trace is found there again."""
        (tmp_path / "real" / "deep").mkdir(parents=True)
        (tmp_path / "link").symlink_to(tmp_path / "real" / "deep")
        write(tmp_path / "real" / "t.jsonl", connector_success())
        path = str(tmp_path / "link" / ".." / "t.jsonl")
        (trace,) = take_evidence([path], Mode.OFFLOADABLE, tmp_path).files
        assert "real/t.jsonl" == trace.path

    def test_too_much(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """More traces than are taken at once, or more evidence than is read back, is refused."""
        with pytest.raises(InputError, match="too many traces"):
            take_evidence(["t"] * (MOST_FILES + 1), Mode.OFFLOADABLE, tmp_path)
        evidence = taken(tmp_path, connector_success())
        monkeypatch.setattr("monitor.evidence.take.MOST_BYTES", 100)
        with pytest.raises(SpecError, match="over 100 bytes"):
            as_yaml(evidence)

    def test_bad_line(self, tmp_path: Path, capsys: Capture) -> None:
        """A line that cannot be read is bad input, and no evidence is written."""
        path, target = tmp_path / "t.jsonl", tmp_path / "e.yaml"
        path.write_bytes(text(connector_success()) + b"{\n")
        call = ["evidence", str(path), "--mode", "offloadable", "-o", str(target)]
        assert 2 == main(call)
        assert "t.jsonl:18: not JSON" in capsys.readouterr().err
        assert not target.exists()

    def test_bad_target(self, tmp_path: Path, capsys: Capture) -> None:
        """A target that cannot be written is reported before the traces are read."""
        call = ["evidence", "nowhere", "--mode", "offloadable", "-o", str(tmp_path)]
        assert 2 == main(call)
        assert "is a folder" in capsys.readouterr().err

    @pytest.mark.parametrize("name", ["t.jsonl", "link.jsonl"])
    def test_over_a_trace(self, tmp_path: Path, capsys: Capture, name: str) -> None:
        """A trace is not written over by its own evidence, under no name."""
        path = write(tmp_path / "t.jsonl", connector_success())
        (tmp_path / "link.jsonl").symlink_to(path)
        before = Path(path).read_bytes()
        assert 2 == main(["evidence", path, "--mode", "offloadable", "-o", str(tmp_path / name)])
        assert "it is also an input" in capsys.readouterr().err
        assert before == Path(path).read_bytes()


@pytest.mark.skipif(
    not RECORDED.is_dir(), reason="the recorded traces are not beside this checkout"
)
class TestRecorded:
    """The recorded traces themselves."""

    def test_both(self, tmp_path: Path) -> None:
        """Success and failure together show all of offloadable; the counters nothing."""
        names = ("success_path", "claimed_load_failure", "generic_counter_only")
        paths = [str(RECORDED / f"{name}.jsonl") for name in names]
        evidence = take_evidence(paths, Mode.OFFLOADABLE, tmp_path)
        assert OFFLOADABLE == {name for name, _ in shown(evidence)}
        assert [5, 6, 0] == [sum(file == n for _, file in shown(evidence)) for n in range(3)]
