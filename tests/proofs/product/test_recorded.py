"""`python -m proofs accepts`: whether a trace, as the monitor reads it, is a run of a model."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models.__main__ import main as models
from models.registry import RUNTIMES, model_of
from proofs.__main__ import main
from proofs.product.accepts import ACCEPTED, REJECTED, UNDECIDED
from proofs.product.recorded import Acceptance, acceptance
from spec.claims.states import Mode
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import Mark
from spec.language.errors import SpecError
from tests.recordings import ON_GPU, OPERATED, RECORDED, Observed, Recorded

ROOT = Path(__file__).parents[3]
SUITE = ROOT / "models" / "counterexamples" / "recorded"
ROWS = [row for row in json.loads((SUITE / "index.json").read_text())["rows"] if row["trace"]]
SCENES = {each.scene: each for each in RECORDED + ON_GPU}

Lines = list[dict[str, Any]]
Capture = pytest.CaptureFixture[str]


def lines_of(scene: str) -> Lines:
    return [json.loads(line) for line in SCENES[scene].path.read_bytes().splitlines()]


def without(scene: str, kind: Kind | Mark) -> tuple[Lines, int]:
    """The lines without the first one of a kind, numbered again, and its number, from 1."""
    lines = lines_of(scene)
    at = next(at for at, line in enumerate(lines) if line["kind"] == kind)
    del lines[at]
    return [{**line, "sequence": number} for number, line in enumerate(lines)], at + 1


def written(folder: Path, lines: Lines) -> str:
    file = folder / "trace.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(file)


@pytest.fixture
def accepted(tmp_path: Path) -> Callable[..., Acceptance]:
    """What is found of some lines, written to a file."""

    def accept(name: str, lines: Lines, **more: Any) -> Acceptance:
        return acceptance(name, written(tmp_path, lines), **more)

    return accept


Accept = Callable[..., Acceptance]


class TestPlugin:
    """The size of the model is that of the trace."""

    @pytest.mark.parametrize("recorded", SCENES.values(), ids=SCENES)
    def test_each_recording_is_accepted(self, recorded: Recorded, capsys: Capture) -> None:
        """All events are a run of the instance that enforces, or of the one that does not."""
        assert 0 == main(["accepts", "plugin", str(recorded.path)])
        events = sum(line["kind"] not in set(Mark) for line in lines_of(recorded.scene))
        how = "reporting" if recorded.scene.endswith("not enforced") else "enforcing"
        said = f"accepted: {events} of {events} events are a run of plugin:{how}\n"
        assert said == capsys.readouterr().out

    @pytest.mark.parametrize("scene", SCENES)
    def test_a_report_of_another_claim_is_rejected(self, scene: str, accepted: Accept) -> None:
        """A materialization that names another claim is rejected at its line.

        With a tier it is where an instance is named, which takes copies to be of whole objects.
        """
        lines = lines_of(scene)
        at = next(n for n, line in enumerate(lines) if line["kind"] == Kind.CLAIM_MATERIALIZED)
        lines[at]["claim_id"] = "claim:another"
        unnamed = UNDECIDED if SCENES[scene].mode is Mode.OFFLOADABLE else REJECTED
        assert unnamed == accepted("plugin", lines).verdict
        how = "reporting" if scene.endswith("not enforced") else "enforcing"
        found = accepted(f"plugin:{how}", lines)
        assert REJECTED == found.verdict
        (stream,) = found.streams
        assert stream.at is not None
        assert at + 1 == stream.at.line
        assert any(Kind.CLAIM_MATERIALIZED in each for each in stream.instead)
        assert stream.taken < stream.events == len(lines) - 2

    def test_what_models_do_not_state(self, accepted: Accept) -> None:
        """Keys of a claim, and events that are stated again, are not compared."""
        lines = lines_of("hard")
        at = next(n for n, line in enumerate(lines) if line["kind"] == Kind.CLAIM_REGISTERED)
        lines[at]["keys"] = ["h0", "h1"]
        mark = {"kind": Mark.STREAM_RESTATED, "stream": lines[0].get("stream", "")}
        lines[at + 1 : at + 1] = [mark, {**lines[at], "restated": True}]
        numbered = [{**line, "sequence": number} for number, line in enumerate(lines)]
        assert ACCEPTED == accepted("plugin:enforcing", numbered).verdict

    def test_the_line_is_quoted(self, tmp_path: Path, capsys: Capture) -> None:
        """A rejection names the line, quotes it, and says what the model could have done."""
        lines, line = without("hard", Kind.REQUEST_REFUSED)
        assert 1 == main(["accepts", "plugin:enforcing", written(tmp_path, lines)])
        out = capsys.readouterr().out
        assert out.startswith("rejected: 9 of 12 events are a run of plugin:enforcing\n")
        assert f"trace.jsonl:{line}, sequence {line - 1}\n" in out
        assert f'> {line} | {{"kind": "request_finished"' in out
        assert "expected instead\n  arrive(request:2): request_refused request:2\n" in out

    def test_the_instance_can_be_named(self, accepted: Accept) -> None:
        """What an engine that enforces does not do, one that only reports may do."""
        lines, _ = without("hard", Kind.REQUEST_REFUSED)
        assert REJECTED == accepted("plugin:enforcing", lines).verdict
        assert ACCEPTED == accepted("plugin:reporting", lines).verdict
        assert "reporting" == accepted("plugin", lines).streams[0].instance

    def test_the_field_that_differs_is_named(self, accepted: Accept) -> None:
        """Where the model has an event of the kind, the rejection says what is other about it."""
        lines = lines_of("hard, not enforced")
        evicts = next(line for line in lines if line["kind"] == Kind.BLOCK_EVICTED)
        right = list(evicts["block_ids"])
        evicts["block_ids"] = right[::-1]
        (stream,) = accepted("plugin", lines).streams
        (instead,) = (each for each in stream.instead if Kind.BLOCK_EVICTED in each)
        ends = "with block_ids [{}, {}, {}, ..., {}, {}, {}]"
        assert ends.format(*right[:3], *right[-3:]) in instead


def _lines(row: Observed) -> Lines:
    return [json.loads(line) for line in row.path.read_bytes().splitlines()]


DEMOTED, DRAINED, AGAIN = OPERATED


class TestOperator:
    """An operator demotes and drains, and a claim is stated again after its rejection."""

    @pytest.mark.parametrize("row", OPERATED, ids=[each.row for each in OPERATED])
    def test_each_recording_is_accepted(self, row: Observed) -> None:
        """To the last event."""
        found = acceptance("plugin:enforcing", str(row.path))
        assert ACCEPTED == found.verdict
        assert found.streams[0].complete

    def test_the_actions_are_the_operators(self) -> None:
        """A demotion without a request in need, and a claim that came while the engine drained."""
        (demoted,) = acceptance("plugin:enforcing", str(DEMOTED.path)).streams
        assert "demote(claim:resident)" in demoted.actions
        (drained,) = acceptance("plugin:enforcing", str(DRAINED.path)).streams
        assert ["arrive_drained(request:2)"] == [a for a in drained.actions if "drained" in a]

    @pytest.mark.parametrize(
        ("row", "kind", "change"),
        [
            (DEMOTED, Kind.CLAIM_DEMOTED, {"by": "tenant"}),
            (DEMOTED, Kind.CLAIM_DEMOTED, {"claim_id": "claim:another"}),
            (DEMOTED, Kind.CLAIM_DEMOTED, {"kind": Kind.CLAIM_RELEASED}),
            (DEMOTED, Kind.CLAIM_RETIRED, {"by": "tenant"}),
            (DRAINED, Kind.CLAIM_RELEASED, {"kind": Kind.CLAIM_DEMOTED}),
            (DRAINED, Kind.CLAIM_RELEASED, {"by": "runtime"}),
            (DRAINED, Kind.CLAIM_REJECTED, {"claim_id": "claim:another"}),
            (AGAIN, Kind.CLAIM_ACCEPTED, {"claim_id": "claim:another"}),
            (AGAIN, Kind.REQUEST_REFUSED, {"blocking_claim_ids": ["claim:second"]}),
        ],
    )
    def test_a_wrong_step_is_rejected(
        self, row: Observed, kind: Kind, change: dict[str, Any], accepted: Accept
    ) -> None:
        """A step by somebody else, of another claim, or of another kind is none of the model's."""
        lines = _lines(row)
        line = next(each for each in lines if each["kind"] == kind)
        line.update(change)
        assert REJECTED == accepted("plugin:enforcing", lines).verdict

    @pytest.mark.parametrize(
        ("row", "kind"),
        [
            (DEMOTED, Kind.CLAIM_RETIRED),
            (DEMOTED, Kind.CLAIM_DEMOTED),
            (DRAINED, Kind.CLAIM_REJECTED),
            (AGAIN, Kind.CLAIM_RELEASED),
        ],
    )
    def test_a_missing_step_is_noticed(self, row: Observed, kind: Kind, accepted: Accept) -> None:
        """The last report or fact of its kind is left out."""
        lines = _lines(row)
        last = max(n for n, each in enumerate(lines) if each["kind"] == kind)
        left = [*lines[:last], *lines[last + 1 :]]
        for number, line in enumerate(left):
            line["sequence"] = number
        assert REJECTED == accepted("plugin:enforcing", left).verdict

    def test_a_rejection_of_a_claim_that_is_used(self, accepted: Accept) -> None:
        """A claim that was rejected is looked up by nobody."""
        lines = _lines(DRAINED)
        line = next(each for each in lines if each["kind"] == Kind.CLAIM_REJECTED)
        line["claim_id"] = "claim:resident"
        with pytest.raises(SpecError, match="is for no claim that the stream registers"):
            accepted("plugin:enforcing", lines)

    def test_an_eviction_before_the_demotion_is_rejected(self, accepted: Accept) -> None:
        """The claim's blocks are held until then."""
        lines = _lines(DEMOTED)
        kinds = [line["kind"] for line in lines]
        start, stop = kinds.index(Kind.CLAIM_RETIRED), kinds.index(Kind.BLOCK_EVICTED)
        moved = [*lines[:start], *lines[start + 2 : stop + 1], *lines[start : start + 2]]
        moved += lines[stop + 1 :]
        for number, line in enumerate(moved):
            line["sequence"] = number
        assert REJECTED == accepted("plugin:enforcing", moved).verdict

    def test_a_claim_that_cannot_be_read(self, accepted: Accept) -> None:
        """It is rejected without a registration; the events around it stay."""
        lines = [each for each in _lines(DRAINED) if " (rejected" not in each.get("claim_id", "")]
        arrives = [n for n, each in enumerate(lines) if each["kind"] == Kind.REQUEST_ARRIVED][1]
        unread = {**lines[arrives], "kind": Kind.CLAIM_REJECTED, "claim_id": "claim of request:2"}
        for field in ("request_id", "needed", "usable"):
            del unread[field]
        lines.insert(arrives, unread)
        for number, line in enumerate(lines):
            line["sequence"] = number
        found = accepted("plugin:enforcing", lines)
        assert ACCEPTED == found.verdict, found.streams[0].instead


