"""KV events that are published in other forms than vLLM's.

The lines are built from what is known of the formats; there is no capture of any of them.
"""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.input.errors import InputError
from monitor.input.records import Record
from spec.events.alphabet import Kind
from spec.stream.outcome import ModeVerdict
from tests.monitor.input.kv_lines import (
    breaks,
    captured,
    checked,
    facts,
    message,
    records,
    removed,
    stored,
)


def line(value: object) -> bytes:
    return json.dumps(value).encode()


class Pulled:
    """Events of TensorRT-LLM."""

    @staticmethod
    def event(number: int, data: dict[str, Any], **more: Any) -> dict[str, Any]:
        """An event, with the fields of its serializer."""
        fields = {"event_id": number, "window_size": 16, "attention_dp_rank": 0, "data": data}
        return fields | more

    @classmethod
    def created(cls, number: int = 0, **more: Any) -> dict[str, Any]:
        return cls.event(number, {"type": "created", "num_blocks_per_cache_level": [8, 2]}, **more)

    @classmethod
    def stored(cls, number: int, *blocks: tuple[Any, int], **more: Any) -> dict[str, Any]:
        tokens = [{"type": "unique_token", "token_id": 1, "token_extra_id": 0}]
        coded = [
            {
                "type": "stored_block",
                "block_hash": key,
                "tokens": tokens,
                "cache_level": level,
                "priority": 35,
            }
            for key, level in blocks
        ]
        return cls.event(number, {"type": "stored", "parent_hash": None, "blocks": coded}, **more)

    @classmethod
    def removed(cls, number: int, *hashes: Any, **more: Any) -> dict[str, Any]:
        return cls.event(number, {"type": "removed", "block_hashes": [*hashes]}, **more)

    @classmethod
    def updated(cls, number: int, key: Any, old: int | None, new: int | None) -> dict[str, Any]:
        level = {"type": "event_diff", "new_value": new, "old_value": old}
        data = {"type": "updated", "block_hash": key, "priority": None}
        return cls.event(number, data | {"cache_level": None if old is None else level})


