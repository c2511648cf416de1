"""`watch` shows changes as they come, and ends with a verdict, a table and the preconditions."""

from __future__ import annotations

import json
from email.message import Message
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from monitor.__main__ import main
from monitor.cli.pages import schema as schema_of
from monitor.watch import command as module
from monitor.watch.command import Watch
from monitor.watch.join import Join
from monitor.watch.preconditions import Met, preconditions
from monitor.watch.prefixes import Tree
from monitor.watch.registry import load_registry
from spec.language.errors import SpecError
from spec.lowering.depths import Precondition
from tests.monitor.follow.receiver import receiving
from tests.monitor.watch.engine import Engine, line, prompt
from tests.monitor.watch.watching import write_registry
from tests.schemas import faults

HOT, COLD = prompt("hot", 3), prompt("cold", 2)
CLAIMS = [{"id": "hot", "tokens": HOT}, {"id": "cold", "tokens": COLD}]
SAMPLES = Path(__file__).parents[3] / "monitor/samples/watch"
Capture = pytest.CaptureFixture[str]


def capture(
    folder: Path, *numbers: int, blocks: int = 100, claims: Any = None, **fields: Any
) -> list[str]:
    """The arguments that watch what an engine published: batches of these numbers, or all."""
    engine = Engine(blocks)
    for each in (HOT, COLD, prompt("x", 2)):
        engine.serve(each)
    path = folder / "capture.jsonl"
    chosen = numbers or range(len(engine.batches))
    path.write_bytes(b"\n".join(line(n, engine.batches[n], 60 * n) for n in chosen) + b"\n")
    return [
        "watch",
        str(write_registry(folder, claims or CLAIMS, **fields)),
        str(path),
        "--until-eof",
    ]


