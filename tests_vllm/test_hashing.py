"""Recomputed hashes are vLLM's own, and claims are watched by them where events have no tokens."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from vllm.utils.hashing import get_hash_fn_by_name
from vllm.v1.core import kv_cache_utils

from monitor.__main__ import main
from monitor.follow.kv_socket import KvSocket
from monitor.watch.hashing import Hashing
from runtime_hooks.demo.tiny import BLOCK, tokens
from spec.lowering.depths import Precondition
from tests.monitor.follow.reading import reading
from tests_vllm.serve import Server
from tests_vllm.test_kv_events import free_port, settled

HOT, COLD, SALTED = (tokens(name, 10) for name in ("hot", "cold", "salted"))
CLAIMS: list[dict[str, Any]] = [
    {"id": "hot", "owner": "team", "tokens": HOT},
    {"id": "cold", "owner": "team", "tokens": COLD},
    {"id": "salted", "owner": "team", "tokens": SALTED, "salt": "a-salt"},
]
Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("seed", [None, "0", "a seed"])
@pytest.mark.parametrize("scheme", ["sha256", "sha256_cbor", "xxhash", "xxhash_cbor"])
def test_same(scheme: str, seed: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For random prompts, adapters and salts, every byte of a hash is that of vLLM."""
    if scheme.startswith("xxhash"):
        seed = seed or "1"  # without one, vLLM makes it up
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    if seed is not None:
        monkeypatch.setenv("PYTHONHASHSEED", seed)
    function, rng = get_hash_fn_by_name(scheme), random.Random(0)
    monkeypatch.setattr(kv_cache_utils, "NONE_HASH", None, raising=False)
    kv_cache_utils.init_none_hash(function)
    for _ in range(200):
        size = rng.choice((1, 16, 64))
        prompt = [rng.randrange(1 << rng.choice((4, 8, 16, 17, 32))) for _ in range(3 * size)]
        salt = rng.choice((None, "ü", "s" * rng.randrange(1, 300)))
        adapter = rng.choice((None, ("name", "/a/path"), ("same", "same")))
        # In the engine the name and the path are two objects, also if they are equal.
        lora = adapter and SimpleNamespace(
            lora_name=adapter[0].encode().decode(), lora_path=adapter[1].encode().decode()
        )
        request: Any = SimpleNamespace(
            mm_features=[],
            lora_request=lora,
            cache_salt=salt,
            prompt_embeds=None,
            block_hashes=[],
            num_tokens=len(prompt),
            all_token_ids=prompt,
        )
        hashes = kv_cache_utils.get_request_block_hasher(size, function)(request)
        blocks = [prompt[at : at + size] for at in range(0, len(prompt), size)]
        assert Hashing(scheme, seed).keys(blocks, adapter=adapter, salt=salt) == tuple(
            (kv_cache_utils.maybe_convert_block_hash(each), each.hex()) for each in hashes
        )


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """What an engine published, and the same without token ids."""
    folder, ports = tmp_path_factory.mktemp("hashing"), (free_port(), free_port())
    config = {"enable_kv_cache_events": True, "publisher": "zmq"}
    config |= {"endpoint": f"tcp://*:{ports[0]}", "replay_endpoint": f"tcp://*:{ports[1]}"}
    server = Server(folder, "--kv-events-config", json.dumps(config), armed=False)
    try:
        server.wait()
        server.complete([*HOT, 1])
        server.complete([*COLD, 1])
        server.complete([*SALTED, 1], extra_body={"cache_salt": "a-salt"})
        server.complete([*HOT, 1])
        server.complete(tokens("active", 65))  # what does not fit beside it is evicted
        server.complete([*SALTED, 1], extra_body={"cache_salt": "a-salt"})
        with reading(KvSocket(*(f"tcp://127.0.0.1:{port}" for port in ports))) as read:
            settled(read)
            lines = [line for line in read.lines if line is not None]
    finally:
        server.kill()
    whole, bare = folder / "whole.jsonl", folder / "bare.jsonl"
    whole.write_bytes(b"\n".join(lines) + b"\n")
    bare.write_bytes(b"\n".join(map(stripped, lines)) + b"\n")
    return str(whole), str(bare)


def stripped(line: bytes) -> bytes:
    """A line of a capture whose events have no token ids."""
    message = json.loads(line)
    batch = msgspec.msgpack.decode(base64.b64decode(message["frames"][2]))
    for event in batch[1]:
        if event["type"] == "BlockStored":
            event["token_ids"] = []
    message["frames"][2] = base64.b64encode(msgspec.msgpack.encode(batch)).decode()
    return json.dumps(message).encode()


def watched(
    capture: str, folder: Path, capsys: Capture, hashing: Any = None
) -> tuple[int, list[tuple[str, str, str]], dict[str, Any]]:
    """The exit code, the changes and the end of a watch."""
    about = {"schema": "resident-claims/registry/1", "model": "tiny", "block_size": BLOCK}
    about |= {"registered": "1970-01-01T00:00:00Z", "claims": CLAIMS}
    about |= {} if hashing is None else {"hashing": hashing}
    registry = folder / "registry.json"
    registry.write_text(json.dumps(about))
    code = main(["watch", str(registry), capture, "--until-eof", "--format", "json"])
    lines = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    changes = [
        (each["claim"]["claim_id"], each["claim"]["state"], each["why"])
        for each in lines
        if each["schema"].endswith("watched-change/1")
    ]
    return code, changes, lines[-1]


class TestWatched:
    def test_right(self, captures: tuple[str, str], tmp_path: Path, capsys: Capture) -> None:
        """By its hashes every claim is watched as by its tokens, from its first store on."""
        whole = watched(captures[0], tmp_path, capsys)
        bare = watched(captures[1], tmp_path, capsys, {"scheme": "sha256"})
        assert (whole[0], bare[0]) == (0, 0), (whole[2], bare[2])
        for claim in CLAIMS:
            told, found = ([e for e in each[1] if e[0] == claim["id"]] for each in (whole, bare))
            begin = next(number for number, each in enumerate(told) if each[1] == "held")
            assert found[-len(told[begin:]) :] == told[begin:]
        assert "absent" in {each[1] for each in bare[1]}  # lost: what was never seen is unknown
        met = {each["precondition"]: each["met"] for each in bare[2]["preconditions"]}
        assert {*met.values()} == {"met"}

    @pytest.mark.parametrize(
        "hashing", [None, {"scheme": "sha256", "seed": "0"}, {"scheme": "sha256_cbor"}]
    )
    def test_wrong(
        self, hashing: Any, captures: tuple[str, str], tmp_path: Path, capsys: Capture
    ) -> None:
        """Under another seed or scheme, or none, no claim is held, and none is lost."""
        code, changes, end = watched(captures[1], tmp_path, capsys, hashing)
        assert (code, end["verdict"]) == (3, "inconclusive")
        assert {each[1] for each in changes[len(CLAIMS) :]} <= {"unknown"}
        assert {each["state"] for each in end["engines"][0]["claims"]} == {"unknown"}
        met = {each["precondition"]: each["met"] for each in end["preconditions"]}
        assert met[Precondition.REQUEST_TOKEN_MAP] == "not observable"