class TestTensorRT:
    def test_facts(self) -> None:
        """Levels are tiers; a block that moves has a copy at the new level, and then none at the
        old one.
        """
        assert [
            ("block_cached", (1, 2), None, 0),
            ("host_copy_found", (3,), "cpu", 0),
            ("host_copy_found", (1,), "cpu", 0),
            ("block_evicted", (1,), None, 0),
            ("block_cached", (1,), None, 0),
            ("host_copy_lost", (1,), "cpu", 0),
        ] == facts(
            line(Pulled.created()),
            line(Pulled.stored(1, (1, 0), (2, 0), (3, 1))),
            line(Pulled.updated(2, 1, old=0, new=1)),
            line(Pulled.updated(3, 1, old=1, new=0)),
            line(Pulled.updated(4, 1, old=None, new=None)),
        )

    def test_list(self, tmp_path: Path) -> None:
        """A line may have the events of one pull, also none. The report says what was read."""
        lines = [
            line([Pulled.created(), Pulled.stored(1, (1, 0))]),
            line([]),
            line([Pulled.removed(2, 1)]),
        ]

        report = checked(tmp_path / "t", *lines)

        assert [] == breaks(report)
        assert ModeVerdict.INCONCLUSIVE is report.verdict
        assert (
            "KV events of TensorRT-LLM (pulled): 3 batches, none missing, 1 created, 1 stored, "
            "1 removed"
        ) == report.inputs[0].form
        assert [("block_cached", (1,), None, 0), ("block_evicted", (1,), None, 0)] == facts(*lines)

    def test_ranks(self, tmp_path: Path) -> None:
        """Each rank counts its events by itself."""
        lines = [line([Pulled.created(attention_dp_rank=n) for n in (0, 1)])]
        lines += [line(Pulled.stored(1, (5, 0), attention_dp_rank=n)) for n in (0, 1)]

        assert [] == breaks(checked(tmp_path / "t", *lines))
        assert ["capture", "capture rank 1"] == [
            each.stamp.stream for each in records(*lines) if each.events
        ]

    def test_gap(self, tmp_path: Path) -> None:
        """Events that were dropped leave a gap in the numbers of their rank."""
        lines = [line(Pulled.created(n, attention_dp_rank=n)) for n in (0, 1)]

        assert ["lines are missing before sequence number 1"] == breaks(
            checked(tmp_path / "t", *lines)
        )

    def test_windows(self, tmp_path: Path) -> None:
        """Each window is a group. With several it is not known which has full attention."""
        lines = [
            line(Pulled.created()),
            line(Pulled.stored(1, (1, 0))),
            line(Pulled.created(2, window_size=512)),
            line(Pulled.stored(3, (1, 0), window_size=512)),
        ]

        assert [("block_cached", (1,), None, 0), ("block_cached", (1,), None, 1)] == facts(*lines)
        assert ["there are several windows, and none is stated to be of full attention"] == breaks(
            checked(tmp_path / "t", *lines)
        )

    def test_again(self, tmp_path: Path) -> None:
        """Numbers from 0 on are another run, with windows of its own."""
        lines = [line([Pulled.created(window_size=n), Pulled.stored(1, (1, 1))]) for n in (1, 2)]
        lines = [each.replace(b'"window_size": 16', b'"window_size": 1') for each in lines[:1]]
        lines.append(line(Pulled.created(window_size=2)))
        lines.append(line(Pulled.removed(1, 1, window_size=2)))

        assert ["another run of the stream begins"] == breaks(checked(tmp_path / "t", *lines))

    @pytest.mark.parametrize(
        ("event", "why"),
        [
            (Pulled.event(1, {"type": "moved"}), "the event moved is not known"),
            (Pulled.stored(1, (1, 2)), "the cache level 2 is not known"),
            (Pulled.updated(1, 1, old=0, new=0), "an update names one cache level twice"),
            (Pulled.created(1), "the blocks of window 16 are created a second time"),
        ],
    )
    def test_unknown(self, tmp_path: Path, event: dict[str, Any], why: str) -> None:
        """What is not understood is a break."""
        assert [why] == breaks(checked(tmp_path / "t", line([Pulled.created(), event])))

    def test_removed(self, tmp_path: Path) -> None:
        """A removal states no level: once blocks are at several, it is a break."""
        events = [
            Pulled.created(),
            Pulled.stored(1, (1, 0)),
            Pulled.removed(2, 1),
            Pulled.stored(3, (2, 1)),
            Pulled.removed(4, 2),
        ]

        assert [] == breaks(checked(tmp_path / "t", line(events[:4])))
        assert ["blocks are removed from a cache level that is not stated"] == breaks(
            checked(tmp_path / "t", line(events))
        )

    def test_fields(self, tmp_path: Path) -> None:
        """Fields that are not known are counted, those of blocks too."""
        event = Pulled.stored(1, (1, 0), colour="red")
        event["data"]["shade"] = 1
        event["data"]["blocks"][0]["my secret"] = 1

        form = checked(tmp_path / "t", line([Pulled.created(), event])).inputs[0].form

        fields = "1 event.colour, 1 stored.shade, 1 block.(no name)"
        assert form.endswith(f"; unknown fields: {fields}")

    def test_most_windows(self) -> None:
        """There are no more windows than groups."""
        with pytest.raises(InputError, match="over 64 sizes of windows"):
            records(line([Pulled.created(n, window_size=n) for n in range(65)]))


def routed(number: int, data: Any, *, rank: int | None = 0, **more: Any) -> dict[str, Any]:
    """A RouterEvent of Dynamo."""
    event = {"event_id": number, "data": data, "dp_rank": rank}
    return {"worker_id": 7, "storage_tier": "device", "event": event} | more


def kept(*hashes: Any) -> dict[str, Any]:
    """The data of a store."""
    blocks = [{"block_hash": key, "tokens_hash": 9} for key in hashes]
    return {"stored": {"parent_hash": None, "blocks": blocks}}


def gone(*hashes: Any) -> dict[str, Any]:
    """The data of a removal."""
    return {"removed": {"block_hashes": [*hashes]}}


def envelope(number: int, *events: Any, **more: Any) -> dict[str, Any]:
    """An EventEnvelope of Dynamo."""
    fields = {"publisher_id": 3, "sequence": number, "published_at": 1, "topic": "kv-events"}
    return fields | {"payload": [*events]} | more


