"""The simulation does what a real vLLM does: the same hits and the same victims, by request."""

from __future__ import annotations

import random
from math import inf
from typing import Any, NamedTuple

import pytest
from vllm import SamplingParams
from vllm.v1.request import Request as EngineRequest

from models.simulation.cost import Cost
from models.simulation.engine import simulate
from models.simulation.outcome import Row, Tally
from models.simulation.policies import chosen
from models.simulation.policies.prefixes import Prefixes
from models.simulation.request import Request, Workload
from models.simulation.routing import Routing, router
from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.scenes import offloading
from runtime_hooks.demo.tiny import BLOCK
from runtime_hooks.engines.shared.refusals import METADATA
from tests_vllm.conftest import Make
from tests_vllm.engine import Engine

LOCKSTEP = Cost(prefill_tokens_s=inf, decode_s=1.0, load_blocks_s=inf, step_s=1.0)
"""Each step of the engine takes a second, whatever it computes."""

_WORDS = 512
RUNNING = 4


class Asked(NamedTuple):
    """A request: the step before which it comes, its prompt, and the tokens of its answer."""

    step: int
    prompt: list[int]
    output: int
    metadata: dict[str, Any] | None = None
    session: str | None = None
    tool: str | None = None


class Served(NamedTuple):
    """What became of a request: tokens found and loaded, victims in order, and when it was
    admitted."""

    hit: int
    victims: tuple[int, ...]
    admitted: int | None
    ended: int
    loaded: int = 0


