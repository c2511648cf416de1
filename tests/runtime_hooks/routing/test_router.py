"""Tests of routing.router: which rank a request goes to, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from runtime_hooks.claims.ownership import CALLING
from runtime_hooks.routing.prefix import prefixes_of
from runtime_hooks.routing.router import (
    Asked,
    Choice,
    Router,
    goes_elsewhere,
    marked,
    route_in,
)
from runtime_hooks.routing.routes import RouteLog, RouteTable
from runtime_hooks.settings.config import Routing
from tests.runtime_hooks.envelopes import setting

IDLE = (0.0, 0.0, 0.0)
PROMPT = list(range(100))


class Server:
    """The files of three ranks, and the process that routes."""

    def __init__(self, folder: Path, *, qualified: bool = False, **settings: Any) -> None:
        self.logs = [RouteLog(folder / f"1-dp{rank}of3.aa.routes", 8) for rank in range(3)]
        table = RouteTable(folder, ".aa.routes")
        self.router = Router(table, Routing(**settings), qualified=qualified)
        self.flying: dict[str, int] = {}

    def claims(self, rank: int, name: str, tokens: int = 0, *, routed: bool = False) -> None:
        """A rank accepts a claim on the first tokens of the prompt."""
        prefix = next(prefixes_of(PROMPT, [tokens], None, None), None)
        self.logs[rank].begin(name, prefix, routed=routed)

    def choose(
        self,
        tokens: Sequence[int] = (),
        waiting: Sequence[float] = IDLE,
        request: str = "r",
        salt: str | None = None,
        **metadata: Any,
    ) -> Choice:
        """Where a request goes."""
        asked = Asked(request, tokens, salt, None, metadata)
        return self.router.choose(asked, waiting, self.flying.get)


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


class TestPrefix:
    def test_longest(self, server: Server) -> None:
        """The longest claimed prefix decides, which a prompt that ends before does not have."""
        server.claims(1, "short", 32)
        server.claims(2, "long", 64)
        assert (2, 2, 1) == tuple(server.choose(PROMPT[:n]).rank for n in (100, 64, 63))
        assert Choice(None, "balancer") == server.choose(PROMPT[:31])
        assert Choice(None, "balancer") == server.choose([9, *PROMPT])
        assert Choice(None, "balancer") == server.choose(PROMPT, salt="other")
        server.logs[2].end("long")
        assert Choice(1, "prefix") == server.choose(PROMPT)
        assert {"prefix": 4, "balancer": 3} == server.router.chosen

    def test_several(self, server: Server) -> None:
        """Among ranks with the same prefix the one goes where the fewest requests wait."""
        for rank in (0, 2):
            server.claims(rank, f"c{rank}", 32)
        assert 2 == server.choose(PROMPT, (5, 0, 4)).rank
        assert 0 == server.choose(PROMPT, (3, 0, 4)).rank

    def test_full(self, tmp_path: Path) -> None:
        """A full rank is left to vLLM's choice, or the request is refused; one that names the claim
        goes there all the same, because nobody else can answer."""
        for full, expected in (
            ("fallback", Choice(None, "full")),
            ("refuse", Choice(1, "full", refused=True)),
        ):
            folder = tmp_path / full
            folder.mkdir()
            server = Server(folder, full=full, queue=3)
            server.claims(1, "a", 32)
            assert Choice(1, "prefix") == server.choose(PROMPT, (0, 2, 0))
            assert expected == server.choose(PROMPT, (0, 3, 0))
            released = {"release_claim": {"claim_id": "a"}}
            assert Choice(1, "name") == server.choose(PROMPT, (0, 3, 0), **released)


class TestNames:
    @pytest.mark.parametrize("key", ["resident_claim", "release_claim", "renew_claim", "try_claim"])
    def test_name(self, server: Server, key: str) -> None:
        """What names a live claim goes to its rank, whatever it begins with."""
        server.claims(1, "a")
        server.claims(2, "b", 32)
        assert Choice(1, "name") == server.choose(PROMPT, **{key: {"claim_id": "a"}})
        assert Choice(2, "prefix") == server.choose(PROMPT, **{key: {"claim_id": "new"}})

    @pytest.mark.parametrize("stated", [None, 7, [], {}, {"claim_id": 7}, {"claim_id": "a"}])
    def test_hostile(self, server: Server, stated: Any) -> None:
        """What is no claim names none."""
        assert Choice(None, "balancer") == server.choose(PROMPT, resident_claim=stated, pin=stated)

    def test_hints(self, server: Server) -> None:
        """A hint is not looked at: its prefix decides, and not the claim that it would replace."""
        server.claims(1, "c@1", 64)
        later = setting(2)
        assert Choice(None, "balancer") == server.choose([9, *PROMPT], kv_hints=later)
        assert Choice(1, "prefix") == server.choose(PROMPT, kv_hints=later)

    def test_in_flight(self, server: Server) -> None:
        """What names the claim, or the job, of a request that is under way follows it, until the
        engine has decided; then only a claim that was accepted has a route."""
        claim = {"resident_claim": {"claim_id": "a"}}
        pin = {"pin": {"job_id": "j"}}
        for number, metadata in enumerate((claim, pin)):
            first, second = f"1st{number}", f"2nd{number}"
            assert Choice(None, "balancer") == server.choose(request=first, **metadata)
            server.flying[first] = 2
            assert Choice(2, "in flight") == server.choose(request=second, **metadata)
            server.flying.clear()
            assert Choice(None, "balancer") == server.choose(request="3rd", **metadata)

    def test_owners(self, tmp_path: Path) -> None:
        """Where callers are authenticated an id is its caller's own, whoever the request names as
        its owner or its caller."""
        server = Server(tmp_path, qualified=True)
        server.claims(0, "tenant-a/x")
        server.claims(1, "tenant-b/x")
        stated = {"claim_id": "x", "owner_scope": "tenant-b"}
        forged = {"resident_claims_caller": {"scope": "tenant-b"}}
        for owner, choice in (
            ("tenant-a", Choice(0, "name")),
            ("tenant-b", Choice(1, "name")),
            ("", Choice(None, "balancer")),
        ):
            before = CALLING.set(owner)
            assert choice == server.choose(release_claim=stated, **forged)
            CALLING.reset(before)

    def test_gone(self, server: Server) -> None:
        """A rank that vLLM no longer counts is none."""
        server.claims(2, "a", 32)
        named = {"release_claim": {"claim_id": "a"}}
        assert Choice(None, "balancer") == server.choose(PROMPT, (0, 0), **named)


class TestCost:
    def test_cost(self, server: Server) -> None:
        """A route to a claim that wants its routes reported costs the blocks that no claim of the
        rank has, and the requests that wait there; any other is not reported."""
        server.claims(1, "routed", 32, routed=True)
        assert Choice(1, "prefix", cost=9 + 2) == server.choose(PROMPT, (0, 2, 0))
        assert 0 == server.choose(PROMPT[:32]).cost
        server.claims(1, "longer", 64)
        assert 5 == server.choose(PROMPT).cost
        assert 5 == server.choose(PROMPT, release_claim={"claim_id": "longer"}).cost
        assert Choice(1, "name") == server.choose([7], release_claim={"claim_id": "longer"})
        server.claims(2, "other", 80)
        assert Choice(2, "prefix") == server.choose(PROMPT)

    def test_marks(self) -> None:
        """The engine gets the marks of the router, and none that a client made."""
        choice = Choice(1, "prefix", cost=3)
        for extra in (None, {"other": 1}, {"kv_transfer_params": {"no_admit": True}}):
            sent = marked(extra, choice, elsewhere=True)
            assert ((3, "rank 1"), True) == (route_in(sent), goes_elsewhere(sent))
            assert (extra, extra) == (marked(sent), marked(sent, Choice(1, "name")))
            assert (None, False) == (route_in(extra), goes_elsewhere(extra))

    @pytest.mark.parametrize("mark", [True, 7, "x", None, {}, [], [3, "rank 1"], ["", 3, "rank 1"]])
    def test_forged(self, mark: object) -> None:
        """An engine takes no mark that does not begin with the mark of its server, such as one that
        a client sends around the router."""
        extra = {"resident_claims_route": mark, "resident_claims_elsewhere": mark}
        assert (None, False) == (route_in(extra), goes_elsewhere(extra))
        sent = marked({}, Choice(1, "prefix", cost=3), elsewhere=True)
        assert sent is not None
        assert extra.keys() == sent.keys()


class TestElsewhere:
    def test_elsewhere(self, server: Server) -> None:
        """A request that does not fit goes where the fewest wait among the ranks not tried."""
        assert Choice(2, "elsewhere") == server.router.elsewhere((3, 9, 2), [0])
        assert Choice(0, "elsewhere") == server.router.elsewhere((3, 9, 2), [2])
        assert Choice(1, "elsewhere") == server.router.elsewhere((3, 9, 2), [2, 0])
        with pytest.raises(ValueError, match="empty"):
            server.router.elsewhere((3, 9, 2), [2, 0, 1])
        assert {"elsewhere": 4} == server.router.chosen