def test_the_page(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """The command that docs/accepts.md shows prints what the page shows."""
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "accepts.md").read_text()
    ((command, says),) = re.findall(r"\$ python -m proofs (.*)\n(.*)\n```", page)
    assert 0 == main(command.split())
    assert f"{says}\n" == capsys.readouterr().out


class TestReading:
    """The readers are the monitor's."""

    def test_gzip(self, tmp_path: Path) -> None:
        """A compressed trace is read."""
        file = tmp_path / "trace.jsonl.gz"
        file.write_bytes(gzip.compress(SCENES["hard"].path.read_bytes()))
        assert ACCEPTED == acceptance("plugin", str(file)).verdict

    def test_a_recorded_dialect(self) -> None:
        """The allocator's dialect is read, and the pool without claims does not make its first."""
        sample = ROOT / "monitor" / "samples" / "allocator_refusal.jsonl"
        found = acceptance("vllm_pool:native", str(sample))
        (stream,) = found.streams
        assert (REJECTED, 0) == (found.verdict, stream.taken)
        assert stream.at is not None
        assert 1 == stream.at.line

    def test_missing_lines(self, accepted: Accept) -> None:
        """Where a number is missing nothing is decided from there on."""
        lines = lines_of("hard")
        del lines[8]
        found = accepted("plugin", lines)
        (stream,) = found.streams
        why = "lines are missing before sequence number 9"
        assert (UNDECIDED, why) == (found.verdict, stream.why)
        assert stream.at is not None
        assert (9, 7) == (stream.at.line, stream.taken)

    def test_what_was_wrong_before_is_wrong(self, accepted: Accept) -> None:
        """A line that no run has is rejected, although lines after it are missing."""
        lines, line = without("hard", Kind.CLAIM_COMMITTED)
        del lines[line + 2]
        found = accepted("plugin", lines)
        assert REJECTED == found.verdict
        assert found.streams[0].at is not None
        assert line == found.streams[0].at.line

    def test_a_whole_stream_that_ends_too_early(self, accepted: Accept) -> None:
        """A stream that states its end must have all that its last action emits."""
        lines, line = without("hard, not enforced", Kind.CLAIM_HARMED)
        lines = [*lines[: line - 1], {**lines[-1], "sequence": line - 1}]
        (stream,) = accepted("plugin", lines).streams
        assert (REJECTED, False) == (stream.verdict, stream.complete)
        assert stream.at is not None
        assert line - 1 == stream.at.line
        assert ("schedule(request:2): claim_harmed claim:resident",) == stream.instead

    def test_an_open_stream_may_end_anywhere(self, accepted: Accept) -> None:
        """A stream that states neither beginning nor end is compared as far as it goes."""
        lines, line = without("hard, not enforced", Kind.CLAIM_HARMED)
        lines = [{**each, "sequence": n} for n, each in enumerate(lines[1 : line - 1])]
        (stream,) = accepted("plugin", lines).streams
        assert (ACCEPTED, False) == (stream.verdict, stream.complete)

    def test_a_cut_stream(self, accepted: Accept) -> None:
        """A stream without the end that it promised is no complete run."""
        found = accepted("plugin", lines_of("hard")[:-1])
        assert UNDECIDED == found.verdict
        assert "the stream was cut" in found.streams[0].why

    def test_what_hooks_do_not_state(self, accepted: Accept) -> None:
        """Facts that a stream does not observe are not asked for."""
        lines, _ = without("hard", Kind.REQUEST_FINISHED)
        assert REJECTED == accepted("plugin:enforcing", lines).verdict
        lines = [line for line in lines if line["kind"] != Kind.REQUEST_FINISHED]
        lines = [{**line, "sequence": number} for number, line in enumerate(lines)]
        lines[0]["observes"] = sorted(FACTS - {Kind.REQUEST_FINISHED})
        assert ACCEPTED == accepted("plugin:enforcing", lines).verdict

    def test_two_streams(self, accepted: Accept) -> None:
        """Each is compared by itself, and the worst verdict is that of the trace."""
        bad, _ = without("hard", Kind.CLAIM_ACCEPTED)
        lines = lines_of("expiring") + [{**line, "stream": "engine:2"} for line in bad]
        found = accepted("plugin", lines)
        assert REJECTED == found.verdict
        assert [ACCEPTED, REJECTED] == [each.verdict for each in found.streams]

    def test_no_event(self, accepted: Accept) -> None:
        """A trace without an event shows nothing."""
        lines = lines_of("hard")
        found = accepted("vllm_pool", [lines[0], {**lines[-1], "sequence": 1}])
        assert (UNDECIDED, "the stream has no event") == (found.verdict, found.streams[0].why)