def workload(source: random.Random, count: int, outputs: tuple[int, ...]) -> list[Asked]:
    """Requests of which many begin like earlier ones, at a block or within one."""
    asked: list[Asked] = []
    step = 0
    for _ in range(count):
        step += source.choice((0, 0, 1, 2, 40))
        begins: list[int] = []
        if asked and source.random() < 0.7:
            like = source.choice(asked).prompt
            size = source.randrange(1, len(like) + 1)
            begins = like[: size if source.random() < 0.3 else size // BLOCK * BLOCK]
        more = source.choice((0, 0, 1, 2, 3)) * BLOCK + source.choice((0, 0, 5))
        tokens = [*begins, *(source.randrange(1, _WORDS) for _ in range(more))][: 8 * BLOCK]
        asked.append(Asked(step, tokens or [1], source.choice(outputs)))
    return asked


class Watched:
    """A real engine that is driven step by step, and the hits and victims of each request."""

    def __init__(self, engine: Engine) -> None:
        self.core, self.armed = engine.core, engine.armed
        self.keys: dict[bytes, int] = {}
        self.hits: dict[str, int] = {}
        self.loads: dict[str, int] = {}
        self.victims: dict[str, list[int]] = {}
        self.admitted: dict[str, int] = {}
        self.blockers: dict[str, list[str]] = {}
        self.step, self.second = 0, 0.0
        self._allocating, self._read = "", 0
        self._manager = self.core.scheduler.kv_cache_manager
        self._pool = self._manager.block_pool
        self._allocate, self._manager.allocate_slots = self._manager.allocate_slots, self.allocate
        self._update = self.core.scheduler.update_from_output
        self.core.scheduler.update_from_output = self.update
        self._removed = self._pool._remove_cached_block_hashes
        self._pool._remove_cached_block_hashes = self.removed

    def allocate(self, request: Any, *args: Any, **more: Any) -> Any:
        """Note the hits of a request that gets its first blocks."""
        self._allocating = request.request_id
        blocks = self._allocate(request, *args, **more)
        if blocks is not None and request.request_id not in self.hits:
            self.hits[request.request_id] = more.get("num_new_computed_tokens", 0)
            self.loads[request.request_id] = more.get("num_external_computed_tokens", 0)
            self.admitted[request.request_id] = self.step
        return blocks

    def update(self, *args: Any, **more: Any) -> Any:
        """A step takes a second; requests end before it is over, and before the next one begins."""
        self.second = self.step + 0.5
        return self._update(*args, **more)

    def removed(self, block: Any) -> Any:
        """Note what is evicted."""
        gone = self._removed(block)
        self.victims.setdefault(self._allocating, []).extend(self.key(each) for each in gone)
        return gone

    def key(self, key: bytes) -> int:
        """The number of a content."""
        return self.keys.setdefault(key[:32], len(self.keys))

    def clock(self) -> int:
        """The time in ns, each time a later one: claims expire in the order of their acceptance."""
        self._read += 1
        return int((1_000 + self.second) * 1e9) + self._read

    def claiming(self, request: Any) -> Any:
        """Name the claim that a request brings, which is left out where one on it is live."""
        stated = (request.kv_transfer_params or {}).get("resident_claim")
        if stated is not None:
            (controller,) = (each.controller for each in self.armed.attachments)
            controller.tick()
            prefix = f"{stated['claim_id']}."
            if any(name.split("/")[-1].startswith(prefix) for name in controller._registry.live):
                del request.kv_transfer_params["resident_claim"]
            else:
                stated["claim_id"] = f"{prefix}{request.request_id}"
        return request

    def play(self, asked: list[Asked]) -> tuple[Workload, list[Served]]:
        """Serve requests; return them as a workload, and what became of them."""
        hasher = self.core.request_block_hasher
        requests: list[Any] = []
        ended: dict[str, int] = {}
        for attachment in self.armed.attachments:
            attachment.controller._clock = self.clock
        for number, each in enumerate(asked):
            extra = None if each.metadata is None else {"kv_transfer_params": each.metadata}
            params = SamplingParams(
                max_tokens=each.output, temperature=0.0, ignore_eos=True, extra_args=extra,
                detokenize=False,
            )  # fmt: skip
            made = EngineRequest(f"r{number}", each.prompt, params, None, block_hasher=hasher)
            requests.append(made)
        waiting = list(zip(asked, requests, strict=True))
        while waiting or self.core.scheduler.has_requests():
            while waiting and waiting[0][0].step <= self.step:
                self.core.add_request(self.claiming(waiting.pop(0)[1]))
            outputs, _ = self.core.step()
            self.step += 1
            self.second = self.step
            for some in outputs.values():
                for output in some.outputs:
                    if output.finish_reason is not None:
                        ended[output.request_id] = self.step
                    notes = (output.kv_transfer_params or {}).get(METADATA, {})
                    if "refusal" in notes:
                        blockers = notes["refusal"]["blocking_claim_ids"]
                        self.blockers[output.request_id] = blockers
        made = tuple(
            Request(
                r.request_id,
                float(each.step),
                len(each.prompt),
                each.output,
                tuple(self.key(h) for h in r.block_hashes),
                session=each.session,
                tool=each.tool,
            )
            for each, r in zip(asked, requests, strict=True)
        )
        served = [
            Served(
                self.hits.get(r.id, 0),
                tuple(self.victims.get(r.id, ())),
                self.admitted.get(r.id),
                ended[r.id],
                self.loads.get(r.id, 0),
            )
            for r in made
        ]
        return Workload("random", BLOCK, made), served


def replayed(workload: Workload, blocks: int, policy: str) -> list[Row]:
    """The rows of a simulation of the same requests."""
    rows: dict[str, Row] = {}
    named = chosen(policy)
    tally = Tally(policy, BLOCK, lambda row: rows.update({row.request: row}))
    simulate(
        workload,
        [named.made(workload, blocks)()],
        blocks,
        cost=LOCKSTEP,
        tally=tally,
        route=router(Routing.ROUND_ROBIN),
        max_running=RUNNING,
    )
    return [rows[request.id] for request in workload]


def simulated(workload: Workload, blocks: int, policy: str) -> list[Served]:
    """What the simulation does with the same requests."""
    return [
        Served(
            row.hit,
            tuple(row.victims),
            None if row.admitted is None else int(row.admitted),
            # a load takes a step of the engine, and so does the answer to what is refused
            int(row.ended) + (bool(row.loaded) or row.admitted is None),
            row.loaded,
        )
        for row in replayed(workload, blocks, policy)
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("usable", "outputs"),
    [(24, (1,)), (24, (1, 3, 40, 70)), (12, (1, 40, 90))],
    ids=["prompts", "answers", "preempted"],
)
def test_lru(make: Make, seed: int, usable: int, outputs: tuple[int, ...]) -> None:
    """Without claims each request has the same hits and victims, in the same step."""
    source = random.Random(seed)
    engine = make(usable, engine={"max_model_len": usable * BLOCK}, enforce=())
    requests, served = Watched(engine).play(workload(source, 60, outputs))
    assert any(each.victims for each in served)
    assert served == simulated(requests, usable, "lru")


def with_claims(
    engine: Engine, asked: list[Asked], mode: str, least: int, **more: Any
) -> list[Asked]:
    """The same requests, each with a claim on the prefix that it shares with others."""
    hasher = engine.core.request_block_hasher
    keys: dict[bytes, int] = {}
    params = SamplingParams(max_tokens=1)
    made = []
    for number, each in enumerate(asked):
        hashes = EngineRequest("x", each.prompt, params, None, block_hasher=hasher).block_hashes
        found = tuple(keys.setdefault(h[:32], len(keys)) for h in hashes)
        made.append(Request(f"r{number}", 0.0, len(each.prompt), 1, found))
    prefixes = Prefixes(Workload("", BLOCK, tuple(made)), least)
    claimed = []
    for each, request in zip(asked, made, strict=True):
        prefix = prefixes.of(request.keys, request.prompt)
        stated = prefix and claim(prefix.name, len(prefix.keys), mode, **more)
        claimed.append(each._replace(metadata=stated))
    return claimed


def turns(source: random.Random, sessions: int) -> list[Asked]:
    """Turns of sessions whose prompts grow; all but the last one call a tool."""
    asked: list[Asked] = []
    for number in range(sessions):
        step, prompt = source.randrange(60), list[int]()
        count = source.randrange(1, 5)
        for turn in range(count):
            more = source.choice((1, 2, 3)) * BLOCK + source.choice((0, 5))
            prompt = [*prompt, *(source.randrange(1, _WORDS) for _ in range(more))]
            last = turn + 1 == count
            pin = {"job_id": f"job:{number}", "last_step": last, "ttl": "20.5 s"}
            output = source.choice((1, 3, 40))
            tool = None if last else "tool"
            asked.append(Asked(step, prompt, output, {"pin": pin}, f"job:{number}", tool))
            step += source.choice((1, 10, 60))
    return sorted(asked, key=lambda each: each.step)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("mode", "options", "more"),
    [
        ("hard_protected", "", {}),
        ("expiring", ",ttl=30", {"duration": "30 s"}),
        ("soft_priority", "", {"priority": 1}),
        ("best_effort", "", {}),
    ],
)
def test_claims(make: Make, seed: int, mode: str, options: str, more: dict[str, Any]) -> None:
    """Claims of the plugin: the same hits and victims."""
    source = random.Random(seed)
    engine = make(24, engine={"max_model_len": 24 * BLOCK})
    asked = with_claims(engine, workload(source, 60, (1, 3, 40)), mode, 3, **more)
    requests, served = Watched(engine).play(asked)
    found = simulated(requests, 24, f"claim:mode={mode},shared=3,quota=1{options}")
    assert any(each.victims for each in served)
    assert served == found


