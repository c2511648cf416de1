"""What a server makes of the outputs of requests, without a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from vllm.entrypoints.generate.base.serving import GenerateBaseServing
from vllm.entrypoints.serve.exception_handling.handlers import vllm_error
from vllm.exceptions import GenerationError

from runtime_hooks.claims.ownership import CALLING
from runtime_hooks.engines.shared.refusals import OVERSIZED_REASON
from runtime_hooks.engines.shared.serving import Refused, answer_refusals
from runtime_hooks.plugin.arming import ArmingError, arm, disarm
from runtime_hooks.settings.config import Settings

RESTORE = {"reason": "claim_restoration_failed", "blocking_claim_ids": ["claim:a"]}


def output(notes: object = None, stop: str | None = None) -> Any:
    """The output of a request with one answer."""
    params = None if notes is None else {"resident_claims": notes}
    return SimpleNamespace(kv_transfer_params=params, outputs=[SimpleNamespace(stop_reason=stop)])


class Client:
    """An engine's client that gives these outputs; `closed` says that nobody wants more."""

    def __init__(self, *outputs: object) -> None:
        self._outputs, self.closed = outputs, False

    async def generate(self, request_id: str) -> AsyncGenerator[object, None]:
        try:
            for each in self._outputs:
                yield each
        finally:
            self.closed = True


def serve(
    monkeypatch: pytest.MonkeyPatch, client: Client, *, private: bool = False
) -> tuple[list[object], Any]:
    """What a server gets of one request, and the error that ends it."""
    monkeypatch.setattr(
        GenerateBaseServing, "__init__", lambda self, given: setattr(self, "engine_client", given)
    )
    got: list[object] = []

    async def read(serving: Any) -> None:
        async for each in serving.engine_client.generate("request"):
            got.append(each)

    end = answer_refusals(private=private)
    try:
        serving = GenerateBaseServing(client)
        asyncio.run(read(serving))
    except Refused as refused:
        return got, refused
    finally:
        end()
    return got, None


class TestRefused:
    def test_restore(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A restore that failed is reported with the claim, and without a sum."""
        client = Client(output(), output({"refusal": RESTORE}), output())
        got, refused = serve(monkeypatch, client)
        assert 1 == len(got)
        assert client.closed
        assert {
            "message": "claim_restoration_failed, because of claim:a",
            "type": "claim_restoration_failed",
            "param": None,
            "code": 503,
            "resident_claims": {"refusal": RESTORE},
        } == refused.body["error"]

    def test_oversized(self) -> None:
        """A request that the engine can never serve is the client's to change: status 400."""
        proof = {"resident": 0, "active": 81, "total": 81, "usable": 80, "shortfall": 1}
        refusal = {"reason": OVERSIZED_REASON, "blocking_claim_ids": [], "proof": proof}
        error = Refused({"refusal": refusal}).body["error"]
        assert (400, OVERSIZED_REASON) == (error["code"], error["type"])
        assert "81 blocks are needed, and the pool has 80" in error["message"]

    def test_one_of_several(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One of several answers was refused, and the last part to end does not say why."""
        _, refused = serve(monkeypatch, Client(output({}, "protected_resident_capacity_refused")))
        assert "protected_resident_capacity_refused" == refused.body["error"]["type"]

    def test_many(self) -> None:
        """The message names some of many claims, the body all of them."""
        many = {**RESTORE, "blocking_claim_ids": [f"claim:{n}" for n in range(20)]}
        refused = Refused({"refusal": many})
        assert str(refused).endswith("claim:7 and 12 more")
        assert many == refused.body["error"]["resident_claims"]["refusal"]

    def test_served(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is served passes, and so does what cannot be read."""
        outputs = [output(), output({"claim": {"decision": "accepted"}}), output(3), object()]
        got, refused = serve(monkeypatch, Client(*outputs))
        assert (outputs, None) == (got, refused)


class TestHandlers:
    """Errors that are not ours are answered as ever."""

    def test_other(self) -> None:
        """In a stream and outside of one."""
        end = answer_refusals()
        convert = GenerateBaseServing._convert_generation_error_to_streaming_response
        request, error = SimpleNamespace(), GenerationError("another")
        answer = asyncio.run(vllm_error.generation_error_handler(request, error))
        streamed = convert(object.__new__(GenerateBaseServing), error)
        end()
        assert 500 == answer.status_code == json.loads(streamed)["error"]["code"]

    @pytest.mark.parametrize("refused", [True, False])
    def test_stream(self, refused: bool) -> None:
        """A stream that ends by a refusal is answered with it, whatever vLLM says of the error."""
        end = answer_refusals()
        serving = object.__new__(GenerateBaseServing)
        error = Refused({"refusal": RESTORE}) if refused else GenerationError("another")
        try:
            raise error
        except GenerationError:
            answer = serving.create_error_response("lost", err_type="InternalServerError")
        finally:
            end()
        due = "claim_restoration_failed" if refused else "InternalServerError"
        assert due == answer.error.type
        after = serving.create_error_response("lost", err_type="InternalServerError")
        assert "InternalServerError" == after.error.type

    def test_disarmed(self, tmp_path: Path) -> None:
        """Disarmed, all is vLLM's own again."""
        made, handler = GenerateBaseServing.__init__, vllm_error.generation_error_handler
        answered = GenerateBaseServing.create_error_response
        arm(Settings(trace=str(tmp_path / "a")))
        assert made is not GenerateBaseServing.__init__
        disarm()
        assert made is GenerateBaseServing.__init__
        assert answered is GenerateBaseServing.create_error_response
        assert handler is vllm_error.generation_error_handler

    def test_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where a server cannot be hooked nothing is."""
        monkeypatch.delattr(vllm_error, "generation_error_handler")
        with pytest.raises(ArmingError, match="generation_error_handler"):
            arm(Settings())


class TestPrivate:
    """Where callers are authenticated each learns of its own claims alone."""

    OTHERS: ClassVar = {**RESTORE, "owners": [["tenant-b", 60]]}

    def test_caller(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The claims of others are counted, for whoever calls."""
        told = {}
        for caller in ("tenant-a", "tenant-b", ""):
            CALLING.set(caller)
            _, refused = serve(monkeypatch, Client(output({"refusal": self.OTHERS})), private=True)
            told[caller] = refused.body["error"]["resident_claims"]["refusal"]
            assert "owners" not in told[caller]
        CALLING.set("")
        assert ["claim:a"] == told["tenant-b"]["blocking_claim_ids"]
        assert {"claims": 1, "blocks": 60} == told["tenant-a"]["others"] == told[""]["others"]
        assert [] == told["tenant-a"]["blocking_claim_ids"] == told[""]["blocking_claim_ids"]

    def test_fault(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What cannot be read says nothing, rather than too much."""
        odd = output({"refusal": {**self.OTHERS, "owners": 3}})
        got, refused = serve(monkeypatch, Client(odd), private=True)
        assert ([odd], None, None) == (got, refused, odd.kv_transfer_params)
