"""Messages of KV events become facts about blocks; what is not understood is a break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.check.files import check_files
from monitor.input.errors import InputError
from monitor.input.records import Record
from spec.events.canonical import Mark
from spec.stream.outcome import ModeVerdict
from tests.monitor.input.kv_lines import (
    ENDPOINT,
    breaks,
    captured,
    checked,
    cleared,
    codes,
    facts,
    message,
    records,
    removed,
    stored,
)

FOLDER: Final = Path(__file__).parents[4] / "shared" / "traces" / "kv_events"
CAPTURES: Final = {
    "vllm_0_32_live": "vLLM: 107 batches, none missing, 738 BlockStored, 483 BlockRemoved, "
    "3 AllBlocksCleared",
    "vllm_0_32_live.replay": "vLLM: 107 batches, none missing, 738 BlockStored, 483 BlockRemoved, "
    "3 AllBlocksCleared",
    "vllm_0_32_hybrid_gptoss": "vLLM: 22 batches, none missing, 91 BlockRemoved, 44 BlockStored, "
    "1 AllBlocksCleared",
    "vllm_0_32_dp2": "vLLM: 9 batches, none missing, 9 BlockStored",
    "sglang_0_5_23_publisher": "SGLang: 5 batches, none missing, 4 BlockStored, 1 BlockRemoved, "
    "1 AllBlocksCleared",
    "vllm_recorded_794": "vLLM: 94 batches, none missing, 695 BlockRemoved, 99 BlockStored",
}


class TestCaptures:
    @pytest.mark.parametrize("name", CAPTURES)
    def test_loads(self, name: str) -> None:
        """A capture of a real engine loads, its runtime is named and its events are counted."""
        path = FOLDER / f"{name}.jsonl"
        if not path.exists():
            pytest.skip("the captures are not there")

        report = check_files(path)

        assert f"KV events of {CAPTURES[name]}" == report.inputs[0].form
        assert ModeVerdict.INCONCLUSIVE is report.verdict
        assert [] == breaks(report)

    def test_frames(self) -> None:
        """The frames of a capture, and what its author decoded of them, state the same."""
        path = FOLDER / "vllm_0_32_live.jsonl"
        if not path.exists():
            pytest.skip("the captures are not there")
        lines = path.read_bytes().splitlines()
        decoded = [json.loads(line) for line in lines]
        for each in decoded:
            del each["frames"]

        assert records(*lines) == records(*[json.dumps(each).encode() for each in decoded])


class TestFacts:
    def test_tiers(self) -> None:
        """Blocks of the GPU are cached and evicted; copies in other tiers are found and lost."""
        found = facts(
            captured(
                message(
                    0,
                    stored(1, 2),
                    stored(1, medium="CPU"),
                    stored(1, medium="CPU_PINNED"),
                    stored(3, locality="REMOTE"),
                    removed(2),
                    removed(1, medium="STORAGE"),
                )
            )
        )

        assert [
            ("block_cached", (1, 2), None, 0),
            ("host_copy_found", (1,), "cpu", 0),
            ("host_copy_found", (1,), "cpu", 0),
            ("host_copy_found", (3,), "external", 0),
            ("block_evicted", (2,), None, 0),
            ("host_copy_lost", (1,), "disk", 0),
        ] == found

    def test_no_medium(self) -> None:
        """Events of engines that had one tier are about the GPU."""
        assert [("block_cached", (1,), None, 0)] == facts(
            captured(message(0, stored(1, medium=None)))
        )

    def test_hashes(self) -> None:
        """Hashes are numbers, with or without a sign, texts, or bytes."""
        found = facts(captured(message(0, stored(2**64 - 1, -1, "a", b"\x00\xff"))))

        assert [("block_cached", (2**64 - 1, 2**64 - 1, "a", "00ff"), None, 0)] == found

    def test_arrays(self) -> None:
        """Events of older engines are arrays."""
        one = ["BlockStored", [1, 2], None, [5, 6], 16, None, "GPU"]
        other = ["BlockRemoved", [1], "CPU"]

        assert [
            ("block_cached", (1, 2), None, 0),
            ("host_copy_lost", (1,), "cpu", 0),
        ] == facts(captured(message(0, one, other)))

    @pytest.mark.parametrize("seventh", [None, "adapter", {"session_id": "s"}])
    def test_seventh(self, tmp_path: Path, seventh: object) -> None:
        """Arrays of vLLM have the name of an adapter where those of SGLang have metadata: neither
        changes what is stated.
        """
        line = captured(message(0, ["BlockStored", [1], None, [5], 16, None, "GPU", seventh]))

        assert [("block_cached", (1,), None, 0)] == facts(line)
        report = checked(tmp_path / "t", line)
        assert report.inputs[0].form.endswith(
            "runtime (arrays): 1 batch, none missing, 1 BlockStored"
        )

    def test_nothing_named(self) -> None:
        """An event without hashes states nothing, and not that everything is gone."""
        assert [] == facts(captured(message(0, removed(), stored())))

    def test_single(self) -> None:
        """Lines of one event each are one batch where they have one number."""
        lines = [
            json.dumps(
                {"event_index": n, "sequence": n // 2, "timestamp": 1.5, "event": stored(str(n))}
            ).encode()
            for n in range(4)
        ]

        found = [[event.keys for event, _ in each.events] for each in records(*lines)]

        assert [[("0",), ("1",)], [("2",), ("3",)], []] == found

    def test_ranks(self) -> None:
        """Each data-parallel rank is a stream."""
        lines = [captured(message(0, stored(1), rank=rank)) for rank in (0, 1)]

        assert [ENDPOINT, f"{ENDPOINT} rank 1"] == [
            each.stamp.stream for each in records(*lines) if each.events
        ]

    def test_replay(self) -> None:
        """An answer of a replay socket has an empty frame before the others, and an end."""
        end = (b"", b"", (-1).to_bytes(8, "big", signed=True), b"")
        lines = [captured((b"", *message(0, stored(1)))), captured(end)]

        assert [("block_cached", (1,), None, 0)] == facts(*lines)


class TestGroups:
    WINDOW: Final = {"kv_cache_spec_kind": "sliding_window", "kv_cache_spec_sliding_window": 128}
    FULL: Final = {"kv_cache_spec_kind": "full_attention"}

    def test_window(self) -> None:
        """A window is stated in tokens, and needs so many blocks that end where the hit ends."""
        first, *_ = records(
            captured(
                message(
                    0,
                    stored(1, block_size=32, **self.WINDOW),
                    stored(1, group_idx=1, **self.FULL),
                )
            )
        )

        groups = [(each.group, each.kind, each.window) for each in first.stamp.groups]
        assert [(0, "window", 4), (1, "full", None)] == groups

    def test_another(self, tmp_path: Path) -> None:
        """A group that was not known begins a run: what was held before is not known of it."""
        lines = [
            captured(message(0, stored(1))),
            captured(message(1, stored(1, group_idx=1, **self.FULL))),
        ]

        assert ["another run of the stream begins"] == breaks(checked(tmp_path / "t", *lines))

    @pytest.mark.parametrize("kind", ["chunked_local_attention", "sliding_window"])
    def test_unknown(self, tmp_path: Path, kind: str) -> None:
        """A group of an unknown kind, or a window without a size, is a break."""
        line = captured(message(0, stored(1, kv_cache_spec_kind=kind)))

        assert [f"group 0 is {kind}, which is not known"] == breaks(checked(tmp_path / "t", line))


class TestBreaks:
    def test_gap(self, tmp_path: Path) -> None:
        """A missing batch is a break."""
        lines = [captured(message(n, stored(n))) for n in (0, 1, 3)]

        report = checked(tmp_path / "t", *lines)

        assert ["lines are missing before sequence number 3"] == breaks(report)
        assert ["RC101"] == codes(report)

    def test_late(self, tmp_path: Path) -> None:
        """So is a first batch that is not the engine's first."""
        found = breaks(checked(tmp_path / "t", captured(message(7, stored(1)))))

        assert ["lines are missing before sequence number 7"] == found

    def test_unknown_event(self, tmp_path: Path) -> None:
        """An event that is not known is a break, and is counted."""
        report = checked(tmp_path / "t", captured(message(0, {"type": "BlockTransferred"})))

        assert ["the event BlockTransferred is not known"] == breaks(report)
        assert ["RC103"] == codes(report)
        assert {"BlockTransferred": 1} == report.events.unknown
        assert "KV events of ROCm ATOM: 1 batch, none missing" in report.inputs[0].form

    def test_unknown_field(self, tmp_path: Path) -> None:
        """A field that is not known is counted and shown."""
        report = checked(tmp_path / "t", captured(message(0, stored(1, colour="red"))))

        assert "unknown fields: 1 BlockStored.colour" in report.inputs[0].form
        assert [] == breaks(report)

    def test_unknown_medium(self, tmp_path: Path) -> None:
        """A tier that is not known is a break."""
        report = checked(tmp_path / "t", captured(message(0, stored(1, medium="TAPE"))))

        assert ["the medium TAPE is not known"] == breaks(report)
        assert ["RC103"] == codes(report)

    @pytest.mark.parametrize(
        ("event", "expected"),
        [
            (stored(1), []),
            (
                {n: v for n, v in stored(1).items() if n not in ("lora_name", "group_idx")},
                [],
            ),
            (
                stored(1, mm_keys=[]),
                ["the tiers that AllBlocksCleared of TensorRT-LLM empties are not known"],
            ),
        ],
    )
    def test_cleared(self, tmp_path: Path, event: dict[str, Any], expected: list[str]) -> None:
        """vLLM clears the GPU, SGLang the host as well; what others clear is not known."""
        lines = [captured(message(0, event)), captured(message(1, cleared()))]

        report = checked(tmp_path / "t", *lines)

        assert expected == breaks(report)
        assert ["RC103" for _ in expected] == codes(report)

    def test_copies_stay(self, tmp_path: Path) -> None:
        """After vLLM cleared its cache a copy on the CPU is lost, which it could not be if it were
        gone.
        """
        lines = [
            captured(message(0, stored(1), stored(1, medium="CPU"))),
            captured(message(1, cleared())),
            captured(message(2, removed(1, medium="CPU"))),
            captured(message(3, removed(1, medium="CPU"))),
        ]

        assert ["the tier cpu loses a copy that it did not have"] == breaks(
            checked(tmp_path / "t", *lines)
        )