class TestDynamo:
    def test_facts(self) -> None:
        """The storage tier is the tier of what is stored or removed."""
        tiers = {"host_pinned": "cpu", "disk": "disk", "external": "external"}
        lines = [line(routed(0, kept(1, 2))), line(routed(1, gone(2)))]
        for n, tier in enumerate(tiers):
            lines.append(line(routed(2 * n + 2, kept(1), storage_tier=tier)))
            lines.append(line(routed(2 * n + 3, gone(1), storage_tier=tier)))

        copies = [
            (kind, (1,), tier, 0)
            for tier in tiers.values()
            for kind in ("host_copy_found", "host_copy_lost")
        ]
        assert [
            ("block_cached", (1, 2), None, 0),
            ("block_evicted", (2,), None, 0),
            *copies,
        ] == facts(*lines)

    def test_streams(self, tmp_path: Path) -> None:
        """Each worker and each rank is a stream with numbers of its own."""
        events = [
            routed(0, kept(1), worker_id=worker, rank=rank)
            for worker in (7, "eight")
            for rank in (0, 1)
        ]

        report = checked(tmp_path / "t", line(events))

        assert [] == breaks(report)
        assert "NVIDIA Dynamo (router events): 4 batches, none missing" in report.inputs[0].form
        assert ["worker 7", "worker 7 rank 1", "worker eight", "worker eight rank 1"] == [
            each.stamp.stream for each in records(line(events)) if each.events
        ]

    @pytest.mark.parametrize("data", ["cleared", {"cleared": None}, {"cleared": {}}])
    def test_cleared(self, tmp_path: Path, data: Any) -> None:
        """It is not known what a clear empties: that is a break where anything was held."""
        held = [line(routed(0, kept(1))), line(routed(1, data))]

        assert [] == breaks(checked(tmp_path / "t", line(routed(0, data))))
        assert ["the tiers that cleared of NVIDIA Dynamo empties are not known"] == breaks(
            checked(tmp_path / "t", *held)
        )

    @pytest.mark.parametrize(
        ("event", "why"),
        [
            (routed(0, {"moved": {}}), "the event moved is not known"),
            (routed(0, kept(1), storage_tier="tape"), "the storage tier tape is not known"),
            (routed(0, gone(1), storage_tier=None), "the storage tier None is not known"),
            (routed(2, kept(1)), "lines are missing before sequence number 2"),
        ],
    )
    def test_unknown(self, tmp_path: Path, event: dict[str, Any], why: str) -> None:
        """What is not understood is a break."""
        assert [why] == breaks(checked(tmp_path / "t", line(event)))

    def test_envelopes(self, tmp_path: Path) -> None:
        """An envelope has a list of events, decoded or in msgpack."""
        packed = b64encode(msgspec.msgpack.encode([routed(1, gone(1))])).decode()
        lines = [line(envelope(4, routed(0, kept(1)))), line(envelope(5, payload=packed))]

        report = checked(tmp_path / "t", *lines)

        assert [] == breaks(report)
        assert "NVIDIA Dynamo (envelopes): 2 batches, none missing" in report.inputs[0].form
        assert [("block_cached", (1,), None, 0), ("block_evicted", (1,), None, 0)] == facts(*lines)

    def test_missing(self, tmp_path: Path) -> None:
        """A missing envelope breaks every stream of its publisher, and none of another."""
        lines = [
            line(envelope(0, routed(0, kept(1)), routed(0, kept(1), rank=1))),
            line(envelope(0, routed(0, kept(1), worker_id=8), publisher_id=4)),
            line(envelope(2, routed(1, kept(2)))),
        ]

        report = checked(tmp_path / "t", *lines)

        why = "envelope 2 of a publisher follows envelope 0"
        assert {("worker 7", why), ("worker 7 rank 1", why)} == {
            (each.stream, each.why) for each in report.breaks
        }

    def test_fields(self, tmp_path: Path) -> None:
        """Fields that are not known are counted."""
        event = routed(0, kept(1), a=1)
        event["event"]["b"] = event["event"]["data"]["stored"]["c"] = 1
        event["event"]["data"]["stored"]["blocks"][0]["d"] = 1

        form = checked(tmp_path / "t", line(envelope(0, event, e=1))).inputs[0].form

        fields = "1 envelope.e, 1 RouterEvent.a, 1 event.b, 1 stored.c, 1 block.d"
        assert form.endswith(f"; unknown fields: {fields}")


def shelved(name: str, *hashes: Any, **more: Any) -> dict[str, Any]:
    """An event of the master of Mooncake."""
    fields = {"event_type": name, "seq_hashes": [*hashes], "object_key": "o", "backend_id": "b"}
    return fields | {"medium": "cpu", "tenant_id": "t"} | more


