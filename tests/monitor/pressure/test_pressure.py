"""Influence is shown by runs with priorities as given, swapped and equal, and by no less."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from monitor.__main__ import main
from monitor.cli.pages import schema as schema_of
from monitor.pressure.judge import Influence, decide
from monitor.pressure.run import Arm, First, Run, read_run
from tests.monitor.watch.engine import Engine, line, prompt
from tests.monitor.watch.watching import write_registry
from tests.schemas import faults

SAMPLES = Path(__file__).parents[3] / "monitor/samples/pressure"
NAMES = ("a", "b")
Capture = pytest.CaptureFixture[str]


def sample(name: str) -> str:
    return str(SAMPLES / f"{name}.jsonl")


def of(
    file: str, arm: Arm, first: First | None, why: str = "", *, older: str = "a", **more: Any
) -> Run:
    """A run of the two claims."""
    usual: dict[str, Any] = {"names": NAMES, "about": (("x",), ("y",))}
    return Run(file, older=older, arm=arm, first=first, why=why, **(usual | more))


def runs(**counts: tuple[First | None, int]) -> list[Run]:
    """So many runs of each arm, in which this claim lost a block first."""
    return [
        of(f"{arm} {n}", Arm(arm), first, "" if first else "no claim lost a block")
        for arm, (first, number) in counts.items()
        for n in range(number)
    ]


def altered(folder: Path, change: Any, name: str = "original") -> str:
    """The file of a sample, with its lines changed and numbered again."""
    lines = [json.loads(text) for text in Path(sample(name)).read_text().splitlines()]
    path = folder / "run.jsonl"
    changed = [{**each, "sequence": n} for n, each in enumerate(change(lines))]
    path.write_text("".join(json.dumps(each) + "\n" for each in changed))
    return str(path)


def lru_run(
    folder: Path, priorities: tuple[int, int], *, older: str = "a", salt: str = "", **fields: Any
) -> str:
    """A run of an engine that evicts the least recently used block at any priority.

    Args:
        salt: of the requests.
        fields: of the registry.
    """
    folder.mkdir()
    prompts = {name: prompt(name, 3) for name in NAMES}
    claims = [
        {"id": n, "tokens": prompts[n], "mode": "soft_priority", "priority": p}
        for n, p in zip(NAMES, priorities, strict=True)
    ]
    engine = Engine(7)
    for name in sorted(NAMES, key=lambda name: name != older):
        engine.serve(prompts[name], salt=salt)
    engine.serve(prompt("x", 3))
    capture = folder / "capture.jsonl"
    began = 100 * priorities[0]  # a run of its own has times of its own
    lines = [line(n, events, began + n) for n, events in enumerate(engine.batches)]
    capture.write_bytes(b"\n".join(lines) + b"\n")
    return f"{write_registry(folder, claims, **fields)}={capture}"


class TestDecide:
    def test_shown(self) -> None:
        """The papers' counts: 5 of 5, 5 of 5, and 3 controls."""
        found = decide(
            runs(original=(First.LOWER, 5), swapped=(First.LOWER, 5), equal=(First.SAME_EVENT, 3))
        )
        assert found.influence is Influence.SHOWN
        assert "5/5 original, 5/5 swapped" in found.why

    @pytest.mark.parametrize("arm", [Arm.ORIGINAL, Arm.SWAPPED])
    def test_absent(self, arm: Arm) -> None:
        """One run in which the higher claim was taken from is enough against it."""
        most = runs(original=(First.LOWER, 5), swapped=(First.LOWER, 5), equal=(First.A, 3))
        found = decide([*most, of("odd", arm, First.HIGHER)])
        assert found.influence is Influence.ABSENT
        assert f"in 1 of 6 {arm} runs" in found.why

    @pytest.mark.parametrize("arm", Arm)
    def test_missing_arm(self, arm: Arm) -> None:
        """Without one of the three arms nothing is shown."""
        every = runs(original=(First.LOWER, 5), swapped=(First.LOWER, 5), equal=(First.B, 3))
        found = decide([run for run in every if run.arm is not arm])
        assert (found.influence, arm in found.why) == (Influence.INCONCLUSIVE, True)

    def test_unclear(self) -> None:
        """A run that shows nothing leaves it open."""
        every = runs(original=(First.LOWER, 5), swapped=(First.LOWER, 5), equal=(First.B, 3))
        found = decide([*every, of("bad", Arm.EQUAL, None, "a gap")])
        assert found.influence is Influence.INCONCLUSIVE
        assert found.unclear == {"bad": "a gap"}

    @pytest.mark.parametrize(
        "other", [{"names": ("a", "c")}, {"about": (("y",), ("x",))}], ids=["names", "objects"]
    )
    def test_other_claims(self, other: dict[str, Any]) -> None:
        """All runs have the same two claims, on the same objects."""
        every = runs(original=(First.LOWER, 1), swapped=(First.LOWER, 1), equal=(First.B, 1))
        found = decide([*every, of("other", Arm.EQUAL, First.A, **other)])
        assert (found.influence, "same two" in found.why) == (Influence.INCONCLUSIVE, True)

    def test_age(self) -> None:
        """Where the lower claim is the older one in each run, its age may have decided."""
        every = [
            of("1", Arm.ORIGINAL, First.LOWER, older="b"),
            of("2", Arm.SWAPPED, First.LOWER, older="a"),
            of("3", Arm.EQUAL, First.A),
        ]
        found = decide(every)
        assert (found.influence, "age" in found.why) == (Influence.INCONCLUSIVE, True)

    def test_any(self) -> None:
        """Influence is shown exactly if every run with unequal priorities agrees, and all arms are
        there.
        """
        rng = random.Random(7)
        for _ in range(2000):
            chosen = []
            for n, arm in enumerate(rng.choices([*Arm], k=rng.randrange(8))):
                of_equal = [First.A, First.B, First.SAME_EVENT]
                of_others = [First.LOWER] * 6 + [First.HIGHER, None]
                first = rng.choice(of_equal if arm is Arm.EQUAL else of_others)
                chosen.append(of(str(n), arm, first, "" if first else "unclear"))
            agree = all(r.first is First.LOWER for r in chosen if r.arm is not Arm.EQUAL)
            whole = agree and {r.arm for r in chosen} == {*Arm}
            assert (decide(chosen).influence is Influence.SHOWN) is whole