class TestRuns:
    def test_restart(self, tmp_path: Path) -> None:
        """Numbers from 0 on are another run; copies of the run before are not there."""
        lines = [
            captured(message(0, stored(1, medium="CPU"))),
            captured(message(1, stored(1))),
            captured(message(0, removed(1, medium="CPU"))),
        ]

        assert [
            "another run of the stream begins",
            "the tier cpu loses a copy that it did not have",
        ] == breaks(checked(tmp_path / "t", *lines))

    def test_other_run(self, tmp_path: Path) -> None:
        """The reader of a message may know that it is of another run; it lacks its beginning
        where it is not the first.
        """
        lines = [captured(message(0, stored(1))), captured(message(1, stored(2)), run=1)]

        assert [
            "another run of the stream begins",
            "the run began before sequence number 1",
        ] == breaks(checked(tmp_path / "t", *lines))

    def test_groups_again(self, tmp_path: Path) -> None:
        """A run states its groups by itself."""
        line = captured(
            message(0, stored(1, group_idx=0), stored(1, group_idx=1, **TestGroups.FULL))
        )

        assert ["another run of the stream begins"] == breaks(checked(tmp_path / "t", line, line))

    def test_end(self) -> None:
        """A capture ends where somebody stopped it, and was not cut."""
        assert Mark.STREAM_CLOSED is records(captured(message(0, stored(1))))[-1].stamp.mark


