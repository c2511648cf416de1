"""Tests of what is read from traces in the public forms, and from recorded ones."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from models.simulation.request import Request
from models.simulation.workload import read_workload
from models.simulation.workload.spool import Spool
from spec.language.errors import SpecError

ROOT = Path(__file__).parents[4]

PUBLISHED = (
    '{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": '
    "[46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 2353, 2354]}"
)
"""The line that the description of Mooncake's traces shows."""


def written(path: Path, lines: Iterable[str | dict[str, object]]) -> str:
    """A file of lines."""
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return str(path)


def line(ms: int | None, ids: list[int], **more: object) -> dict[str, object]:
    """A line of Mooncake's form whose prompt fills its blocks."""
    given = {} if ms is None else {"timestamp": ms}
    lengths = {"input_length": 512 * len(ids), "output_length": 1, "hash_ids": ids}
    return {**given, **lengths, **more}


class TestMooncake:
    """Tests of Mooncake's form."""

    def test_the_published_line(self, tmp_path: Path) -> None:
        """6,955 tokens are 13 full blocks and one that no other prompt can use."""
        found = read_workload(written(tmp_path / "w.jsonl", [PUBLISHED]))
        keys = (*range(46, 58), 2353)
        assert [Request("1", 27.482, 6955, 52, keys)] == list(found)
        assert 512 == found.block

    def test_the_last_block_is_shared_where_it_is_full(self, tmp_path: Path) -> None:
        """A prompt that fills its last block shares it."""
        full = PUBLISHED.replace("6955", str(14 * 512))
        found = read_workload(written(tmp_path / "w.jsonl", [full]))
        assert 2354 == next(iter(found)).keys[-1]

    def test_fewer_ids(self, tmp_path: Path) -> None:
        """Of a prompt with fewer ids than blocks, the first blocks alone have keys."""
        found = read_workload(written(tmp_path / "w.jsonl", [line(0, [1, 2], input_length=9000)]))
        assert [(9000, (1, 2))] == [(each.prompt, each.keys) for each in found]

    def test_smaller_blocks(self, tmp_path: Path) -> None:
        """Blocks of another size are named as the remedy, and read with it."""
        path = written(tmp_path / "w.jsonl", [line(0, [*range(40)], input_length=640)])
        with pytest.raises(SpecError, match="--block 16 would fit"):
            read_workload(path)
        assert [40] == [len(each.keys) for each in read_workload(path, block=16)]

    def test_order(self, tmp_path: Path) -> None:
        """Requests come in the order of their times, and equal times in that of their lines."""
        lines = [line(ms, [at]) for at, ms in enumerate((5, 3, 5, 0, 3))]
        found = read_workload(written(tmp_path / "w.jsonl", lines))
        assert ["4", "2", "5", "1", "3"] == [each.id for each in found]

    def test_turns(self, tmp_path: Path) -> None:
        """A turn with a delay comes after the turn before it, and stands behind its session's
        first turn.
        """
        turns = [
            line(90, [1], session_id="b"),
            line(10, [2], session_id="a"),
            line(None, [2, 3], session_id="a", delay=1500),
            line(None, [1, 4], session_id="b", delay=0),
            line(None, [2, 3, 5], session_id="a", delay=7),
        ]
        found = read_workload(written(tmp_path / "w.jsonl", turns))
        assert [("2", None), ("3", "2"), ("5", "3"), ("1", None), ("4", "1")] == [
            (each.id, each.after) for each in found
        ]
        assert [0.01, 1.5, 0.007, 0.09, 0.0] == [each.arrives for each in found]


def end(name: str, came: int, ended: int, session: str | None, **more: object) -> dict[str, object]:
    """The end of a request in NVIDIA Dynamo's trace."""
    replay = {"trace_block_size": 16, "input_length": 32, "input_sequence_hashes": [1, 2]}
    request = {"request_id": name, "output_tokens": 3, "request_received_ms": came}
    context = {} if session is None else {"agent_context": {"session_id": session}}
    return {
        "schema": "dynamo.request.trace.v1",
        "event_type": "request_end",
        "event_time_unix_ms": ended,
        **context,
        "request": {**request, "replay": replay, **more},
    }


def tool_end(name: str, ended: int, session: str) -> dict[str, object]:
    """The end of a call of a tool."""
    return {
        "schema": "dynamo.request.trace.v1",
        "event_type": "tool_end",
        "event_time_unix_ms": ended,
        "agent_context": {"session_id": session},
        "tool": {"tool_class": name, "tool_call_id": "c"},
    }