class TestRuns:
    @pytest.mark.parametrize(
        ("name", "arm", "first"),
        [
            ("original", Arm.ORIGINAL, First.LOWER),
            ("swapped", Arm.SWAPPED, First.LOWER),
            ("equal", Arm.EQUAL, First.A),
        ],
    )
    def test_samples(self, name: str, arm: Arm, first: First) -> None:
        """A trace says which arm it is, and which claim lost a block first."""
        run = read_run(sample(name))
        assert (run.names, run.arm, run.first) == (("claim:a", "claim:b"), arm, first)

    def changed(self, folder: Path, change: Any) -> Run:
        """The original sample, with its lines changed."""
        lines = [json.loads(text) for text in Path(sample("original")).read_text().splitlines()]
        path = folder / "run.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in change(lines)))
        return read_run(str(path))

    def test_gap(self, tmp_path: Path) -> None:
        """A run with a gap shows nothing."""
        run = self.changed(tmp_path, lambda lines: [*lines[:3], *lines[4:]])
        assert (run.first, "lines are missing" in run.why) == (None, True)

    def test_unreported(self, tmp_path: Path) -> None:
        """Nor does one whose losses are not reported for the claims."""

        def unreported(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
            reports = ("claim_unmaterialized", "claim_block_lost")
            kept = [each for each in lines if each["kind"] not in reports]
            return [{**each, "sequence": n} for n, each in enumerate(kept)]

        run = self.changed(tmp_path, unreported)
        assert run.first is None
        assert "claim_scoped_telemetry is violated" in run.why

    def test_reset(self, tmp_path: Path) -> None:
        """A loss to a reset is no choice of a victim."""

        def reset(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
            return [
                {k: v for k, v in x.items() if k not in ("request_id", "lowest_priority")}
                | {"kind": "block_lost"}
                if x["kind"] == "block_evicted"
                else x
                for x in lines
            ]

        run = self.changed(tmp_path, reset)
        assert (run.first, run.why) == (None, "the first loss was no eviction")

    def test_no_pressure(self, tmp_path: Path) -> None:
        """A run without a loss shows nothing."""
        run = self.changed(tmp_path, lambda lines: lines[:10])
        assert (run.first, run.why) == (None, "no claim lost a block: there was no pressure")

    def test_one_claim(self, tmp_path: Path) -> None:
        """A run has two claims."""
        run = self.changed(tmp_path, lambda lines: lines[:5])
        assert (run.arm, run.why) == (None, "1 claim of soft_priority; two are needed")

    def test_other_mode(self, tmp_path: Path) -> None:
        """A claim of another mode is none of the two, also where its acceptance states no mode."""

        def hard(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
            name = {"claim_id": "claim:hard", "object_id": "prefix:hard"}
            stated = {key: value for key, value in lines[0].items() if key != "priority"}
            registered = {**stated, **name, "mode": "hard_protected"}
            accepted = {**registered, "kind": "claim_accepted"}
            del accepted["mode"]
            return [registered, accepted, *lines]

        assert self.changed(tmp_path, hard).names == ("claim:a", "claim:b")
        run = self.changed(tmp_path, lambda lines: hard(lines)[:2])
        why = "0 claims of soft_priority, 1 of hard_protected; two are needed"
        assert (run.arm, run.why) == (None, why)


class TestAttacks:
    """Runs that once were called `shown`, or accused, and are neither."""

    def changed(self, folder: Path, change: Any, name: str = "original") -> Run:
        """A sample, with its lines changed and numbered again."""
        return read_run(altered(folder, change, name))

    def test_two_streams(self, tmp_path: Path) -> None:
        """The claims are on one engine."""

        def split(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
            return [
                {**x, "stream": "other"} if x.get("claim_id") == "claim:b" else x for x in lines
            ]

        assert self.changed(tmp_path, split).first is None

    @pytest.mark.parametrize("kind", ["claim_accepted", "claim_registered"])
    def test_two_priorities(self, kind: str, tmp_path: Path) -> None:
        """A priority that is stated again is the same."""

        def again(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
            more = {**lines[0], "kind": kind, "priority": 1, "time_ns": lines[9]["time_ns"]}
            return [*lines[:10], more, *lines[10:]]

        run = self.changed(tmp_path, again)
        assert run.why == "claim claim:a is stated twice, or with two priorities"

    def test_in_use(self, tmp_path: Path) -> None:
        """If no block of the lower claim could be taken, the higher one had to lose."""

        def only_higher(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
            return [
                {**each, "lowest_priority": 9} if each["kind"] == "block_evicted" else each
                for each in lines
            ]

        run = self.changed(tmp_path, only_higher, "swapped")
        run = read_run(str(tmp_path / "run.jsonl"))
        assert run.first is not First.HIGHER

    def test_passed_over(self, tmp_path: Path) -> None:
        """A run in which check finds the influence violated never counts for it."""

        def later(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
            at = [n for n, each in enumerate(lines) if each["kind"] == "block_evicted"][1]
            report = {**lines[at + 1], "kind": "claim_unmaterialized", "claim_id": "claim:a"}
            return [*lines[:at], {**lines[at], "block_ids": [1]}, report, lines[-1]]

        assert self.changed(tmp_path, later).first is First.HIGHER

    def test_two_modes(self, tmp_path: Path) -> None:
        """An id that is a claim of another mode elsewhere makes the run unclear."""

        def elsewhere(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
            more = {**lines[0], "mode": "hard_protected", "time_ns": lines[5]["time_ns"]}
            return [*lines[:6], more, *lines[6:]]

        assert self.changed(tmp_path, elsewhere).first is None

    def test_twice(self, tmp_path: Path, capsys: Capture) -> None:
        """A file that is named twice is one run, and so is a copy of it, however it is spaced."""
        path, copy = Path(sample("original")), tmp_path / "copy.jsonl"
        copy.write_text(path.read_text().replace('":', '": '))
        runs = [str(path), str(path), str(copy)]
        main(["pressure", *runs, "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        assert (found["arms"]["original"]["runs"], [*found["copies"]]) == (1, runs[1:])

    def test_one_capture(self, tmp_path: Path) -> None:
        """Three registries do not make three runs of one capture."""
        runs = [lru_run(tmp_path / f"{n}", two) for n, two in enumerate([(1, 9), (9, 1), (5, 5)])]
        capture = runs[0].partition("=")[2]
        found = decide([read_run(f"{run.partition('=')[0]}={capture}") for run in runs])
        assert [arm.runs for arm in found.arms.values()] == [0, 1, 0]


def after_the_loss(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The claims are registered when a block was evicted, and said to have been cached."""
    named = [each for each in lines if each["kind"] == "claim_registered"]
    cached = [each for each in lines if each["kind"] == "claim_materialized"]
    rest = [each for each in lines if each not in (*named, *cached)]
    at = next(n for n, each in enumerate(rest) if each["kind"] == "claim_unmaterialized")
    late = [{**each, "time_ns": rest[at - 1]["time_ns"]} for each in (*named, *cached)]
    return [*rest[:at], *late, *rest[at:]]


def another_owner(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A claim is accepted for an owner that did not register it."""
    accepted = {**lines[0], "kind": "claim_accepted", "owner_scope": "another"}
    return [lines[0], accepted, *lines[1:]]


def late_owner(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A claim is registered for nobody, and accepted for two owners."""
    _, accepted, *rest = another_owner(lines)
    unowned = {name: value for name, value in lines[0].items() if name != "owner_scope"}
    return [unowned, accepted, {**accepted, "owner_scope": "team"}, *rest]


def salted(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A claim is accepted for the prefix under a salt."""
    accepted = {**lines[0], "kind": "claim_accepted", "cache_identity": "example-model salt=1"}
    return [lines[0], accepted, *lines[1:]]


def one_event(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Both claims lose a block to one eviction."""
    at = next(n for n, each in enumerate(lines) if each["kind"] == "block_evicted")
    lost = [{**lines[at + 1], "claim_id": f"claim:{name}"} for name in "ab"]
    return [*lines[:at], {**lines[at], "block_ids": [3, 1]}, *lost, lines[-1]]


class TestControls:
    """The papers' controls: none of them shows influence, nor counts against it."""

    def others(self) -> list[str]:
        return [sample("swapped"), sample("equal")]

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            (after_the_loss, "claim_scoped_telemetry is"),
            (another_owner, "two owners, or about two objects"),
            (late_owner, "two owners, or about two objects"),
            (salted, "two owners, or about two objects"),
            (one_event, "both claims lost a block in one event"),
        ],
    )
    def test_trace(self, change: Any, why: str, tmp_path: Path, capsys: Capture) -> None:
        """Beside runs that would show influence, such a trace is unclear."""
        assert main(["pressure", altered(tmp_path, change), *self.others()]) == 3
        assert why in " ".join(capsys.readouterr().out.split())

    @pytest.mark.parametrize("field", ["owner_scope", "object_id", "cache_identity", "predicate"])
    def test_mismatch(self, field: str, tmp_path: Path, capsys: Capture) -> None:
        """A run for another owner, or of another object or cache identity, is of other claims."""
        other = {field: "leading_prefix_at_least(1)"}
        run = altered(tmp_path, lambda lines: [lines[0] | other, *lines[1:]])
        assert main(["pressure", run, *self.others()]) == 3
        assert "the same two claims" in " ".join(capsys.readouterr().out.split())

    @pytest.mark.parametrize(
        ("more", "why"),
        [
            ({"salt": "x"}, "reusable_object_id not observable"),
            ({"registered": "2026-01-01T00:00:00Z"}, "0 claims of soft_priority"),
            ({"block_size": 2}, "fixed_cache_identity not met"),
        ],
        ids=["salted", "named_after_the_fact", "cache_mismatch"],
    )
    def test_capture(self, more: dict[str, Any], why: str, tmp_path: Path, capsys: Capture) -> None:
        """So is a capture of requests with a salt, of before the registry, or of other blocks."""
        arms = {"original": (9, 1), "swapped": (1, 9), "equal": (5, 5)}
        runs = [lru_run(tmp_path / arm, two, **more) for arm, two in arms.items()]
        assert main(["pressure", *runs]) == 3
        assert why in " ".join(capsys.readouterr().out.split())

    def test_partial_capture(self, tmp_path: Path, capsys: Capture) -> None:
        """So is a capture without one of its batches, and a precondition is not met."""
        run = lru_run(tmp_path / "run", (9, 1))
        capture = Path(run.partition("=")[2])
        lines = capture.read_bytes().splitlines(keepends=True)
        capture.write_bytes(b"".join([lines[0], *lines[2:]]))
        assert main(["pressure", run]) == 3
        assert "joinable_backend_events not met" in " ".join(capsys.readouterr().out.split())


class TestCaptures:
    def test_lru(self, tmp_path: Path) -> None:
        """An engine that knows no priorities: the claim that is older loses, whichever it is."""
        arms = {"original": (9, 1), "swapped": (1, 9), "equal": (5, 5)}
        found = decide([read_run(lru_run(tmp_path / arm, two)) for arm, two in arms.items()])
        assert found.influence is Influence.ABSENT
        firsts = {arm: (c.lower, c.higher, c.a) for arm, c in found.arms.items()}
        assert firsts == {"original": (0, 1, 0), "swapped": (1, 0, 0), "equal": (0, 0, 1)}
        assert [len(each) for each in found.preconditions.values()] == [9, 9, 9]

    def test_preconditions(self, tmp_path: Path, capsys: Capture) -> None:
        """The preconditions of the join are printed, and that it is no evidence of enforcement."""
        main(["pressure", lru_run(tmp_path / "run", (9, 1))])
        out = capsys.readouterr().out
        assert "preconditions of a telemetry join: 9 of 9 met" in out
        assert "it is no evidence of enforcement" in out


class TestCommand:
    def test_text(self, capsys: Capture) -> None:
        """The samples show influence, in a table that fits."""
        assert main(["pressure", *map(sample, ("original", "swapped", "equal"))]) == 0
        out = capsys.readouterr().out
        assert "priority_influence shown: the lower claim lost a block first in 1/1" in out
        assert max(map(len, out.splitlines())) <= 80

    def test_json(self, capsys: Capture) -> None:
        """JSON is as its schema says."""
        assert main(["pressure", sample("original"), "--format", "json"]) == 3
        found, schema = json.loads(capsys.readouterr().out), schema_of("pressure/1")
        assert faults(found, schema, schema) == []
        assert found["influence"] == "inconclusive"

    def test_registry_alone(self, capsys: Capture) -> None:
        """A registry without a capture is named for what it is, with the form that is read."""
        assert main(["pressure", str(SAMPLES.parent / "watch/registry.yaml")]) == 2
        err = capsys.readouterr().err
        assert "it looks like a registry of claims" in err
        assert "pressure REGISTRY=CAPTURE" in err

    @pytest.mark.parametrize("run", ["gone.jsonl", "gone.yaml=gone.jsonl", f"={sample('equal')}"])
    def test_refused(self, run: str, capsys: Capture) -> None:
        """A file that is not there is bad input."""
        assert main(["pressure", run]) == 2
        assert "error:" in capsys.readouterr().err