MALFORMED: Final[dict[str, bytes]] = {
    "no base64": b'{"frames": ["!", "AA==", "AA=="]}',
    "two frames": b'{"frames": ["AA==", "AA=="]}',
    "a short number": b'{"frames": ["", "AA==", "AA=="]}',
    "no msgpack": captured((b"", bytes(8), b"\xc1")),
    "no list": captured((b"", bytes(8), b"\x01")),
    "nested": captured((b"", bytes(8), b"\x91" * 5000)),
    "a negative number": captured((b"", b"\xff" * 7 + b"\x00", b"")),
    "a batch under the number -1": captured(message(-1, stored(1))),
    "a decoded batch under -1": b'{"seq": -1, "decoded": [1.0, []]}',
    "one frame": b'{"frames": ["AA=="]}',
    "no time": b'{"seq": 0, "decoded": ["now", []]}',
    "no events": b'{"seq": 0, "decoded": [1.0, 3]}',
    "an event that is a number": b'{"seq": 0, "decoded": [1.0, [3]]}',
    "an event without a name": b'{"seq": 0, "decoded": [1.0, [{}]]}',
    "hashes that are none": captured(message(0, stored(1.5))),
    "hashes that are a number": captured(message(0, removed() | {"block_hashes": 7})),
    "a number too large": captured(message(0, stored(2**64 - 1)))[:-1] + b', "seq": 1e99}',
    "a group too large": captured(message(0, stored(1, group_idx=10**6))),
    "a negative rank": b'{"seq": 0, "decoded": [1.0, [], -1]}',
    "an endpoint too long": captured(message(0), "x" * 2000),
    "an event too long": b'{"event": {"type": ""}, "sequence": 0}',
}