class TestOthers:
    """Models of runtimes without claims, or of a fixed size."""

    @pytest.mark.parametrize("name", RUNTIMES)
    def test_what_a_model_walks_it_accepts(self, name: str, tmp_path: Path) -> None:
        """A random run is written, read again, and is a run; an empty file is bad input."""
        file, variant = tmp_path / "run.jsonl", name
        if name == "plugin":
            variant = "plugin:demotable"
        assert 0 == models(["walk", variant, "--seed", "7", "--steps", "15", "-o", str(file)])
        expected = 0 if file.read_bytes() else 2
        assert expected == main(["accepts", variant, str(file)])

    @pytest.mark.parametrize("row", ROWS, ids=[row["inference"] for row in ROWS])
    def test_the_suite(self, row: dict[str, Any]) -> None:
        """Each recorded counterexample is a run, by the inference that makes its claims."""
        trace = str(SUITE / row["trace"])
        found = acceptance(row["runtime"], trace, inference=row["inference"])
        assert ACCEPTED == found.verdict
        assert row["events"] == found.streams[0].events

    def test_without_the_inference(self, capsys: Capture) -> None:
        """A runtime without claims accepts none: the claims of the suite are the reader's."""
        row = next(row for row in ROWS if row["inference"] == "write no-admit -> hard_protected")
        assert 1 == main(["accepts", "vllm_pool:native", str(SUITE / row["trace"])])
        assert "no run of the model has claim_registered next" in capsys.readouterr().out


