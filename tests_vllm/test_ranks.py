"""A server of two data-parallel ranks: each keeps its own claims, and requests find them.

With `--keep FOLDER` the traces of both ranks stay there, for `python -m tests_vllm.witness FOLDER`;
the table has a row of one rank (`tests_vllm.ranks`).
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import openai
import pytest

from monitor.check.files import check
from runtime_hooks.demo.tiny import tokens
from runtime_hooks.routing.rank import Rank, rank_in
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Keep
from tests_vllm.serve import Server
from tests_vllm.test_owners import http, made
from tests_vllm.test_scopes import OPTIONS, SCOPES

ONE = "/v1/resident_claims"
ROUTED = "routed_reuse"
A, R = "tenant-a/a", "tenant-a/r"
ACCEPTED = {"decision": "accepted"}
ROUTES = (
    "request_routed",
    "route_cost_reported",
    "route_placement_reported",
    "reuse_served",
    "route_reuse_reported",
)
_CHOSEN = re.compile(r'resident_claims_engine_routed_total\{process="(\d+)",why="([\w ]+)"\} (\d+)')


def asked(server: Server, name: str, blocks: int, rank: int | None = None, **params: Any) -> Any:
    """The plugin's answer to a request."""
    header = {} if rank is None else {"X-data-parallel-rank": str(rank)}
    body = {"kv_transfer_params": params} if params else {}
    answer = server.complete(
        tokens(name, blocks), key="key-a", extra_body=body, extra_headers=header
    )
    return (answer.kv_transfer_params or {}).get("resident_claims", {})


def claim(claim_id: str, blocks: int, mode: str = "hard_protected", **more: str) -> dict[str, Any]:
    """A claim of whoever asks."""
    stated = made(claim_id, blocks)["kv_transfer_params"]["resident_claim"]
    return {"resident_claim": {**stated, "protection_mode": mode, **more}}


def routed(server: Server) -> dict[str, Counter[str]]:
    """The choices of the processes that answer HTTP, by reason."""
    found: dict[str, Counter[str]] = {}
    for _ in range(40):  # whichever process answers
        key = {"Authorization": "Bearer key-a"}
        with urlopen(Request(f"http://127.0.0.1:{server.port}/metrics", headers=key)) as page:
            for process, why, count in _CHOSEN.findall(page.read().decode()):
                found.setdefault(process, Counter())[why] = int(count)
    return found