class TestMalformed:
    @pytest.mark.parametrize("what", MALFORMED)
    def test_refused(self, what: str) -> None:
        """A message that is none is bad input, and says where."""
        with pytest.raises(InputError, match="capture:1"):
            records(MALFORMED[what])

    VALUES: Final = st.recursive(
        st.none() | st.booleans() | st.integers(-1, 2**64) | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["type", "block_hashes", "medium", "group_idx", "block_size", "x"]),
                inner | st.sampled_from(["BlockStored", "BlockRemoved", "AllBlocksCleared"]),
                max_size=5,
            )
        ),
        max_leaves=12,
    )

    @given(
        st.fixed_dictionaries(
            {"seq": st.integers(-2, 3), "decoded": VALUES},
            optional={"event": VALUES, "sequence": VALUES, "frames": VALUES, "run": VALUES},
        )
    )
    def test_any(self, fields: dict[str, Any]) -> None:
        """Any line is read or refused."""
        line = json.dumps(fields, allow_nan=True).encode()
        try:
            found = records(line, line)
        except InputError:
            return
        assert all(isinstance(each, Record) for each in found)


class TestRuntimes:
    OF_SGLANG: Final = {n: v for n, v in stored(1).items() if n not in ("lora_name", "group_idx")}

    @pytest.mark.parametrize(
        ("events", "runtime"),
        [
            ([{"type": "BlockStored", "block_hashes": [1]}], "an unknown runtime"),
            ([["BlockStored", [1], None, [1], 16, None, "GPU"]], "an unknown runtime (arrays)"),
            ([OF_SGLANG], "SGLang"),
            ([OF_SGLANG, stored(2)], "vLLM"),
            ([OF_SGLANG | {"cache_salt": "s"}], "SGLang"),
            ([OF_SGLANG | {"mm_keys": []}], "TensorRT-LLM"),
            ([stored(1), {"type": "BlockTransferred"}], "vLLM"),
        ],
    )
    def test_known(self, tmp_path: Path, events: list[Any], runtime: str) -> None:
        """A runtime is named by fields that only it has, and guessed only where there are none."""
        report = checked(tmp_path / "t", captured(message(0, *events)))

        assert report.inputs[0].form.startswith(f"KV events of {runtime}: ")

    def test_again(self, tmp_path: Path) -> None:
        """Another run may be of another runtime: what the first one means by a clear is not taken
        over.
        """
        lines = [
            captured(message(0, stored(1))),
            captured(message(0, stored(1, mm_keys=[]))),
            captured(message(1, cleared())),
        ]

        report = checked(tmp_path / "t", *lines)

        assert report.inputs[0].form.startswith("KV events of TensorRT-LLM and vLLM")
        assert [
            "another run of the stream begins",
            "the tiers that AllBlocksCleared of TensorRT-LLM empties are not known",
        ] == breaks(report)

    @pytest.mark.parametrize("batches", [[[cleared()], [stored(1)]], [[cleared(), stored(1)]]])
    def test_nothing_stored(self, tmp_path: Path, batches: list[list[Any]]) -> None:
        """Before anything is stored a clear empties nothing, in any runtime."""
        lines = [captured(message(n, *events)) for n, events in enumerate(batches)]

        assert [] == breaks(checked(tmp_path / "t", *lines))

    def test_stored(self, tmp_path: Path) -> None:
        """After that it is a break."""
        unknown = {"type": "BlockStored", "block_hashes": [1]}

        for batches in ([[unknown], [cleared()]], [[unknown, cleared()]]):
            lines = [captured(message(n, *events)) for n, events in enumerate(batches)]
            assert [
                "the tiers that AllBlocksCleared of an unknown runtime empties are not known"
            ] == breaks(checked(tmp_path / "t", *lines))

    @pytest.mark.parametrize(
        "event",
        [stored(1, medium="my secret"), stored(1, **{"my secret": 1}), removed() | {"a b": 1}],
    )
    def test_private(self, tmp_path: Path, event: dict[str, Any]) -> None:
        """No text of a message is repeated that is not a name."""
        report = checked(tmp_path / "t", captured(message(0, event)))

        said = f"{report.inputs[0].form} {breaks(report)}"
        assert "no name" in said
        assert "secret" not in said
        assert "a b" not in said

    def test_private_name(self) -> None:
        """So is no name of an event that is none."""
        with pytest.raises(InputError) as caught:
            records(captured(message(0, {"type": "my secret prompt"})))

        assert "secret" not in str(caught.value)