class TestCommand:
    """Exit codes and forms."""

    def test_json(self, capsys: Capture) -> None:
        """Programs get the verdict, the place and the run."""
        trace = str(SCENES["hard"].path)
        assert 0 == main(["accepts", "plugin", trace, "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        assert ("resident-claims/acceptance/1", "accepted") == (found["schema"], found["verdict"])
        (stream,) = found["streams"]
        assert "arrive(request:1)" == stream["actions"][0]
        assert stream["complete"]

    def test_what_is_left_out(self, capsys: Capture) -> None:
        """A rejection says what the model leaves out: what happens in a real engine besides."""
        command = ["accepts", "vllm_pool", str(SCENES["hard"].path)]
        assert 1 == main(command)
        assert "left out of the model: tokens within a block, decoding" in capsys.readouterr().out
        assert 1 == main([*command, "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        assert model_of("vllm_pool").left_out == found["left_out"]

    def test_bound(self, capsys: Capture) -> None:
        """A search that reaches its bound decides nothing."""
        assert 3 == main(["accepts", "plugin", str(SCENES["hard"].path), "--limit", "1"])
        assert "the model can be in more than 1 states" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["plugni", "HARD"], "did you mean plugin?"),
            (["plugin:enforcin", "HARD"], "did you mean enforcing?"),
            (["vllm_pool:nativ", "HARD"], "there is no variant 'nativ'"),
            (["plugin", "nowhere.jsonl"], "nowhere.jsonl"),
            (["plugin", "HARD", "--inference", "pin"], "plugin has no inference"),
            (["plugin", "HARD", "--limit", "0"], "--limit"),
            (["plugin", "SUITE"], "is for no claim that the stream registers"),
        ],
    )
    def test_bad_input(self, arguments: list[str], says: str, capsys: Capture) -> None:
        """One line names what is wrong."""
        row = next(row for row in ROWS if row["runtime"] == "vllm_pool")
        named = {"HARD": str(SCENES["hard"].path), "SUITE": str(SUITE / row["trace"])}
        assert 2 == main(["accepts", *(named.get(each, each) for each in arguments)])
        assert says in capsys.readouterr().err