class TestMooncake:
    FACTS: Final = [
        ("host_copy_found", (1, 2), "cpu", 0),
        ("host_copy_found", (1,), "disk", 0),
        ("host_copy_lost", (1,), "cpu", 0),
    ]
    EVENTS: Final = [
        shelved("BlockStored", 1, 2),
        shelved("BlockStored", 1, medium="disk"),
        shelved("BlockRemoved", 1),
    ]

    @pytest.mark.parametrize("payload", [EVENTS, [1.5, EVENTS], [1.5, EVENTS, 0]])
    def test_facts(self, tmp_path: Path, payload: Any) -> None:
        """The maps come in the frames of vLLM, in a batch or in a list, or decoded."""
        frames = (b"", bytes(8), msgspec.msgpack.encode(payload))
        for each in (captured(frames), line({"seq": 0, "decoded": payload})):
            assert self.FACTS == facts(each)
            report = checked(tmp_path / "t", each)
            assert [] == breaks(report)
            assert (
                "KV events of Mooncake: 1 batch, none missing, 2 BlockStored, 1 BlockRemoved"
                == report.inputs[0].form
            )

    def test_one(self) -> None:
        """A message may be one map, with the names of fields that vLLM has."""
        event = {"type": "BlockStored", "block_hashes": [1], "medium": "disk"}

        assert [("host_copy_found", (1,), "disk", 0)] == facts(line({"seq": 0, "decoded": event}))

    def test_older(self, tmp_path: Path) -> None:
        """Events of the older schema have names of their own. What an update means is unknown."""
        event = shelved("BlockStoreEvent", 1)
        lines = [
            line({"seq": n, "decoded": e})
            for n, e in enumerate([event, shelved("BlockUpdateEvent", 1)])
        ]

        report = checked(tmp_path / "t", *lines)

        assert ["what BlockUpdateEvent of Mooncake changes is not known"] == breaks(report)
        assert report.inputs[0].form.startswith("KV events of Mooncake (older maps): 2 batches")
        assert [("host_copy_found", (1,), "cpu", 0)] == facts(lines[0])

    def test_observes(self) -> None:
        """A store does not state what the GPU holds, and engines do."""
        first, *_ = records(line({"seq": 0, "decoded": self.EVENTS}))
        other, *_ = records(captured(message(0, stored(1))))

        assert frozenset() == first.stamp.observes
        assert Kind.BLOCK_CACHED in (other.stamp.observes or ())

    @pytest.mark.parametrize("name", ["AllBlocksCleared", "RemoveAllEvent"])
    def test_cleared(self, tmp_path: Path, name: str) -> None:
        """A clear is a break where anything was held."""
        event = {"event_type": name}
        held = [[event], [shelved("BlockStored", 1, backend_id=None, tenant_id=None), event]]

        why = f"the tiers that {name} of Mooncake empties are not known"
        assert [[], [why]] == [
            breaks(checked(tmp_path / "t", line({"seq": 0, "decoded": each}))) for each in held
        ]

    @pytest.mark.parametrize("field", ["backend_id", "tenant_id"])
    def test_places(self, tmp_path: Path, field: str) -> None:
        """Copies on another backend, or of another tenant, are not told apart, which is a break."""
        events = [shelved("BlockStored", 1), shelved("BlockRemoved", 1, **{field: "other"})]
        lines = [line({"seq": n, "decoded": [each]}) for n, each in enumerate(events)]

        assert ["copies of several backends or tenants of Mooncake are not told apart"] == breaks(
            checked(tmp_path / "t", *lines)
        )

    @pytest.mark.parametrize(
        ("event", "why"),
        [
            (shelved("BlockMoved", 1), "the event BlockMoved is not known"),
            (shelved("BlockStored", 1, medium="GPU"), "the medium GPU is not known"),
            (shelved("BlockStored", 1, medium=None), "the medium None is not known"),
            (shelved("BlockRemoved"), "BlockRemoved of Mooncake names no blocks"),
        ],
    )
    def test_unknown(self, tmp_path: Path, event: dict[str, Any], why: str) -> None:
        """What is not understood is a break."""
        assert [why] == breaks(checked(tmp_path / "t", line({"seq": 0, "decoded": event})))

    def test_not_vllm(self) -> None:
        """Events of vLLM are never read as those of Mooncake."""
        assert [("block_cached", (1,), None, 0), ("host_copy_lost", (1,), "cpu", 0)] == facts(
            captured(message(0, stored(1), removed(1, medium="CPU")))
        )


