"""Streams that fooled a join once: each must end without a false word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from monitor.__main__ import main
from spec.stream.outcome import ModeVerdict
from tests.monitor.input.kv_lines import cleared, removed, stored
from tests.monitor.watch.engine import SIZE, Engine, line, prompt
from tests.monitor.watch.test_join import HOT, play, served, states, watched
from tests.monitor.watch.watching import write_registry

Capture = pytest.CaptureFixture[str]


def watch(folder: Path, *lines: bytes, claims: Any = None) -> int:
    """The exit code for lines of a capture."""
    path = folder / "capture.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    registry = write_registry(folder, claims or [{"id": "hot", "tokens": HOT}])
    return main(["watch", str(registry), str(path), "--until-eof"])


def store(keys: list[Any], tokens: list[int], **fields: Any) -> dict[str, Any]:
    """A store of blocks from the beginning of a prompt."""
    usual = {"token_ids": tokens, "block_size": SIZE, "extra_keys": [None] * len(keys)}
    return stored(*keys, **(usual | fields))


class TestLines:
    """Lines beside those of the engine."""

    @pytest.mark.parametrize("kind", ["claim_unmaterialized", "claim_registered"])
    def test_injected(self, kind: str, tmp_path: Path, capsys: Capture) -> None:
        """A line of the canonical form is not of the engine, and no claim is violated."""
        good = line(0, served(HOT).batches[0], 0)
        bad = json.dumps({"kind": kind, "claim_id": "hot", "stream": "engine"}).encode()
        assert watch(tmp_path, good, bad) == 3
        assert "unknown" in capsys.readouterr().out

    @pytest.mark.parametrize("bad", [b"garbage", b'{"frames": ["", ""], "endpoint": "engine"}'])
    def test_unread(self, bad: bytes, tmp_path: Path, capsys: Capture) -> None:
        """A line that cannot be read may be the removal: nothing is known after it."""
        assert watch(tmp_path, line(0, served(HOT).batches[0], 0), bad) == 3
        out = capsys.readouterr().out
        assert "hot    unknown  0 of 3 (3 unknown)" in out
        assert "batches may be missing at the end" in " ".join(out.split())

    def test_goes_on(self, tmp_path: Path, capsys: Capture) -> None:
        """If the next number shows that none is missing, all is known again."""
        lines = [line(n, events, n) for n, events in enumerate([*served(HOT).batches, []])]
        assert watch(tmp_path, lines[0], b"garbage", lines[1]) == 3  # it was a line all the same
        assert "hot    held   3 of 3" in capsys.readouterr().out

    def test_single_events(self, tmp_path: Path) -> None:
        """Of lines with one event each, the first one of a batch may be missing."""
        hashes = served(HOT).hashes(HOT)
        about = {"sequence": 0, "timestamp": 1.0, "endpoint": "engine"}
        lines = [
            json.dumps({**about, "event_index": index, "event": event}).encode()
            for index, event in ((1, store(hashes, HOT)), (2, removed(hashes[0])))
        ]
        assert watch(tmp_path, *lines) == 3

    def test_interrupted_batch(self, tmp_path: Path, capsys: Capture) -> None:
        """A batch of lines with one event each may lack those after a line that is unread."""
        about = {"sequence": 0, "timestamp": 1.0, "endpoint": "engine", "event_index": 0}
        good = json.dumps({**about, "event": served(HOT).batches[0][0]}).encode()
        assert watch(tmp_path, good, b"garbage") == 3
        assert "hot    unknown  0 of 3 (3 unknown)" in capsys.readouterr().out

    def test_second_source_is_empty(self, tmp_path: Path, capsys: Capture) -> None:
        """Of a source without a batch nothing was observed."""
        assert watch(tmp_path, line(0, served(HOT).batches[0], 0)) == 0
        capsys.readouterr()
        other = tmp_path / "empty.jsonl"
        other.write_bytes(b"")
        paths = [str(tmp_path / name) for name in ("registry.json", "capture.jsonl", "empty.jsonl")]
        assert main(["watch", *paths, "--until-eof"]) == 3
        assert f"no batch was read from {other}" in " ".join(capsys.readouterr().out.split())

    def test_losses_before_the_registry(self, tmp_path: Path) -> None:
        """What was lost before the claim was made is no loss of the claim."""
        engine = Engine(4)
        for each in (HOT, prompt("x", 3), HOT):
            engine.serve(each)
        session = watched(tmp_path, registered="1970-01-01T00:00:02Z")
        play(session, *engine.batches)
        standing = session.join.standings["hot"]
        assert (standing.losses, standing.last, str(standing.state)) == (0, None, "held")


class TestNames:
    def test_two_engines_of_one_name(self, tmp_path: Path, capsys: Capture) -> None:
        """The rank of an endpoint is not the stream of an endpoint with its name."""
        events = served(HOT).batches[0]
        one = {"endpoint": "e", "seq": 0, "decoded": [1.0, events, 1]}
        other = {"endpoint": "e rank 1", "seq": 0, "decoded": [1.0, [cleared()], 0]}
        assert watch(tmp_path, *(json.dumps(each).encode() for each in (one, other))) == 3
        assert "two streams are called e rank 1" in capsys.readouterr().err

    def test_one_engine_unjudged(self, tmp_path: Path, capsys: Capture) -> None:
        """What one engine shows is not shown of another."""
        events = served(HOT).batches[0]
        blind = [{k: v for k, v in events[0].items() if k != "extra_keys"}]
        good, bad = (
            {"endpoint": name, "seq": 0, "decoded": [1.0, each, 0]}
            for name, each in (("good", events), ("bad", blind))
        )
        assert watch(tmp_path, *(json.dumps(each).encode() for each in (good, bad))) == 3
        said = "1 of 1 claim could not be judged, hot: events do not state adapters and salts"
        assert said in " ".join(capsys.readouterr().out.split())


class TestStores:
    """Stores that cannot be compared with a prefix."""

    @pytest.mark.parametrize(
        "fields",
        [
            {"extra_keys": []},
            {"extra_keys": [["adapter"]]},
            {"extra_keys": None},
            {"token_ids": []},
            {"token_ids": HOT[:SIZE]},
            {"block_size": 2 * SIZE},
            {"locality": "PEER"},
            {"group_idx": 1},
        ],
        ids=str,
    )
    def test_incomparable(self, fields: dict[str, Any], tmp_path: Path) -> None:
        """Lists of another length, missing tokens, other sizes and places decide nothing."""
        session = play(watched(tmp_path), [store(served(HOT).hashes(HOT), HOT, **fields)])
        assert states(session) == {"hot": "unknown"}

    def test_adapter_by_number(self, tmp_path: Path) -> None:
        """An adapter that is stated by its number alone is not the absence of one."""
        event = store(served(HOT).hashes(HOT), HOT, lora_id=7)
        for field in ("extra_keys", "group_idx", "lora_name"):
            del event[field]
        assert states(play(watched(tmp_path), [event])) == {"hot": "unknown"}

    @pytest.mark.parametrize("salt", [None, "s"])
    def test_fewer_keys(self, salt: str | None, tmp_path: Path) -> None:
        """Where blocks are left out of a store, the rest may be any blocks of the prefix."""
        claim = {"id": "hot", "tokens": HOT} | ({} if salt is None else {"salt": salt})
        event = store(served(HOT).hashes(HOT)[1:], HOT)
        assert states(play(watched(tmp_path, claim), [event])) == {"hot": "unknown"}

    def test_cleared_before(self, tmp_path: Path) -> None:
        """A store that cannot be compared counts after a reset in the same batch, too."""
        blind = store(served(HOT).hashes(HOT), HOT, extra_keys=None)
        first = store(["x"], prompt("x", 1))
        session = play(watched(tmp_path), [first], [cleared(), blind])
        assert states(session) == {"hot": "unknown"}

    def test_later(self, tmp_path: Path) -> None:
        """A claim that is judged is inconclusive once a store cannot be compared."""
        session = play(watched(tmp_path), *served(HOT).batches, [cleared()])
        play(session, [store(["x"], prompt("x", 1), extra_keys=None)], first=2)
        assert states(session) == {"hot": "unknown"}
        assert session.finish().verdict is ModeVerdict.INCONCLUSIVE

    @pytest.mark.parametrize(
        ("claim", "extra", "fields"),
        [
            ({"adapter": "x"}, ["x"], {}),
            ({"salt": "x"}, ["x"], {"lora_name": "x", "lora_id": 1}),
            ({"salt": "7"}, [7], {}),
        ],
        ids=["salt for adapter", "adapter for salt", "number for text"],
    )
    def test_kinds_of_extras(
        self, claim: dict[str, Any], extra: list[Any], fields: dict[str, Any], tmp_path: Path
    ) -> None:
        """An adapter is no salt, and a number is no text."""
        tokens = HOT[:SIZE]
        event = store(["h"], tokens, extra_keys=[extra], **fields)
        session = play(watched(tmp_path, {"id": "hot", "tokens": tokens, **claim}), [event])
        assert states(session) == {"hot": "absent"}

    def test_child_before_parent(self, tmp_path: Path) -> None:
        """Stores of one batch are joined in the order of their parents."""
        hashes = served(HOT).hashes(HOT)
        child = store(hashes[1:], HOT[SIZE:], parent_block_hash=hashes[0])
        session = play(watched(tmp_path), [child, store(hashes[:1], HOT[:SIZE])])
        assert states(session) == {"hot": "held"}


class TestRemovals:
    def test_not_held_and_not_judged(self, tmp_path: Path, capsys: Capture) -> None:
        """Nor is anything kept if the claim was not judged yet."""
        engine = served(HOT[:SIZE])
        gone = removed(engine.hashes(HOT[:SIZE])[0])
        batches = [*engine.batches, [gone], [gone]]
        assert watch(tmp_path, *(line(n, events, n) for n, events in enumerate(batches))) == 3
        said = "1 break; first: a block that was not held was removed"
        assert said in " ".join(capsys.readouterr().out.split())

    def test_not_held(self, tmp_path: Path) -> None:
        """The removal of a block that was known to be gone shows that a copy of it was missed."""
        engine = served(HOT)
        gone = removed(engine.hashes(HOT)[0])
        session = play(watched(tmp_path), *engine.batches, [gone], [gone])
        assert session.finish().verdict is ModeVerdict.INCONCLUSIVE


class TestWindows:
    def test_part_of_a_prefix(self, tmp_path: Path) -> None:
        """With windows a claim on a part of its prefix is not evaluated: a longer hit may do."""
        hashes = served(HOT).hashes(HOT)
        window = {"kv_cache_spec_kind": "sliding_window", "kv_cache_spec_sliding_window": 2}
        events = [
            store(hashes, HOT, kv_cache_spec_kind="full_attention"),
            store(hashes[2:], HOT, group_idx=1, **window),
        ]
        part = {"id": "part", "tokens": HOT, "predicate": "leading_prefix_at_least(2)"}
        claims = [part, {"id": "whole", "tokens": HOT}]
        session = play(watched(tmp_path, *claims), events)
        assert states(session) == {"part": "unknown", "whole": "held"}


class TestStreams:
    def test_many(self, tmp_path: Path) -> None:
        """Very many streams share one tree of prefixes."""
        events = Engine(10)
        events.serve(HOT)
        lines = [
            json.dumps({"endpoint": f"e{n}", "seq": 0, "decoded": [1.0, events.batches[0], 0]})
            for n in range(300)
        ]
        session = watched(tmp_path)
        for each in lines:
            session.take(each.encode())
        assert len(session.joins) == 300
        assert {str(j.standings["hot"].state) for j in session.joins.values()} == {"held"}