@contextmanager
def without(process: str) -> Iterator[None]:
    """One of the processes that answer HTTP takes no requests: another one answers."""
    os.kill(int(process), signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(int(process), signal.SIGCONT)


@pytest.mark.deep
def test_ranks(tmp_path: Path, keep: Keep) -> None:
    """Each rank has a stream of its own. A request that names a claim, or begins with its prefix,
    goes to the claim's rank, through whichever of two processes it comes; a rank that the client
    names wins. An owner sees and releases the claims of all ranks. The routes to a claim of
    routed_reuse are in the trace of its rank, and are kept."""
    server = Server(
        tmp_path,
        "--data-parallel-size",
        "2",
        *OPTIONS.split(),
        scopes=SCOPES,
        quotas={"each": {"blocks": 80}},
    )
    try:
        server.wait()
        assert ACCEPTED == asked(server, "a", 20, 1, **claim("a", 20))["claim"]
        assert ACCEPTED == asked(server, "r", 6, 0, **claim("r", 6, ROUTED))["claim"]
        story(server)
        first = next(iter(routed(server)))
        second, done, of_second = used_without(first, server)
        again, done_again, of_first = used_without(second, server)
        assert (first, {"prefix": 12, "name": 1}) == (again, dict(done))
        assert done == done_again
        total = of_first + of_second - done - done_again
        assert (11, 1) == (total["header"], total["balancer"])
        assert 14 == total["name"] + total["in flight"] == total.total() - 12
        elsewhere(server)
        server.stop()
    finally:
        server.kill()
    traces = {rank_in(trace.name): trace for trace in tmp_path.glob("*.trace")}
    assert {Rank(0, 2), Rank(1, 2)} == traces.keys()
    for rank, trace in traces.items():
        report = check([str(trace)], Mode.HARD_PROTECTED, Bundle.CONTRACT)
        assert ModeVerdict.KEPT is report.verdict, report
        keep(f"two-ranks{rank}", trace, Mode.HARD_PROTECTED, model="")
    lines = {rank: [json.loads(li) for li in at.open()] for rank, at in traces.items() if rank}
    assert 2 == len({each[0]["stream"] for each in lines.values()})
    zero, one = (lines[Rank(number, 2)] for number in range(2))
    found = [e["request_id"] for e in one if e["kind"] == "prefix_reused" and e["claim_id"] == A]
    assert 12 == len(set(found))
    moved, refused = ("request_routed_elsewhere", "request_refused")
    kinds = Counter(line["kind"] for line in one + zero)
    assert (True, 1) == (kinds[moved] > 1, kinds[refused])
    kinds = Counter(line["kind"] for line in zero)
    assert {12} == {kinds[kind] for kind in ROUTES}
    hits = {(e["claim_id"], e["hit"]) for e in zero if e["kind"] == "reuse_served"}
    places = [(e["worker"], e["cost"]) for e in zero if e["kind"] == "request_routed"]
    assert ({(R, True)}, {"rank 0"}) == (hits, {worker for worker, _ in places})
    assert all(cost >= 1 for _, cost in places)  # a block, and what vLLM counts as waiting
    report = check([str(traces[Rank(0, 2)])], None, Bundle.CONTRACT)
    assert [ModeVerdict.KEPT] == [c.verdict for c in report.claims if c.claim_id == R]


def elsewhere(server: Server) -> None:
    """With most of a rank claimed, requests that do not fit there are served by the other rank;
    where they fit on none, they are refused."""
    assert ACCEPTED == asked(server, "w", 50, 1, **claim("w", 50))["claim"]
    for number in range(6):
        asked(server, f"large{number}", 60)
    assert sum(each["elsewhere"] for each in routed(server).values())
    assert ACCEPTED == asked(server, "v", 50, 0, **claim("v", 50))["claim"]
    with pytest.raises(openai.InternalServerError) as caught:
        asked(server, "large", 60)
    assert (503, "protected_resident_capacity_refused") == (
        caught.value.status_code,
        caught.value.type,
    )


def used_without(process: str, server: Server) -> tuple[str, Counter[str], Counter[str]]:
    """Another process answers requests for claims that either one made: its id, its choices for
    these, and all its choices."""
    with without(process):
        ((other, before),) = routed(server).items()
        use(server)
        ((same, after),) = routed(server).items()
    assert process != other == same
    return other, after - before, after


def use(server: Server) -> None:
    """Requests that begin with claimed prefixes, or name a claim."""
    for _ in range(6):
        asked(server, "a", 21)
        asked(server, "r", 7)
    assert ACCEPTED == asked(server, "a", 20, **claim("a", 20))["claim"]  # a retry
    assert {"a", "r", "n"} == {each["claim_id"] for each in http(server, ONE)[1]["claims"]}


def story(server: Server) -> None:
    """Eight claims, made on each rank in turn, are renewed and ended by their ids."""
    asked(server, "a", 20, 0)  # the header wins
    names = [f"c{number}" for number in range(8)]
    for name in names:
        rank = int(name.removeprefix("c")) % 2
        said = asked(server, name, 4, rank, **claim(name, 4, duration="600 s"))
        assert ACCEPTED == said["claim"]
    status, body = http(server, ONE)
    where = {each["claim_id"]: each["rank"] for each in body["claims"]}
    assert (200, {"a", "r", *names}) == (status, where.keys())
    assert (1, 0, {0, 1}) == (where["a"], where["r"], {where[name] for name in names})
    for name in names:
        status, body = http(server, f"{ONE}/{name}")
        assert (200, where[name]) == (status, body["rank"])
        renewal = {"claim_id": name, "successor": f"{name}:2"}
        assert ACCEPTED == asked(server, f"x{name}", 1, renew_claim=renewal)["renew_claim"]
    for name in names[:4]:
        released = {"claim_id": f"{name}:2"}
        assert ACCEPTED == asked(server, f"y{name}", 1, release_claim=released)["release"]
    for name in names[4:]:
        status, body = http(server, f"{ONE}/{name}:2", method="DELETE")
        assert (200, where[name]) == (status, body["rank"])
    several = {"kv_transfer_params": claim("n", 3)}
    answer = server.complete(tokens("n", 3), key="key-a", n=3, extra_body=several)
    assert ACCEPTED == answer.kv_transfer_params["resident_claims"]["claim"]
    assert {"a", "r", "n"} == {each["claim_id"] for each in http(server, ONE)[1]["claims"]}