MALFORMED: Final[dict[str, Any]] = {
    "a list of two forms": [Pulled.created(), routed(0, kept(1))],
    "a list of two forms, the other first": [routed(0, kept(1)), Pulled.created()],
    "a negative number": Pulled.created(-1),
    "a rank too large": Pulled.created(attention_dp_rank=1 << 20),
    "a level that is no number": Pulled.stored(1, (1, 0)) | {"data": {"type": "stored"}},
    "a block that is none": Pulled.event(1, {"type": "stored", "blocks": [3]}),
    "a block without a hash": Pulled.event(1, {"type": "stored", "blocks": [{"cache_level": 0}]}),
    "a hash that is none": Pulled.removed(1, 1.5),
    "an event without a name": Pulled.event(1, {"type": None}),
    "data of two kinds": routed(0, kept(1) | gone(1)),
    "data of no kind": routed(0, {}),
    "a list as data": routed(0, {"stored": [1]}),
    "a worker that is none": routed(0, kept(1), worker_id=[]),
    "a worker that is too large": routed(0, kept(1), worker_id=2**64),
    "a window that is too large": Pulled.created(window_size=2**64),
    "a RouterEvent that is none": envelope(0, 3),
    "a payload that is none": envelope(0, payload=3),
    "a payload that is no base64": envelope(0, payload="!"),
    "a payload that is no msgpack": envelope(0, payload="wQ=="),
    "a payload that is nested": envelope(0, payload=b64encode(b"\x91" * 9000).decode()),
    "a negative envelope": envelope(-1),
    "two names": {"seq": 0, "decoded": shelved("BlockStored", 1, type="BlockRemoved")},
    "hashes under two names": {"seq": 0, "decoded": shelved("BlockStored", 1, block_hashes=[1])},
    "no name": {"seq": 0, "decoded": {"seq_hashes": [1]}},
    "a map among numbers": {"seq": 0, "decoded": [shelved("BlockStored", 1), 3]},
    "a backend that is none": {"seq": 0, "decoded": shelved("BlockStored", 1, backend_id=[])},
}


KEYS: Final = (
    *("type", "blocks", "block_hashes", "block_hash", "cache_level", "event_id", "data"),
    *("stored", "removed", "dp_rank", "event_type", "medium", "event"),
)
FIELDS: Final = (
    *("event_id", "data", "worker_id", "event", "publisher_id", "sequence"),
    *("payload", "seq", "decoded", "window_size"),
)


class TestMalformed:
    @pytest.mark.parametrize("what", MALFORMED)
    def test_refused(self, what: str) -> None:
        """A line that is in no form is bad input, and says where."""
        with pytest.raises(InputError, match="capture:1"):
            records(line(MALFORMED[what]))

    def test_nothing_changes(self, tmp_path: Path) -> None:
        """A line that is refused has no effect on what is read after it."""
        from monitor.input.dialects import Reader

        for good in (Pulled.created(), envelope(0, routed(0, kept(1)))):
            bad = dict(good, payload=3) if "payload" in good else [good, Pulled.created(-1)]
            once, again = Reader("t"), Reader("t")
            with pytest.raises(InputError):
                again.feed(line(bad), 1)
            assert once.feed(line(good), 2) == again.feed(line(good), 2)

    def test_arrays(self) -> None:
        """A list of other events is no list of these, and neither is an empty one."""
        with pytest.raises(InputError, match="a JSON array of events"):
            records(b'[{"kind": "block_lost"}]')
        with pytest.raises(InputError, match=r"expected a JSON object, got \[\]"):
            records(b"[]")

    VALUES: Final = st.recursive(
        st.none() | st.booleans() | st.integers(-1, 2**64) | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(KEYS),
                inner | st.sampled_from(["stored", "updated", "cleared", "BlockStored", "cpu"]),
                max_size=5,
            )
        ),
        max_leaves=12,
    )

    @given(st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, VALUES)))
    def test_any(self, fields: dict[str, Any]) -> None:
        """Any line is read or refused, alone and in a list."""
        for each in (fields, [fields, fields]):
            text = json.dumps(each, allow_nan=True).encode()
            try:
                found = records(text, text)
            except InputError:
                continue
            assert all(isinstance(record, Record) for record in found)
