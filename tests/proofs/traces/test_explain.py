"""The story of any trace."""

import gzip
import io
import json
from pathlib import Path

import pytest
import typer
from msgspec.structs import replace

import monitor.samples
from monitor.check.files import check
from proofs.cli.explain import register
from proofs.report.explanation import as_page
from proofs.traces.explain import explain
from proofs.traces.itf import to_itf
from spec.claims.states import Mode
from spec.cli.common import json_page, new_app, run
from spec.contract.modes import Bundle
from spec.events.alphabet import CONFLICT_ACTIONS, Kind
from spec.events.canonical import EVENT_ENCODER, CapacityProof, Event
from spec.events.fields import fields_of
from tests.proofs.goldens import assert_pinned
from tests.proofs.shared import witness

SAMPLES = Path(monitor.samples.__file__).parent
STORIES = [
    ("hard_protected_refusal", Mode.HARD_PROTECTED),
    ("hard_protected_victim", Mode.HARD_PROTECTED),
    ("allocator_refusal", Mode.HARD_PROTECTED),
    ("offloadable_restore", Mode.OFFLOADABLE),
    ("offloadable_failed_restore", Mode.OFFLOADABLE),
]


def app() -> typer.Typer:
    """An application with the command, and another beside it."""
    made = new_app("proofs", "Tests.")
    register(made)
    made.command("nothing")(lambda: None)
    return made


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a call."""
    code = run(app(), ["explain", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def written(path: Path, *events: Event) -> str:
    """A file of canonical events."""
    path.write_bytes(b"".join(EVENT_ENCODER.encode(event) + b"\n" for event in events))
    return str(path)


def life(number: int) -> list[Event]:
    """A claim whose predicate comes to hold and breaks `number` times, silently."""
    about = {"claim_id": "a", "object_id": "object of a", "predicate": "leading_prefix_at_least(1)"}
    events = [Event(kind=Kind.CLAIM_REGISTERED, **about)]
    for block in range(number):
        events.append(
            Event(kind=Kind.BLOCK_CACHED, claim_id="a", block_ids=(block,), positions=(0,))
        )
        events.append(Event(kind=Kind.BLOCK_LOST, block_ids=(block,)))
    return events


REASONED = {
    Kind.CLAIM_ACCEPTED: {"footprint": 2},
    Kind.CLAIM_REJECTED: {},
    Kind.CLAIM_HARMED: {},
    **{kind: {"request_id": "r"} for kind in CONFLICT_ACTIONS},
}
"""The reports that may state a reason, each with the other fields that it needs."""


class TestReasons:
    """What is shown and not judged."""

    @pytest.mark.parametrize("kind", sorted(REASONED))
    def test_reason(self, kind: Kind, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The reason of a decision is part of the story."""
        about = REASONED[kind] | ({} if kind in CONFLICT_ACTIONS else {"claim_id": "a"})
        event = Event(kind=kind, reason="the owner's quota", **about)
        out = call(
            capsys, written(tmp_path / "t.jsonl", *life(1), event), "--mode", "hard_protected"
        )[1]
        assert "reason the owner's quota" in " ".join(out.split())

    def test_kinds(self) -> None:
        """No other kind has a reason."""
        assert set(REASONED) == {kind for kind in Kind if "reason" in fields_of(kind)}

    def test_capacity(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """So is the pool when a claim was harmed."""
        room = CapacityProof(resident=2, active=3, total=5, usable=4, shortfall=1)
        event = Event(kind=Kind.CLAIM_HARMED, claim_id="a", capacity=room)
        out = call(
            capsys, written(tmp_path / "t.jsonl", *life(1), event), "--mode", "hard_protected"
        )[1]
        expected = "capacity: resident 2, active 3, total 5, usable 4, shortfall 1"
        assert expected in " ".join(out.split())


class TestStory:
    @pytest.mark.parametrize(("name", "mode"), STORIES)
    def test_pinned(
        self,
        name: str,
        mode: Mode,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """The stories of the samples are as pinned, within 80 columns."""
        monkeypatch.chdir(SAMPLES)

        _, out, _ = call(capsys, f"{name}.jsonl", "--mode", mode)

        assert_pinned(f"explain-{name}", out)
        assert all(len(line) <= 80 for line in out.splitlines())

    @pytest.mark.parametrize(("name", "mode"), STORIES)
    def test_says_what_the_monitor_says(self, name: str, mode: Mode) -> None:
        """The verdict is the monitor's, and so is the last word on every obligation."""
        trace = str(SAMPLES / f"{name}.jsonl")

        story, report = explain(trace, mode, Bundle.CONTRACT), check([trace], mode, Bundle.CONTRACT)

        last = {
            change.what: change.after
            for step in story.steps
            for change in step.changes
            if change.what in report.obligations
        }
        verdicts = {n: v for n, v in report.obligations.items() if v != "unexercised"}
        assert (report.verdict, report.why) == (story.verdict, story.why)
        assert verdicts == {name: v for name, v in last.items() if v != "unexercised"}

    def test_where_it_went_wrong(self) -> None:
        """The longest prefix that was fine, the event after it, and what was allowed there."""
        trace = SAMPLES / "hard_protected_victim.jsonl"

        story = explain(str(trace), Mode.HARD_PROTECTED, Bundle.CONTRACT)

        assert story.stop is not None
        assert (6, 7) == (story.fine, story.stop.line)
        assert ["block_evicted"] == [event.kind for event in story.stop.events]
        assert "another victim" in story.stop.changes[0].allowed

    def test_prefix_is_the_longest(self, tmp_path: Path) -> None:
        """The monitor finds nothing violated in the prefix, and something one line later."""
        trace = SAMPLES / "hard_protected_victim.jsonl"
        story = explain(str(trace), Mode.HARD_PROTECTED, Bundle.CONTRACT)
        lines = trace.read_bytes().splitlines(keepends=True)

        for length, broken in ((story.fine, False), (story.fine + 1, True)):
            cut = tmp_path / f"{length}.jsonl"
            cut.write_bytes(b"".join(lines[:length]))
            report = check([str(cut)], Mode.HARD_PROTECTED, Bundle.CONTRACT)
            assert broken == ("violated" in report.obligations.values())

    def test_owed_at_the_end(self, tmp_path: Path) -> None:
        """A stream that ends early broke nothing and leaves something owed."""
        events = life(1)[:2]

        story = explain(written(tmp_path / "t.jsonl", *events), Mode.BEST_EFFORT, Bundle.CONTRACT)

        assert story.stop is None
        assert ["claim_materialized_event"] == [change.what for change in story.owed]
        assert "Still owed at the end:" in as_page(story)

    def test_distrust(self, tmp_path: Path) -> None:
        """Missing events end what can be concluded, and the story says where."""
        events = [
            life(0)[0],
            Event(kind=Kind.CLAIM_UNMATERIALIZED, claim_id="a", sequence=4),
        ]

        story = explain(written(tmp_path / "t.jsonl", *events), Mode.BEST_EFFORT, Bundle.CONTRACT)

        assert "inconclusive" == story.verdict
        assert story.stop is not None
        assert 2 == story.stop.line
        page = " ".join(as_page(story).split())
        assert "lines are missing before sequence number 4" in page
        assert "line 2 (claim_unmaterialized) cannot be judged" in page

    def test_one_claim(self) -> None:
        """Only the claim that was asked for is told of."""
        trace = str(SAMPLES / "hard_protected_refusal.jsonl")

        story = explain(trace, Mode.HARD_PROTECTED, Bundle.CONTRACT, claim="nobody")

        assert [] == story.steps
        assert "claim nobody does not occur" == story.why

    def test_long_traces(self, tmp_path: Path) -> None:
        """A long story is cut in the middle, with counts of what is left out."""
        trace = written(tmp_path / "t.jsonl", *life(100))

        page = as_page(explain(trace, Mode.BEST_EFFORT, Bundle.CONTRACT), most=9)

        assert len(page.splitlines()) < 60
        assert "eventful lines left out" in page

    def test_no_control_characters(self, tmp_path: Path) -> None:
        """Names in a trace cannot command a terminal."""
        event = Event(kind=Kind.CLAIM_MATERIALIZED, claim_id="\x1b[31mred")

        page = as_page(
            explain(written(tmp_path / "t.jsonl", event), Mode.EXPIRING, Bundle.CONTRACT)
        )

        assert "\x1b" not in page
        assert "\\x1b[31mred" in page


def several(path: Path, *modes: str | None) -> str:
    """A trace of claims that state these modes, one claim each, all in one stream: each is
    accepted, its block is cached, and it is materialized."""
    events = []
    for block, mode in enumerate(modes):
        about: dict[str, str] = {"claim_id": f"c{block}"}
        events += [
            Event(
                kind=Kind.CLAIM_REGISTERED,
                **about,
                cache_identity="model/tokenizer/16",
                owner_scope="tenant",
                predicate="leading_prefix_at_least(1)",
                mode=mode,
            ),
            Event(kind=Kind.CLAIM_COMMITTED, **about, footprint=1),
            Event(kind=Kind.CLAIM_ACCEPTED, **about, footprint=1),
            Event(kind=Kind.BLOCK_CACHED, **about, block_ids=(block,), positions=(0,)),
            Event(kind=Kind.CLAIM_MATERIALIZED, **about),
        ]
    return written(path, *events)


class TestByItsOwnMode:
    """Without a mode, each claim is explained by the one that it states."""

    @pytest.mark.parametrize("name", ["hard_protected_refusal", "hard_protected_victim"])
    def test_one_mode(self, name: str) -> None:
        """Where every claim states one mode, the story is that of the mode."""
        trace = str(SAMPLES / f"{name}.jsonl")

        auto = explain(trace, None, Bundle.CONTRACT)
        named = explain(trace, Mode.HARD_PROTECTED, Bundle.CONTRACT)

        assert "auto" == auto.mode
        assert replace(auto, mode=named.mode) == named

    def test_several(self, tmp_path: Path) -> None:
        """Each claim has the steps that it has by its own mode, and the verdict is that of a check
        of the file."""
        modes = (Mode.HARD_PROTECTED, Mode.DEMOTABLE)
        trace = several(tmp_path / "t.jsonl", *modes)

        auto, report = explain(trace, None, Bundle.CONTRACT), check([trace], None, Bundle.CONTRACT)

        assert list(modes) == [mode for mode in Mode if mode in auto.modes]
        assert (report.verdict, report.why) == (auto.verdict, auto.why)
        for number, mode in enumerate(modes):
            alone = explain(trace, mode, Bundle.CONTRACT, claim=f"c{number}")
            changes = [c for step in alone.steps for c in step.changes]
            assert changes == [
                c for step in auto.steps for c in step.changes if c.claim == f"c{number}"
            ]
            assert changes

    def test_none_stated(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A claim that states no mode is named with what to do; it exits 3, and nothing is said of
        what became of it."""
        trace = several(tmp_path / "t.jsonl", Mode.HARD_PROTECTED, None)

        code, out, _ = call(capsys, trace)

        said = " ".join(out.split())
        assert 3 == code
        assert said.startswith("inconclusive: claim c1 cannot be judged: it states no mode")
        assert "Not judged: c1: it states no mode; --mode MODE judges it by that mode" in said
        assert "the mode that each claim states: hard_protected, contract bundle" in said
        assert {"c0"} == {
            c.claim for step in explain(trace, None, Bundle.CONTRACT).steps for c in step.changes
        }

    def test_none_at_all(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Where no claim states one, the mode that such recordings mostly have is the hint, and no
        line is called uneventful."""
        code, out, _ = call(capsys, str(SAMPLES / "offloadable_restore.jsonl"))

        assert 3 == code
        assert "it states no mode; --mode offloadable judges it" in " ".join(out.split())
        assert "uneventful" not in out
        assert 0 == explain(str(SAMPLES / "offloadable_restore.jsonl"), None, Bundle.CONTRACT).fine

    def test_stdin(self) -> None:
        """Standard input is read again where a claim states another mode."""
        content = (SAMPLES / "hard_protected_refusal.jsonl").read_bytes()

        story = explain("-", None, Bundle.CONTRACT, stdin=io.BytesIO(content))

        assert ("kept", 14) == (story.verdict, story.read)

    def test_itf(self, tmp_path: Path) -> None:
        """A run that the solver found states its mode."""
        model, found = witness(Mode.EXPIRING, plain=True)
        file = tmp_path / "run.itf.json"
        file.write_bytes(json_page(to_itf(model, found, {})))

        story = explain(str(file), None, Bundle.CONTRACT)

        assert ([Mode.EXPIRING], "kept") == (story.modes, story.verdict)


class TestItf:
    def test_same_story(self, tmp_path: Path) -> None:
        """A run in ITF has the story of the events that it carries."""
        model, found = witness(Mode.EXPIRING, plain=True)
        file = tmp_path / "run.itf.json"
        file.write_bytes(json_page(to_itf(model, found, {})))

        story = explain(str(file), Mode.EXPIRING, Bundle.CONTRACT)

        assert "kept" == story.verdict
        assert story.steps

    def test_other_version(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A trace of another specification is refused in one line."""
        file = tmp_path / "run.itf.json"
        file.write_text(json.dumps({"#meta": {"spec": "f" * 64}, "states": []}))

        code, out, err = call(capsys, str(file), "--mode", "expiring")

        assert (2, "") == (code, out)
        assert "of another specification, ffffffffffff" in err
        assert 1 == len(err.splitlines())

    @pytest.mark.parametrize("content", [b"{", b"[]", b'{"#meta": {}, "states": []}', b"\xff\x00"])
    def test_not_itf(
        self, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """What is no ITF is refused in one line."""
        file = tmp_path / "run.itf.json"
        file.write_bytes(content)

        code, _, err = call(capsys, str(file), "--mode", "expiring")

        assert 2 == code
        assert 1 == len(err.splitlines())


class TestCommand:
    @pytest.mark.parametrize(
        ("name", "more", "expected"),
        [
            ("hard_protected_refusal", [], 0),
            ("hard_protected_victim", [], 1),
            ("hard_protected_victim", ["--claim", "nobody"], 3),
        ],
    )
    def test_exit_codes(
        self, name: str, more: list[str], expected: int, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The exit code is the monitor's: kept, violated, inconclusive."""
        trace = str(SAMPLES / f"{name}.jsonl")

        assert expected == call(capsys, trace, "--mode", "hard_protected", *more)[0]

    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The JSON has a schema, the verdict and every eventful line."""
        trace = str(SAMPLES / "allocator_refusal.jsonl")

        _, out, _ = call(capsys, trace, "--mode", "hard_protected", "--format", "json")

        story = json.loads(out)
        assert "resident-claims/story/1" == story["schema"]
        assert "kept" == story["verdict"]
        assert 60 < len(story["steps"])

    def test_over_the_trace(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A trace is not written over by its own story."""
        trace = tmp_path / "t.jsonl"
        trace.write_bytes((SAMPLES / "offloadable_restore.jsonl").read_bytes())
        code, _, err = call(capsys, str(trace), "--mode", "offloadable", "-o", str(trace))
        assert (2, True) == (code, "it is also an input" in err)
        assert trace.read_bytes().startswith(b"{")

    def test_output(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """-o writes what would have been printed."""
        trace = str(SAMPLES / "offloadable_restore.jsonl")
        _, printed, _ = call(capsys, trace, "--mode", "offloadable")

        code, out, _ = call(
            capsys, trace, "--mode", "offloadable", "-o", str(tmp_path / "new" / "story.txt")
        )

        assert (0, "") == (code, out)
        assert printed == (tmp_path / "new" / "story.txt").read_text()

    def test_gzip(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Whatever the monitor reads can be explained, compressed files too."""
        file = tmp_path / "trace.jsonl.gz"
        file.write_bytes(gzip.compress((SAMPLES / "hard_protected_refusal.jsonl").read_bytes()))

        assert 0 == call(capsys, str(file), "--mode", "hard_protected")[0]

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["no_such.jsonl", "--mode", "expiring"], "no such file"),
            (["-x"], "No such option"),
            (["t.jsonl", "--mode", "expirin"], "did you mean expiring?"),
            (["t.jsonl", "--mode", "expiring", "--bundle", "papr"], "did you mean paper?"),
            (["t.jsonl", "--mode", "expiring"], "t.jsonl:1: "),
            (["t.jsonl", "--claim", ""], "it names no claim"),
            (["no_such.itf.json", "--mode", "expiring"], "No such file"),
        ],
    )
    def test_bad_input(
        self,
        arguments: list[str],
        said: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """What is wrong with the input is reported in one line, as the monitor says it; exit 2."""
        monkeypatch.chdir(tmp_path)
        Path("t.jsonl").write_text('{"kind": 7}\n')

        code, out, err = call(capsys, *arguments)

        assert (2, "") == (code, out)
        assert said in err
        assert 1 == len(err.splitlines())