@pytest.mark.parametrize("seed", [0, 1, 6, 9])
@pytest.mark.parametrize(
    ("mode", "options", "more"),
    [("hard_protected", "", {}), ("expiring", ",ttl=200", {"duration": "200 s"})],
)
def test_refusing(make: Make, seed: int, mode: str, options: str, more: dict[str, Any]) -> None:
    """In a small pool the same requests are refused, because of the same claims."""
    engine = make(12, engine={"max_model_len": 12 * BLOCK})
    asked = with_claims(engine, workload(random.Random(seed), 60, (1, 3, 40)), mode, 2, **more)
    watched = Watched(engine)
    requests, served = watched.play(asked)
    policy = f"claim:mode={mode},shared=2,quota=1{options}"
    refused = {row.request: row.blockers for row in replayed(requests, 12, policy) if row.refused}
    assert refused == {
        request: [name.rpartition(".")[0] for name in blockers]  # without the request it came with
        for request, blockers in watched.blockers.items()
    }
    assert served == simulated(requests, 12, policy)
    assert any(refused.values())


@pytest.mark.parametrize("seed", range(4))
def test_demotable(make: Make, seed: int) -> None:
    """Claims yield to the same requests, some of which hard claims would have kept out."""
    engine = make(12, engine={"max_model_len": 12 * BLOCK})
    asked = with_claims(engine, workload(random.Random(seed), 60, (1, 3, 40)), "demotable", 2)
    requests, served = Watched(engine).play(asked)
    assert served == simulated(requests, 12, "claim:mode=demotable,shared=2,quota=1")
    hard = simulated(requests, 12, "claim:mode=hard_protected,shared=2,quota=1")
    assert any(each.admitted is None for each in hard)