class TestDynamo:
    """Tests of NVIDIA Dynamo's request trace."""

    def test_a_recorded_trace(self) -> None:
        """A trace of ai-dynamo 1.6.1: a prompt of 97 tokens has three full blocks of 32."""
        found = read_workload(str(ROOT / "monitor/samples/routes/trace.jsonl"))
        assert 32 == found.block
        first, second, *_ = found
        assert ("447f5bfa-5c2d-4e31-a31d-94cf1d0c4346", 0.0, 97, 4) == (
            first.id,
            first.arrives,
            first.prompt,
            first.output,
        )
        assert (0.576, first.keys) == (second.arrives, second.keys)
        assert {(65, 2), (96, 3), (97, 3)} == {(each.prompt, len(each.keys)) for each in found}

    def test_turns_and_tools(self, tmp_path: Path) -> None:
        """A request that came after the end of the last one of its session is a turn, and the tool
        that ended last before it is what that one called.
        """
        records = [
            end("b1", 1_000, 1_200, "b"),
            tool_end("cat", 1_900, "a"),
            tool_end("pytest", 2_000, "a"),
            end("a1", 1_500, 1_800, "a"),
            end("a2", 2_100, 2_500, "a"),
            tool_end("ls", 9_000, "b"),
            end("alone", 1_100, 9_999, None),
        ]
        found = read_workload(written(tmp_path / "w.jsonl", records))
        assert [
            ("b1", 0.0, None, "b", "ls"),
            ("alone", 0.1, None, None, None),
            ("a1", 0.5, None, "a", "pytest"),
            ("a2", 0.3, "a1", "a", None),
        ] == [(each.id, each.arrives, each.after, each.session, each.tool) for each in found]

    def test_requests_at_once(self, tmp_path: Path) -> None:
        """A request that came while another one of its session ran is no turn after it."""
        records = [end("one", 0, 900, "s"), end("two", 899, 950, "s"), end("three", 950, 990, "s")]
        found = read_workload(written(tmp_path / "w.jsonl", records))
        assert [(0.0, None), (0.899, None), (0.0, "two")] == [
            (each.arrives, each.after) for each in found
        ]

    def test_other_events_alone(self, tmp_path: Path) -> None:
        """A trace without the end of a request says so."""
        with pytest.raises(SpecError, match="has no end of a request"):
            read_workload(written(tmp_path / "w.jsonl", [tool_end("ls", 5, "s")]))


class TestCanonical:
    """Tests of canonical traces, which vLLM's plugin recorded."""

    def test_best_effort(self) -> None:
        """The first and the last prompt are the 60 blocks of the claim, the other has 70."""
        folder = ROOT / "models/descriptors/vllm_plugin"
        found = read_workload(str(folder / "best_effort.jsonl"))
        assert 32 == found.block
        assert [60 * 32, 70 * 32, 60 * 32] == [each.prompt for each in found]
        first, second, third = found
        assert first.keys == third.keys
        assert [60, 70] == [len(set(each.keys)) for each in (first, second)]
        assert not set(first.keys) & set(second.keys)

    def test_a_load(self) -> None:
        """A prompt whose restore failed has the blocks of the claim that it asked for."""
        folder = ROOT / "models/descriptors/vllm_plugin"
        found = list(read_workload(str(folder / "offloadable.jsonl")))
        assert [61, 1, 75, 60] == [len(each.keys) for each in found][:4]
        assert found[0].keys[:60] == found[3].keys

    def test_a_refused_request(self) -> None:
        """What a request that was refused contains is not stated, and is not guessed."""
        path = str(ROOT / "models/descriptors/vllm_plugin/hard_protected.jsonl")
        with pytest.raises(SpecError, match=r"jsonl:12: request 1-9725ce59: .* does not state"):
            read_workload(path)
        assert [60] == [len(each.keys) for each in read_workload(path, limit=1)]


def test_spools_are_read_again() -> None:
    """Requests are the same each time, and those added later are found too."""
    spool, made = Spool(), [Request(str(n), float(n), n, 1, (n, 2**64 - 1)) for n in range(50)]
    for each in made[:30]:
        spool.add(each)
    assert made[:30] == list(spool) == list(spool)
    for each in made[30:]:
        spool.add(each)
    spool.sort([n % 7 for n in range(50)])
    assert sorted(made, key=lambda each: int(each.id) % 7) == list(spool)
    assert [] == list(Spool())
    assert list(spool) == [spool[number] for number in range(len(spool))]
