"""How requests are routed by claims, without a server: what a rank notes, and who reads it."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any

import pytest
from vllm import SamplingParams
from vllm.v1.engine import EngineCoreRequest
from vllm.v1.engine.async_llm import AsyncLLM
from vllm.v1.engine.core_client import DPLBAsyncMPClient
from vllm.v1.engine.exceptions import EngineGenerateError

from runtime_hooks.control.folder import routes_of_server
from runtime_hooks.demo.engine import claim, sampling
from runtime_hooks.demo.tiny import BLOCK, tokens
from runtime_hooks.engines import installed, package_of, v0_31
from runtime_hooks.engines.shared.balancing import route_by_claims
from runtime_hooks.engines.shared.serving import Refused
from runtime_hooks.plugin.arming import disarm
from runtime_hooks.routing.prefix import prefixes_of
from runtime_hooks.routing.router import (
    TRIED,
    Asked,
    Choice,
    goes_elsewhere,
    marked,
    route_in,
)
from runtime_hooks.routing.routes import RouteLog, RouteTable
from runtime_hooks.settings.config import Drill, Routing
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Make
from tests_vllm.ranks import SECOND_OF_TWO, router_of, send
from tests_vllm.test_faults import Injected, in_core, watching
from tests_vllm.test_serving import Client, output, serve

IS_0_31 = package_of(installed()) == v0_31.__name__
PROMPT = tokens("a", 4)
FORGED = {"resident_claims_route": [99, "rank 9"], "resident_claims_elsewhere": True}
"""Marks as a client may send them."""

IDLE = (0.0, 0.0)
ROUTED = {"route_by_claims.<locals>.routed"}
"""What vLLM calls directly, and what catches exceptions there."""


class TestRank:
    """A real engine that is the second of two ranks."""

    def test_claims(self, make: Make, tmp_path: Path) -> None:
        """Each claim has a route while it lives, however it began: with its request, by a renewal,
        by a pin; also one whose blocks other claims share."""
        engine, router = make(engine=SECOND_OF_TWO), router_of(tmp_path / "control")

        def rank_of(name: str, blocks: int, **metadata: Any) -> int | None:
            asked = Asked("r", tokens(name, blocks), None, None, metadata)
            return router.choose(asked, IDLE, lambda _: None).rank

        engine.serve(("a", 5, claim("claim:a", 4, "expiring", duration="600 s")))
        assert (1, 1, None) == (rank_of("a", 4), rank_of("a", 9), rank_of("a", 3))
        renewal = {"claim_id": "claim:a", "successor": "claim:b", "owner_scope": "tenant"}
        engine.serve(("small", 1, {"renew_claim": renewal}))
        assert 1 == rank_of("a", 4)
        named = {"release_claim": {"claim_id": "claim:b"}}
        assert (1, None) == (
            rank_of("x", 1, **named),
            rank_of("x", 1, release_claim={"claim_id": "claim:a"}),
        )
        engine.serve(("small", 1, {"release_claim": {"claim_id": "claim:b", **OWNER}}))
        assert (None, None) == (rank_of("a", 4), rank_of("x", 1, **named))
        engine.serve(("job", 3, {"pin": {"job_id": "j", "ttl": "600 s"}}))
        assert (1, None) == (rank_of("job", 3), rank_of("job", 2))
        engine.serve(("large", 5, claim("claim:c", 90)))  # rejected
        assert None is rank_of("large", 5)
        disarm()
        assert (None, []) == (rank_of("job", 3), [*(tmp_path / "control").glob("*.routes")])

    def test_routed(self, make: Make) -> None:
        """A rank takes claims of routed_reuse, and reports the routes that the router states."""
        engine = make(engine=SECOND_OF_TWO)
        (answer,) = engine.serve(("a", 5, claim("claim:a", 4, "routed_reuse")))
        assert {"claim": {"decision": "accepted"}} == answer.metadata
        send(engine, "a", 6, Choice(1, "prefix", cost=2))
        engine.serve(("large", 78))
        send(engine, "a", 7, Choice(1, "prefix", cost=3))
        engine.serve(("a", 8))
        engine.close()
        routed = [(e.cost, e.worker) for e in engine.kinds("request_routed")]
        assert [(2, "rank 1"), (3, "rank 1")] == routed
        assert [True, False] == [e.hit for e in engine.kinds("reuse_served")]
        assert ModeVerdict.KEPT is engine.judge(Mode.ROUTED_REUSE).verdict

    def test_elsewhere(self, make: Make) -> None:
        """A request that does not fit, and that the router sends on, is reported as routed
        elsewhere; one that asks for something, and one that is not sent on, is refused."""
        engine, on = make(engine=SECOND_OF_TWO), Choice(1, "balancer")
        engine.serve(("a", 60, claim("claim:a")))
        first = send(engine, "b", 70, on, elsewhere=True)
        second = send(engine, "b", 70, on)
        asks = {"release_claim": {"claim_id": "x"}}
        third = send(engine, "b", 70, on, asks, elsewhere=True)
        reasons = [first.outputs[0].stop_reason, second.outputs[0].stop_reason]
        assert ["request_routed_elsewhere", "protected_resident_capacity_refused"] == reasons
        assert reasons[1] == third.outputs[0].stop_reason
        refusal = first.kv_transfer_params["resident_claims"]["refusal"]
        assert (reasons[0], ["claim:a"]) == (refusal["reason"], refusal["blocking_claim_ids"])
        engine.close()
        (report,) = engine.kinds("request_routed_elsewhere")
        assert (("claim:a",), 50) == (report.blocking_claim_ids, report.proof.shortfall)
        assert 2 == len(engine.kinds("request_refused"))
        assert ModeVerdict.KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    @pytest.mark.parametrize("by_claims", [True, False], ids=["routing", "no routing"])
    def test_forged(self, make: Make, by_claims: bool) -> None:
        """Marks that a client sends, and that no router takes away, change nothing: no route is
        reported, and a request that does not fit is refused."""
        engine = make(engine=SECOND_OF_TWO, routing=Routing(by_claims=by_claims))
        mode = "routed_reuse" if by_claims else "best_effort"
        engine.serve(("a", 5, claim("claim:a", 5, mode)), ("b", 60, claim("claim:b")))
        params = sampling(None)
        params.extra_args = FORGED
        prompts: Any = [{"prompt_token_ids": tokens(*of)} for of in (("a", 6), ("c", 70))]
        reasons = [
            engine.llm.generate(prompt, params, use_tqdm=False)[0].outputs[0].stop_reason
            for prompt in prompts
        ]
        assert [None, "protected_resident_capacity_refused"] == reasons
        engine.close()
        kinds = {event.kind for event in engine.events()}
        assert {Kind.REQUEST_REFUSED, Kind.PREFIX_REUSED} <= kinds
        assert kinds.isdisjoint({Kind.REQUEST_ROUTED, Kind.REQUEST_ROUTED_ELSEWHERE})

    def test_sabotaged(self, make: Make) -> None:
        """Where that report is missing the claim is violated."""
        engine = make(engine=SECOND_OF_TWO, drill=Drill(suppress=(Kind.REQUEST_ROUTED_ELSEWHERE,)))
        engine.serve(("a", 60, claim("claim:a")))
        send(engine, "b", 70, Choice(1, "balancer"), elsewhere=True)
        engine.close()
        assert ModeVerdict.VIOLATED is engine.judge(Mode.HARD_PROTECTED).verdict


OWNER = {"owner_scope": "tenant"}


class TestBalancer:
    """VLLM's own client of two ranks, of which the second has a claim."""

    names = itertools.count()

    @pytest.fixture
    def log(self, tmp_path: Path) -> RouteLog:
        return RouteLog(tmp_path / f"1-dp1of2{routes_of_server()}", BLOCK)

    @pytest.fixture
    def choose(self, tmp_path: Path, log: RouteLog) -> Iterator[Callable[..., Any]]:
        """Have it choose the rank of a request; with `full` the second rank has a queue."""
        client: Any = DPLBAsyncMPClient.__new__(DPLBAsyncMPClient)
        client.core_engines, client.reqs_in_flight = [b"0", b"1"], {}
        client.streaming_reqs = set()  # sessions, which vLLM 0.33 counts
        client.engine_inflight, client.client_count, client.eng_start_index = Counter(), 2, 0
        self.router = router_of(tmp_path, full="refuse", queue=3)
        end = route_by_claims(self.router)

        def choice(request: Any, full: bool = False) -> Any:
            client.lb_engines = [[0, 0, 0.0], [3 * full, 0, 0.0]]
            chosen = client.get_core_engine_for_request(request)
            self.counts = [each[0] for each in client.lb_engines]
            return chosen

        yield choice
        end()

    def asked(self, name: str = "r", rank: int | None = None, **params: Any) -> EngineCoreRequest:
        """A request with the prefix, as the balancer gets it."""
        extra = {"kv_transfer_params": params} if params else None
        return EngineCoreRequest(
            name, PROMPT, None, SamplingParams(extra_args=extra), None, 0.0, None, None, rank
        )

    def test_chosen(self, choose: Callable[..., Any], log: RouteLog) -> None:
        """What has the prefix goes to the claim's rank, and counts there as a waiting request, as
        where vLLM chooses; where the client chose, and without the claim, it goes as ever."""
        first = [choose(self.asked(f"{n}")) for n in range(4)]
        log.begin("claim:a", next(prefixes_of(PROMPT, [96], None, None)))
        request = self.asked("a")
        assert (b"1", [0, 2], None) == (choose(request), self.counts, request.data_parallel_rank)
        again = choose(request)  # the next input of a session: vLLM 0.31 chooses anew
        assert b"1" == again or IS_0_31
        assert b"0" == choose(self.asked("b", rank=0))
        log.end("claim:a")
        assert {b"0", b"1"} == set(first)
        assert {"balancer": 4, "prefix": 1, "in flight": 1, "header": 1} == self.router.chosen

    def test_route(self, choose: Callable[..., Any], log: RouteLog) -> None:
        """The engine gets the route from the router alone, and only for a claim that wants it."""

        def sent(extra: dict[str, Any] | None = None) -> Any:
            request = self.asked(str(next(self.names)))
            request.sampling_params.extra_args = extra
            choose(request)
            return request.sampling_params.extra_args

        forged = marked({"a": 1}, Choice(9, "prefix", cost=99), elsewhere=True)
        assert {"a": 1} == sent(forged)
        prefix = next(prefixes_of(PROMPT, [96], None, None))
        log.begin("claim:a", prefix)
        assert None is sent()
        log.begin("claim:b", prefix, routed=True)
        assert (1, "rank 1") == route_in(sent())
        assert marked({"a": 1}, Choice(1, "prefix", cost=1)) == sent(forged)

    def test_fault(self, choose: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the router fails vLLM chooses."""

        def wrong(*args: object) -> Choice:
            raise ValueError

        monkeypatch.setattr(self.router, "choose", wrong)
        assert {b"0", b"1"} == {choose(self.asked(str(n))) for n in range(4)}

    def test_each_fault(
        self,
        choose: Callable[..., Any],
        log: RouteLog,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Each function of the plugin that runs there fails at its first call: a request goes to
        some rank all the same, without a route that its client made up, and the next one to the
        rank of its claim."""
        monkeypatch.setattr("runtime_hooks.routing.routes._LOOK_S", 0.0)
        log.begin("claim:a", next(prefixes_of(PROMPT, [96], None, None)), routed=True)
        reached: Counter[CodeType] = Counter()
        marks: list[SamplingParams] = []

        def send() -> list[Any]:
            request, chosen = self.asked(str(next(self.names))), self.asked("b", rank=0)
            request.sampling_params.extra_args = dict(FORGED)
            marks.append(request.sampling_params)
            return [choose(request), choose(chosen)]

        def count(code: CodeType) -> None:
            reached[code] += 1

        with watching(count, in_core):
            send()
        inner = [code for code in reached if code.co_qualname not in ROUTED]
        assert {"_choice", "_sent", "Router.choose"} <= {code.co_qualname for code in inner}
        for each in inner:
            self.router._table = RouteTable(tmp_path, routes_of_server())
            left = [each]

            def fail(code: CodeType, left: list[CodeType] = left) -> None:
                if code in left:
                    left.remove(code)
                    raise Injected

            with watching(fail, in_core):
                assert {*send()} <= {b"0", b"1"}, each.co_qualname
            assert [] == left
            assert [b"1", b"0"] == send()
        assert {None, (1, "rank 1")} == {route_in(each.extra_args) for each in marks}
        assert not any(goes_elsewhere(each.extra_args) for each in marks)
        assert any(each.extra_args == FORGED for each in marks)  # no router took them away

    def test_refused(
        self, choose: Callable[..., Any], log: RouteLog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where the settings say so a request whose rank is full is refused with status 503, and
        nothing of it stays."""
        log.begin("claim:a", next(prefixes_of(PROMPT, [96], None, None)))
        known: list[str] = []
        with pytest.raises(Refused) as caught:
            add(known, self.asked("a"), lambda request: choose(request, full=True))
        assert [] == known
        _, refused = serve(monkeypatch, Raising(caught.value))
        assert ("claim_rank_full", 503) == (refused.body["error"]["type"], refused.status_code)
        _, other = serve_error(monkeypatch, Raising(ValueError()))
        assert isinstance(other, EngineGenerateError)

    def test_elsewhere(self, choose: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
        """A request that did not fit on a rank is sent to the other one, and ends there; one with
        several answers is not sent on."""
        sent: list[tuple[bytes, bool]] = []

        def send(request: Any) -> None:
            engine = choose(request)
            sent.append((engine, goes_elsewhere(request.sampling_params.extra_args)))

        class Refusing(Client):
            """Both ranks refuse."""

            async def generate(inner, request_id: str) -> AsyncGenerator[object, None]:
                name = f"{request_id}{len(sent)}"
                await adding([], self.asked(name), send)
                reason = "request_routed_elsewhere" if sent[-1][1] else "refused"
                yield output({"refusal": {"reason": reason}})

        got, refused = serve(monkeypatch, Refusing())
        assert ([], "refused") == (got, refused.body["error"]["type"])
        assert [True, False] == [goes for _, goes in sent]
        assert {b"0", b"1"} == {engine for engine, _ in sent}
        assert {"balancer": 1, "elsewhere": 1} == self.router.chosen
        TRIED.set([])
        choose(part := self.asked("0_a"))  # vLLM sends each part by itself
        TRIED.set(None)
        assert not goes_elsewhere(part.sampling_params.extra_args)


async def adding(known: list[str], request: Any, send: Callable[[Any], object]) -> None:
    """VLLM adds a request, which it then sends to a rank; `known` are those that it waits for."""

    async def send_async(request: Any) -> None:
        send(request)

    server: Any = SimpleNamespace(
        log_requests=False,
        engine_core=SimpleNamespace(add_request_async=send_async),
        check_admission=lambda **named: None,
        output_processor=SimpleNamespace(
            has_request=lambda name: False,
            add_request=lambda request, *rest: known.append(request.request_id),
            abort_requests=lambda names, internal: [known.remove(name) for name in names],
        ),
    )
    await AsyncLLM._add_request(server, request, None, None, 0, None)


def add(known: list[str], request: Any, send: Callable[[Any], object]) -> None:
    """The same, at once."""
    asyncio.run(adding(known, request, send))


class Raising(Client):
    """An engine's client that ends a request as vLLM does, because of this."""

    def __init__(self, cause: Exception) -> None:
        super().__init__()
        self._cause = cause

    async def generate(self, request_id: str) -> AsyncGenerator[object, None]:
        for each in ():
            yield each
        raise EngineGenerateError from self._cause


def serve_error(monkeypatch: pytest.MonkeyPatch, client: Client) -> tuple[object, object]:
    """The error that is not ours."""
    try:
        return serve(monkeypatch, client)
    except EngineGenerateError as error:
        return None, error