def apart(asked: list[Asked]) -> list[Asked]:
    """The same requests, each after the one before has ended.

    vLLM copies a prompt in the step after it was computed. So that this is no step of the next
    request, each answer has several tokens.
    """
    return [each._replace(step=100 * n, output=3) for n, each in enumerate(asked)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tier", [400, 16])
def test_offload(make: Make, seed: int, tier: int) -> None:
    """With vLLM's OffloadingConnector requests that come one by one have the same hits, victims
    and loads, from a tier for all of them and from one that forgets some."""
    offloads = offloading(cpu_bytes_to_use=tier << 15)
    engine = make(14, engine={"max_model_len": 14 * BLOCK, **offloads}, enforce=())
    requests, served = Watched(engine).play(apart(workload(random.Random(seed), 60, (1,))))
    assert any(each.loaded for each in served)
    assert served == simulated(requests, 14, f"offload:blocks={tier}")


@pytest.mark.parametrize("seed", range(4))
def test_offloadable(make: Make, seed: int) -> None:
    """The same with offloadable claims, whose copies a full tier does not forget."""
    offloads = offloading(cpu_bytes_to_use=16 << 15)
    engine = make(14, engine={"max_model_len": 14 * BLOCK, **offloads})
    asked = apart(workload(random.Random(seed), 60, (1,)))
    requests, served = Watched(engine).play(with_claims(engine, asked, "offloadable", 3))
    assert any(each.loaded for each in served)
    claims = "claim:mode=offloadable,shared=3,quota=1,tier=16"
    assert served == simulated(requests, 14, claims)


@pytest.mark.parametrize("seed", [4, 6, 9])
@pytest.mark.parametrize(("usable", "slower"), [(24, 1), (16, 6)], ids=["queue", "refusals"])
def test_pins(make: Make, seed: int, usable: int, slower: int) -> None:
    """Pins of the plugin on turns that call a tool: the same hits and victims where turns queue,
    and the same refusals in a small pool."""
    engine = make(usable, engine={"max_model_len": usable * BLOCK})
    asked = turns(random.Random(seed), 30)
    asked = [each._replace(step=each.step * slower) for each in asked]
    requests, served = Watched(engine).play(asked)
    pins = "claim:mode=expiring,on=turn,ttl=20,quota=1"
    assert served == simulated(requests, usable, pins)
    assert served != simulated(requests, usable, "lru")
    assert usable > 16 or any(each.admitted is None for each in served)