class TestSingle:
    @staticmethod
    def line(number: int, key: str, **more: Any) -> bytes:
        """A line of one event."""
        return json.dumps(
            {"sequence": number, "timestamp": 1.5, "event": stored(key), **more}
        ).encode()

    def test_interleaved(self, tmp_path: Path) -> None:
        """Batches of several endpoints and ranks may be mixed."""
        lines = [
            self.line(number, f"{endpoint}{rank}", endpoint=endpoint, data_parallel_rank=rank)
            for number in (0, 0, 1)
            for endpoint in ("a", "b")
            for rank in (0, 1)
        ]

        report = checked(tmp_path / "t", *lines)

        assert [] == breaks(report)
        assert "8 batches, none missing, 12 BlockStored" in report.inputs[0].form

    def test_other_lines(self, tmp_path: Path) -> None:
        """Lines of another form between those of a batch do not end it."""
        other = b'{"kind":"block_evicted","sequence":0,"block_ids":[1],"stream":"other"}'
        lines = [self.line(0, "a", endpoint="e"), other, self.line(0, "b", endpoint="e")]

        report = checked(tmp_path / "t", *lines)

        assert [] == breaks(report)
        assert "1 batch, none missing, 2 BlockStored" in report.inputs[0].form

    @pytest.mark.parametrize(
        "more",
        [
            {"data_parallel_rank": -1},
            {"data_parallel_rank": 1 << 16},
            {"data_parallel_rank": True},
            {"timestamp": -1},
            {"timestamp": 1 << 33},
            {"timestamp": "1.5"},
        ],
    )
    @pytest.mark.parametrize("before", [0, 1])
    def test_place(self, more: dict[str, Any], before: int, tmp_path: Path) -> None:
        """A rank or a time out of range is named, on any line of a batch."""
        path = tmp_path / "t"
        lines = [self.line(0, "a")] * before
        path.write_bytes(b"\n".join([*lines, self.line(0, "b", **more)]))

        with pytest.raises(InputError) as caught:
            check_files(path)
        assert (before + 1, *more) == (caught.value.line, caught.value.field)

    def test_unnumbered(self, tmp_path: Path) -> None:
        """Where a batch has no number, it is unknown whether any is missing."""
        report = checked(tmp_path / "t", b'{"decoded": [1.5, []]}')

        assert "1 batch, not all numbered" in report.inputs[0].form


class TestBounds:
    def test_names(self, tmp_path: Path) -> None:
        """Of names that are not known only so many are kept, and fewer are shown."""
        lines = [
            captured(message(0, stored(1, **{f"f{n}": 0 for n in range(1500)}))),
            captured(message(1, *({"type": f"E{n}"} for n in range(1500)))),
        ]

        form = checked(tmp_path / "t", *lines).inputs[0].form

        assert "501 (others)" in form
        assert "981 more" in form
        assert len(form) < 2000


class TestCounts:
    def test_missing(self, tmp_path: Path) -> None:
        """Every missing batch is counted, and the first gap is a break."""
        lines = [captured(message(n, stored(n))) for n in (1, 2, 5, 0, 3)]

        report = checked(tmp_path / "t", *lines)

        assert "5 batches, 5 missing, 5 BlockStored" in report.inputs[0].form
        assert [
            "lines are missing before sequence number 1",
            "lines are missing before sequence number 3",
        ] == breaks(report)

    def test_repeated(self, tmp_path: Path) -> None:
        """A batch that comes twice is a break, also where lines are put into order."""
        path = tmp_path / "t"
        lines = [captured(message(n, stored(n))) for n in (0, 1, 1, 2)]

        assert ["sequence numbers of the stream go backwards"] == breaks(checked(path, *lines))
        assert ["sequence numbers of the stream go backwards"] == breaks(
            check_files(path, reorder="10")
        )

    def test_read(self, tmp_path: Path) -> None:
        """The end that the reader adds to a stream is no event that was read."""
        report = checked(tmp_path / "t", captured(message(0, stored(1))))

        assert (1, 1) == (report.events.read, report.inputs[0].lines)