class TestText:
    def test_growing(
        self, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A file that is followed as it grows is said to be, before anything is read."""

        def followed(*_: object) -> None:
            raise SpecError("stopped", "")

        monkeypatch.setattr(module, "followed", followed)
        args = capture(tmp_path)
        assert main(args) == 2
        assert "as it grows" not in capsys.readouterr().err
        assert main([each for each in args if each != "--until-eof"]) == 2
        assert "capture.jsonl: followed as it grows; --until-eof" in capsys.readouterr().err

    def test_sample(self, capsys: Capture) -> None:
        """The sample: one claim stays, and one is lost."""
        paths = (str(SAMPLES / name) for name in ("registry.yaml", "capture.jsonl"))
        assert main(["watch", *paths, "--until-eof"]) == 0
        out = capsys.readouterr().out
        assert "system-prompt  held, 2 of 2 on the GPU\n" in out
        said = "kept: every change of 2 claims was observed: 1 held, 1 absent, 0 unknown; 0 gaps"
        assert f"{said}, 1 loss" in " ".join(out.split())
        assert "preconditions of a join: 9 of 9 met\n" in out
        assert max(map(len, out.split("\n\n", 1)[1].splitlines())) <= 80

    def test_changes(self, tmp_path: Path, capsys: Capture) -> None:
        """A line for each change, with its time and its cause."""
        assert main(capture(tmp_path, blocks=5)) == 0
        out = capsys.readouterr().out.splitlines()
        assert out[:4] == [
            "1970-01-01T00:00:00.000Z  engine  hot  held, 3 of 3 on the GPU",
            "1970-01-01T00:00:00.000Z  engine  cold  absent, 0 of 2 on the GPU: not stored yet",
            "1970-01-01T00:01:00.000Z  engine  cold  held, 2 of 2 on the GPU",
            "1970-01-01T00:02:00.000Z  engine  hot  absent, 0 of 3 (1 held) on the GPU: "
            "blocks 0-1 removed in batch 2, which stored 2 blocks",
        ]

    def test_end_of_second(self, tmp_path: Path, capsys: Capture) -> None:
        """The seconds and the milliseconds of a line are of one time."""
        command = capture(tmp_path)
        Path(command[2]).write_bytes(line(0, [], 1_764_000_000.9999998) + b"\n")
        main(command)
        assert capsys.readouterr().out.startswith("2025-11-24T16:00:00.999Z")

    def test_never_stored(self, tmp_path: Path, capsys: Capture) -> None:
        """A claim that was never stored cannot be judged, also if the others can."""
        assert main(capture(tmp_path, claims=[*CLAIMS, {"id": "z", "tokens": [1] * 8}])) == 3
        said = "1 of 3 claims could not be judged, z: not all of their blocks were stored"
        assert said in " ".join(capsys.readouterr().out.split())

    def test_gap(self, tmp_path: Path, capsys: Capture) -> None:
        """A missing batch is named, and a precondition is not met."""
        assert main([*capture(tmp_path, 0, 1), "-v"]) == 0
        assert " met " in capsys.readouterr().out
        assert main(capture(tmp_path, 0, 2)) == 3
        out = capsys.readouterr().out
        assert "joinable_backend_events  not met  1 break; first: lines are missing" in out

    def test_newer(self, tmp_path: Path, capsys: Capture) -> None:
        """A registry that is newer than the capture is named as the cause."""
        assert main(capture(tmp_path, registered=None)) == 3
        assert "state registered if the file is newer" in " ".join(capsys.readouterr().out.split())


class TestJson:
    def test_lines(self, tmp_path: Path, capsys: Capture) -> None:
        """Each line but verdicts is as the schema says; the last one has the end."""
        schema = schema_of("watched/1")
        assert main([*capture(tmp_path, blocks=5), "--format", "json"]) == 0
        lines = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
        ours = [each for each in lines if "watched" in each["schema"]]
        assert [faults(each, schema, schema) for each in ours] == [[]] * len(ours)
        assert lines[-1]["verdict"] == "kept"
        assert len(lines[-1]["preconditions"]) == 9
        losses = {e["claim_id"]: e["losses"] for e in lines[-1]["engines"][0]["claims"]}
        assert losses == {"hot": 1, "cold": 0}


class TestPrivate:
    def test_tokens(self, tmp_path: Path, capsys: Capture) -> None:
        """Token ids and salts are in no output and in no verdict."""
        tokens = [900_000_000 + n for n in range(8)]
        claims = [{"id": "a", "tokens": tokens, "salt": "the-salt"}]
        engine = Engine(10)
        engine.serve(tokens, salt="the-salt")
        path, verdicts = tmp_path / "c.jsonl", tmp_path / "v.jsonl"
        path.write_bytes(line(0, engine.batches[0], 1) + b"\n")
        registry = str(write_registry(tmp_path, claims))
        more = ["--verdicts", str(verdicts), "--checkpoint", str(tmp_path / "checkpoints")]
        for form in ("text", "json"):
            args = ["watch", registry, str(path), "--until-eof", "--format", form]
            assert main([*args, *(more if form == "text" else [])]) == 0
        written = b"".join(p.read_bytes() for p in (tmp_path / "checkpoints").rglob("*.*"))
        text = capsys.readouterr().out + verdicts.read_text() + repr(written)
        assert '"a"' in text
        assert "the-salt" not in text
        assert not any(str(token) in text for token in tokens)


class TestRefused:
    @pytest.mark.parametrize(
        ("registry", "said"),
        [("gone.yaml", "cannot read"), ("", "it is empty"), ("a: [", "not YAML")],
    )
    def test_registry(self, registry: str, said: str, tmp_path: Path, capsys: Capture) -> None:
        """A registry that is none ends with 2, and says what is wrong."""
        path = tmp_path / "registry.yaml"
        if registry != "gone.yaml":
            path.write_text(registry)
        assert main(["watch", str(path), str(SAMPLES / "capture.jsonl"), "--until-eof"]) == 2
        assert said in capsys.readouterr().err

    def test_other_lines(self, tmp_path: Path, capsys: Capture) -> None:
        """Lines that are no KV events are refused; if there are no others, that is bad input."""
        path = tmp_path / "trace.jsonl"
        path.write_bytes((SAMPLES.parent / "hard_protected_refusal.jsonl").read_bytes())
        assert main(["watch", str(SAMPLES / "registry.yaml"), str(path), "--until-eof"]) == 2


class TestOpenEnds:
    def test_no_replay(self, tmp_path: Path) -> None:
        """Without a replay it is not observable whether the last batch of a socket came."""
        watching = load_registry(write_registry(tmp_path, CLAIMS))
        tree = Tree(watching.claims, watching.block_size)
        join = Join(watching, tree, "engine", lambda _: None)
        found = preconditions(watching, [join], open_ends=["no replay shows it"])
        (joinable,) = (e for e in found if e.precondition is Precondition.JOINABLE_EVENTS)
        assert (joinable.met, joinable.evidence) == (Met.NOT_OBSERVABLE, "no replay shows it")


class TestLosses:
    def posted(self, args: list[str], option: str = "--webhook") -> list[tuple[str, Any]]:
        """What is posted while a capture is watched, with its key."""

        def keep(_: str, headers: Message, body: bytes) -> tuple[str, Any]:
            return headers["Idempotency-Key"], json.loads(body)

        with receiving(keep, (200,)) as (url, posts):
            main([*args, option, url])
        return posts

    def test_posted(self, tmp_path: Path) -> None:
        """A loss is posted with its cause, under one id each time, and as the schema says."""
        args, schema = capture(tmp_path, blocks=5), schema_of("watched/1")
        (key, loss), *others = self.posted(args)
        assert [] == others
        assert [] == faults(loss, schema, schema)
        assert {
            "schema": "resident-claims/watched-loss/1",
            "id": key,
            "stream": "engine",
            "claim_id": "hot",
            "mode": "best_effort",
            "time_ns": 120_000_000_000,
            "tier": "gpu",
            "needed": 3,
            "held": 1,
            "why": "blocks 0-1 removed in batch 2, which stored 2 blocks",
        } == loss
        assert [(key, loss)] == self.posted(args)

    def test_log_record(self, tmp_path: Path) -> None:
        """A collector is told the same, as a warning among the verdicts."""
        posts = self.posted(capture(tmp_path, blocks=5), "--otlp")
        records = [
            record
            for _, body in posts
            for record in body["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
        ]
        (loss,) = (each for each in records if each["eventName"] == "resident_claims.loss")
        assert "WARN" == loss["severityText"]
        assert "hot" == json.loads(loss["body"]["stringValue"])["claim_id"]

    def test_none(self, tmp_path: Path) -> None:
        """Where no prefix is lost, none is posted; nor is one that was lost before the registry."""
        assert [] == self.posted(capture(tmp_path))
        assert [] == self.posted(capture(tmp_path, blocks=5, registered="1970-01-01T00:02:30Z"))

    def test_unknown(self, tmp_path: Path) -> None:
        """A prefix that may have been lost in a missing batch is not reported as lost."""
        assert [] == self.posted(capture(tmp_path, 0, 2, blocks=100))


class TestMetrics:
    def watched(self, folder: Path, *sources: str, by_claim: bool = True) -> Watch:
        """What is watched once each source has published the capture."""
        _, registry, path, _ = capture(folder, blocks=5)
        asked: Any = SimpleNamespace(json=False, sources=sources)
        watch = Watch(load_registry(Path(registry)), asked, by_claim=by_claim)
        for source in sources:
            reader = watch.reader(source)
            for number, text in enumerate(Path(path).read_bytes().splitlines(), 1):
                reader.feed(text, number)
        return watch

    def test_by_claim(self, tmp_path: Path) -> None:
        """Each claim has its blocks and its losses, where that was asked for, and else not."""
        samples = self.watched(tmp_path, "s").samples()
        assert {
            ("engine", "hot", "needed"): 3,
            ("engine", "hot", "held"): 1,
            ("engine", "hot", "unknown"): 0,
            ("engine", "cold", "needed"): 2,
            ("engine", "cold", "held"): 2,
            ("engine", "cold", "unknown"): 0,
        } == dict(samples["watched_claim_blocks"])
        losses = {("engine", "hot"): 1, ("engine", "cold"): 0}
        assert losses == dict(samples["watched_claim_losses"])
        others = self.watched(tmp_path, "s", by_claim=False).samples()
        assert not any("watched_claim_" in key for key in others)
        assert "hot" not in str([[*each] for each in others.values()])

    def test_bounded(
        self, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Claims on more engines than the bound allows have none, which is said once."""
        monkeypatch.setattr(module, "MOST_NAMED", 3)
        samples = self.watched(tmp_path, "one", "two", "three").samples()
        assert 6 == len([*samples["watched_claim_blocks"]])
        err = capsys.readouterr().err
        assert "two: claims on further engines have no metrics of their own, 3 have\n" == err

    def test_refused(
        self, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A registry over the bound is refused, and so is the option without --metrics."""
        args = [*capture(tmp_path), "--metrics-by-claim"]
        assert 2 == main(args)
        assert "name the address" in capsys.readouterr().err
        monkeypatch.setattr(module, "MOST_NAMED", 1)
        assert 2 == main([*args, "--metrics", "0"])
        assert "with 2 claims" in " ".join(capsys.readouterr().err.split())
