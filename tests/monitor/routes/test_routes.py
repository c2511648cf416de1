"""Records of a router become canonical events, and keep no claim."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.__main__ import main
from monitor.cli.pages import schema as schema_of
from monitor.input.errors import InputError
from monitor.routes.dynamo import Records, prefix_hashes, read_records
from monitor.routes.judge import Routes, events_of, judge, routes_of
from monitor.watch.registry import load_registry
from spec.language.errors import DocumentError, SpecError
from tests.monitor.watch.watching import write_registry
from tests.schemas import faults

SAMPLES = Path(__file__).parents[3] / "monitor/samples/routes"
RECORDS = [str(SAMPLES / name) for name in ("trace.jsonl", "frontend.jsonl", "answers.jsonl")]
SIZE = 4
NAMES = ["event", "schema", "event_type", "request", "request_id", "replay", "worker", "id"]
NAMES += ["usage", "target", "message", "time", "level", "logit", "worker_id"]
TOKENS = [*range(3 * SIZE)]
CLAIM: dict[str, Any] = {"id": "a", "tokens": TOKENS, "mode": "routed_reuse"}
Capture = pytest.CaptureFixture[str]


def hashes(tokens: list[int] = TOKENS) -> list[int]:
    return prefix_hashes([tuple(tokens[n : n + SIZE]) for n in range(0, len(tokens), SIZE)])


def end(name: str = "r", at: int = 1000, worker: int | None = 7, **fields: Any) -> dict[str, Any]:
    """The end of a request in the trace."""
    request: dict[str, Any] = {
        "request_id": name,
        "request_received_ms": at,
        "input_tokens": len(TOKENS) + 1,
        "cached_tokens": len(TOKENS),
        "worker": {
            "prefill_worker_id": worker,
            "prefill_dp_rank": 0,
            "decode_worker_id": worker,
            "decode_dp_rank": 0,
        },
        "replay": {"trace_block_size": SIZE, "input_sequence_hashes": [*hashes(), 5]},
    }
    event = {
        "schema": "dynamo.request.trace.v1",
        "event_type": "request_end",
        "event_time_unix_ms": at + 10,
        "request": request | fields,
    }
    return {"timestamp": at, "event": event}


def choice(name: str = "r", worker: int = 7, cost: float = 2.5) -> dict[str, Any]:
    """The choice of a worker in the log of the frontend."""
    return {
        "time": "2026-11-29T09:11:36.452308Z",
        "level": "INFO",
        "target": "dynamo_kv_router::scheduling::selector",
        "message": "Selected worker",
        "dp_rank": "0",
        "logit": cost,
        "request_id": name,
        "worker_id": worker,
    }


def answer(name: str = "r", cached: int = len(TOKENS)) -> dict[str, Any]:
    """The answer to a client."""
    return {"id": f"cmpl-{name}", "usage": {"prompt_tokens_details": {"cached_tokens": cached}}}


WHOLE = [end(), choice(), answer()]


def judged(folder: Path, lines: list[Any], **claim: Any) -> Routes:
    """What some records come to, for one claim."""
    path = folder / "records.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    about = {"block_size": SIZE, "registered": "1970-01-01T00:00:00Z"}
    registry = write_registry(folder, [CLAIM | {"owner": "o"} | claim], **about)
    return judge(load_registry(registry, routed=True), [str(path)])


class TestRead:
    def test_hashes(self) -> None:
        """The hashes of a prompt are those in the trace of a real frontend."""
        claim = load_registry(SAMPLES / "registry.yaml", routed=True).claims["system-prompt"]
        first = json.loads((SAMPLES / "trace.jsonl").read_text().splitlines()[0])
        stated = first["event"]["request"]["replay"]["input_sequence_hashes"]
        assert stated[:3] == prefix_hashes(claim.blocks)

    def test_bare(self, tmp_path: Path) -> None:
        """A record of the trace may stand without the envelope of its writer."""
        assert judged(tmp_path, [end()["event"]]).claims[0].requests == 1

    def test_others(self, tmp_path: Path) -> None:
        """Other events, other messages of the log and pieces of answers are counted."""
        tool = {"schema": "dynamo.request.trace.v1", "event_type": "tool_end"}
        message = choice() | {"message": "started"}
        piece = {"id": "cmpl-r", "usage": None}
        found = judged(tmp_path, [*WHOLE, {"event": tool}, message, piece])
        assert (found.ended, found.others) == (1, 3)

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ({"kind": "request_arrived"}, "it looks like a trace"),
            (choice() | {"logit": "2"}, "logit"),
            (end(request_id=""), "request_id"),
            (end(replay={"trace_block_size": SIZE, "input_sequence_hashes": ["x"]}), "hashes"),
            ({"id": "cmpl-r", "usage": {"prompt_tokens_details": {"cached_tokens": -1}}}, "-1"),
            ([1], "a JSON object"),
        ],
    )
    def test_bad(self, tmp_path: Path, line: Any, why: str) -> None:
        """A line that is none of the records is bad input, with its place."""
        with pytest.raises(InputError, match=r"records\.jsonl:4") as caught:
            judged(tmp_path, [*WHOLE, line])
        assert why in str(caught.value)

    def test_many(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """No more requests are read than there is memory for."""
        monkeypatch.setattr("monitor.routes.dynamo._MOST_REQUESTS", 2)
        with pytest.raises(InputError, match="over 2 requests"):
            judged(tmp_path, [choice(name) for name in "abc"])

    def test_chosen_often(self) -> None:
        """However often a log repeats the choice for one request, two of them are kept."""
        records = Records(SIZE, {})
        assert all(records.take(choice(), "f", n) for n in range(9))
        assert len(records.selected["r"]) == 2

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers(-1, 1 << 65) | st.text(max_size=4),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(NAMES),
                    inner,
                )
            ),
            max_leaves=12,
        )
    )
    def test_hostile(self, value: Any) -> None:
        """Any object is taken, is not of the forms, or is bad input."""
        records = Records(SIZE, {(1, 1): ["a"]})
        if isinstance(value, dict):
            value |= {"schema": "dynamo.request.trace.v1"} if "request" in value else {}
            with suppress(InputError):
                assert records.take(value, "f", 1) in (True, False)


class TestJudge:
    def test_whole(self, tmp_path: Path) -> None:
        """All that a record can say is said, and still no claim is kept."""
        found = judged(tmp_path, WHOLE)
        assert (found.verdict, found.differ) == ("inconclusive", 0)
        assert "no numbers" in found.why
        (claim,) = found.claims
        assert (claim.requests, claim.routed, claim.workers, claim.cost) == (1, 1, 1, 2_500_000)
        assert (claim.believed, claim.served, claim.unserved) == (1, 1, 0)

    def test_events(self, tmp_path: Path) -> None:
        """The events of a request: routed, arrived, served, finished, and a report of each fact."""
        judged(tmp_path, WHOLE)
        watching = load_registry(tmp_path / "registry.json", routed=True)
        names = {"a": hashes()}
        records = read_records([str(tmp_path / "records.jsonl")], SIZE, {(3, hashes()[-1]): ["a"]})
        found = [*events_of(watching, names, routes_of(watching, records), "f")]
        assert [
            "claim_registered",
            "request_routed",
            "route_cost_reported",
            "route_placement_reported",
            "request_arrived",
            "reuse_served",
            "route_reuse_reported",
            "request_finished",
        ] == [str(event.kind) for record in found for event, _ in record.events]
        assert found[-1].lost

    @pytest.mark.parametrize(
        ("lines", "why"),
        [
            ([end(), answer()], "no log of the router"),
            ([end(), choice()], "no answer states"),
            ([end(), choice(), choice(worker=8), answer()], "chose more than once"),
            ([end(worker=8), choice(), answer()], "does not name the worker"),
            ([end(worker=None), choice(), answer()], "does not name the worker"),
            ([end(), end(), choice(), answer()], "twice"),
            ([end(), choice(cost=-1), answer()], "no amount"),
            ([choice()], "1 choice of requests whose end is not in the trace"),
            ([answer()], "1 answer of requests whose end is not in the trace"),
            ([end(replay=None), choice(), answer()], "no hashes"),
        ],
    )
    def test_missing(self, tmp_path: Path, lines: list[Any], why: str) -> None:
        """What the records do not state is said, and the claim is inconclusive."""
        found = judged(tmp_path, lines)
        assert found.verdict == "inconclusive"
        assert [text for text in found.missing if why in text]

    @pytest.mark.parametrize(("cached", "served"), [(len(TOKENS), 1), (len(TOKENS) - SIZE, 0)])
    def test_served(self, tmp_path: Path, cached: int, served: int) -> None:
        """A part of the prefix is no hit; the router that believed in it is named."""
        found = judged(tmp_path, [end(), choice(), answer(cached=cached)])
        assert (found.claims[0].served, found.differ) == (served, 1 - served)

    def test_last_token(self, tmp_path: Path) -> None:
        """Of a prompt that is the prefix alone, the last block is computed whatever is cached."""
        lines = [end(input_tokens=len(TOKENS)), choice(), answer(cached=len(TOKENS) - SIZE)]
        found = judged(tmp_path, lines)
        assert (found.claims[0].served, found.differ) == (1, 0)

    def test_one_block(self, tmp_path: Path) -> None:
        """A prompt of one block is computed whole: it hits no claim."""
        own = {"trace_block_size": SIZE, "input_sequence_hashes": hashes(TOKENS[:SIZE])}
        lines = [end(input_tokens=SIZE, cached_tokens=0, replay=own), choice(), answer(cached=0)]
        found = judged(tmp_path, lines, tokens=TOKENS[:SIZE])
        assert (found.claims[0].requests, found.claims[0].served, found.differ) == (1, 0, 0)

    def test_other_prompt(self, tmp_path: Path) -> None:
        """A request with another prompt is none of the claim."""
        other = {"trace_block_size": SIZE, "input_sequence_hashes": hashes([9, *TOKENS[1:]])}
        assert judged(tmp_path, [end(replay=other), choice()]).claims[0].requests == 0

    def test_older(self, tmp_path: Path) -> None:
        """A request before the registry is not judged."""
        path = tmp_path / "records.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in WHOLE))
        about = {"block_size": SIZE, "registered": "2026-11-28T00:00:00Z"}
        registry = write_registry(tmp_path, [CLAIM | {"owner": "o"}], **about)
        found = judge(load_registry(registry, routed=True), [str(path)])
        assert found.claims[0].requests == 0
        assert [text for text in found.missing if "older than the registry" in text]

    @given(st.permutations([*WHOLE, end("s", 1005), choice("s", 8), answer("s", 0)]))
    def test_order(self, lines: list[Any]) -> None:
        """The order of records is of no account: they have times."""
        records = Records(SIZE, {(3, hashes()[-1]): ["a"]})
        for number, each in enumerate(lines):
            assert records.take(each, "f", number)
        assert {"r": 12, "s": 0} == records.served
        assert {"r": [("7.0", 2_500_000)], "s": [("8.0", 2_500_000)]} == records.selected


RECORDED = st.one_of(
    st.builds(
        end,
        st.sampled_from("rst"),
        st.integers(0, 9),
        st.sampled_from([7, 8, None]),
        cached_tokens=st.sampled_from([None, 0, SIZE, 3 * SIZE]),
        input_tokens=st.sampled_from([None, SIZE, 3 * SIZE, 20]),
    ),
    st.builds(choice, st.sampled_from("rst"), st.sampled_from([7, 8]), st.sampled_from([1.5, -1])),
    st.builds(answer, st.sampled_from("rst"), st.sampled_from([0, SIZE, 3 * SIZE])),
)


class TestAny:
    @given(st.lists(RECORDED, max_size=12))
    def test_verdict(self, lines: list[Any]) -> None:
        """Whatever is recorded of claims on one prefix, and on a part of it, none is kept, and none
        is accused.
        """
        with TemporaryDirectory() as folder:
            path = Path(folder) / "records.jsonl"
            path.write_text("".join(json.dumps(each) + "\n" for each in [*lines, choice("x")]))
            claims = [CLAIM | {"id": n, "owner": "o"} for n in "ab"]
            claims.append(claims[0] | {"id": "c", "tokens": TOKENS[:SIZE]})
            about = {"block_size": SIZE, "registered": "1970-01-01T00:00:00Z"}
            registry = write_registry(Path(folder), claims, **about)
            found = judge(load_registry(registry, routed=True), [str(path)])
        assert found.verdict == "inconclusive"


class TestRegistry:
    @pytest.mark.parametrize(
        "claim", [{"mode": "best_effort"}, {"salt": "s"}, {"adapter": "l"}], ids=str
    )
    def test_refused(self, tmp_path: Path, claim: dict[str, Any]) -> None:
        """A claim of another mode, and one that no record can be compared with, are refused."""
        with pytest.raises(DocumentError):
            judged(tmp_path, WHOLE, **claim)

    def test_watch(self, tmp_path: Path) -> None:
        """KV events judge no claim of routed_reuse."""
        path = write_registry(tmp_path, [CLAIM | {"owner": "o"}], block_size=SIZE)
        with pytest.raises(DocumentError, match="routes reads a router's records"):
            load_registry(path)


class TestCommand:
    def test_sample(self, capsys: Capture) -> None:
        """The sample was recorded: a request with a salt, and one that is the prefix alone."""
        code = main(["routes", str(SAMPLES / "registry.yaml"), *RECORDS, "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        assert code == 3
        (claim,) = found["claims"]
        assert (claim["requests"], claim["routed"], claim["believed"], claim["served"]) == (
            6,
            6,
            4,
            5,
        )
        assert [(each["believed"], each["served"]) for each in found["differences"]] == [(0, 96)]
        schema = schema_of("routes/1")
        assert faults(found, schema, schema) == []

    def test_text(self, capsys: Capture) -> None:
        """The table, the difference, and what is not stated."""
        assert main(["routes", str(SAMPLES / "registry.yaml"), *RECORDS]) == 3
        out = " ".join(capsys.readouterr().out.split())
        assert out.startswith("inconclusive: the records have no numbers")
        assert "system-prompt 6 6 1" in out
        assert "the router took 0 tokens for cached, the engine served 96" in out

    def test_bad(self, tmp_path: Path, capsys: Capture) -> None:
        """What cannot be read ends with 2."""
        path = tmp_path / "none.jsonl"
        assert main(["routes", str(SAMPLES / "registry.yaml"), str(path)]) == 2
        assert "no such file" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("file", "what"),
        [
            ("routes/trace.jsonl", "it looks like a request trace of NVIDIA Dynamo"),
            ("routes/frontend.jsonl", "it looks like a log line of NVIDIA Dynamo"),
            ("routes/answers.jsonl", "it looks like an answer to a client"),
            ("hard_protected_victim.jsonl", "it looks like a trace"),
            ("watch/capture.jsonl", "it looks like a capture of KV events"),
        ],
    )
    def test_no_registry(self, file: str, what: str, capsys: Capture) -> None:
        """A file that is no registry is named for what it is, with what is expected."""
        assert main(["routes", str(SAMPLES.parent / file), RECORDS[0]]) == 2
        err = capsys.readouterr().err
        assert what in err
        assert "expected: a registry of claims" in err

    @pytest.mark.parametrize(
        ("file", "what"),
        [
            ("routes/registry.yaml", "it looks like a registry of claims"),
            ("hard_protected_victim.jsonl", "it looks like a trace"),
            ("watch/capture.jsonl", "it looks like a capture of KV events"),
            ("repeat/runs.yaml", "it looks like a document of resident-claims/runs"),
            ("README.md", "not JSON"),
        ],
    )
    def test_no_records(self, file: str, what: str, capsys: Capture) -> None:
        """So is a file that has no records of requests."""
        assert main(["routes", str(SAMPLES / "registry.yaml"), str(SAMPLES.parent / file)]) == 2
        err = capsys.readouterr().err
        assert what in err
        assert "expected: a request trace of NVIDIA Dynamo" in err

    def test_extra(self, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
        """Without xxhash the command says what to install."""
        monkeypatch.setattr("monitor.watch.tokens.find_spec", lambda _: None)
        assert main(["routes", str(SAMPLES / "registry.yaml"), *RECORDS]) == 2
        assert "[xxhash]" in capsys.readouterr().err
        with pytest.raises(SpecError):
            prefix_hashes([(1,)])
