"""What the policies do, on workloads of a few requests."""

from __future__ import annotations

import random

import pytest

from models.simulation import outcome
from models.simulation.advice import regrets
from models.simulation.command import compare
from models.simulation.cost import Cost
from models.simulation.outcome import Row, Summary
from models.simulation.policies import POLICIES, chosen
from models.simulation.request import Request, Workload
from models.simulation.routing import Routing
from spec.language.errors import SpecError

BLOCK = 4


def request(
    name: str, at: float, keys: tuple[int, ...], output: int = 1, **more: str | None
) -> Request:
    """A request whose prompt is these blocks and one token more."""
    return Request(name, at, BLOCK * len(keys) + 1, output, keys, **more)


def played(
    policy: str, blocks: int, *requests: Request, engines: int = 1, routing: str = "round_robin"
) -> tuple[Summary, dict[str, Row]]:
    """What a policy did, and the row of each request."""
    rows: dict[str, Row] = {}
    (found,) = compare(
        Workload("test", BLOCK, requests),
        [chosen(policy)],
        blocks,
        engines=engines,
        routing=Routing(routing),
        cost=Cost(),
        rows=lambda row: rows.update({row.request: row}),
    )
    return found, rows


SYSTEM = (1, 2, 3)
PRESSURE = (
    request("a", 0, (*SYSTEM, 10)),
    request("b", 10, (*SYSTEM, 11)),
    request("c", 20, (20, 21, 22, 23, 24, 25)),
    request("d", 30, (*SYSTEM, 12)),
)
"""A prefix of three blocks, and a request that needs seven of eight."""

TURNS = (
    request("t1", 0, (1, 2, 3), session="s", tool="tool"),
    request("other", 10, (20, 21, 22, 23), session="o"),
    request("t2", 20, (1, 2, 3, 4), after="t1", session="s"),
)
"""A turn that calls a tool for 20 s, in which another request needs five blocks of six."""


def calls(pause: float, tool: str, sessions: int) -> list[Request]:
    """Sessions one after another: a turn calls a tool, a request needs five of six blocks."""
    made = list[Request]()
    for number in range(sessions):
        at, name, first = 100.0 * number, str(number), 100 * number
        own = tuple(range(first, first + 4))
        made += [
            request(f"{name}.1", at, own[:3], session=name, tool=tool),
            request(f"{name}.other", at + pause / 2, tuple(range(first + 10, first + 14))),
            request(f"{name}.2", pause, own, after=f"{name}.1", session=name),
        ]
    return made


class TestPolicies:
    @pytest.mark.parametrize(
        ("policy", "hit"),
        [
            ("lru", 1),
            ("no_reuse", 0),
            ("retention", 1),
            ("offload:blocks=20", 1),
            ("claim:mode=soft_priority", 3),
            ("claim:mode=best_effort", 1),
            ("claim:mode=hard_protected", 3),
            ("oracle", 1),
        ],
    )
    def test_prefix(self, policy: str, hit: int) -> None:
        """A prefix that many use stays where it is claimed; the request that does not fit beside
        it is refused in the name of the claim."""
        _, rows = played(policy, 8, *PRESSURE)
        assert BLOCK * hit == rows["d"].hit
        mode = policy.removeprefix("claim:mode=") if hit == 3 else None
        assert (["prefix:0"] if mode else []) == rows["c"].blockers
        assert mode == rows["c"].refused

    def test_tier(self) -> None:
        """Evicted blocks are loaded from the tier, by offload and by offloadable claims."""
        for policy in ("offload:blocks=20", "claim:mode=offloadable"):
            found, rows = played(policy, 8, *PRESSURE)
            assert 3 * BLOCK == rows["d"].hit + rows["d"].loaded
            assert rows["d"].loaded == found.loaded_tokens > 0

    def test_demotable(self) -> None:
        """A claim yields to the request that does not fit beside it."""
        found, rows = played("claim:mode=demotable", 8, *PRESSURE)
        assert rows["c"].refused is None
        assert 1 == found.claims["demoted"]

    @pytest.mark.parametrize(("defer", "refused"), [(5, "hard_protected"), (100, None)])
    def test_deferred(self, defer: int, refused: str | None) -> None:
        """A request waits for the end of a claim, as long as it may."""
        found, rows = played(f"claim:ttl=60,defer={defer}", 8, *PRESSURE)
        assert refused == rows["c"].refused
        assert rows["c"].deferred
        assert 1 == found.deferred
        if refused is None:
            assert 60 == rows["c"].admitted

    def test_demoted_together(self) -> None:
        """Where a claim yields, a deferred request that is decided on anew may end others, too."""
        ones = (
            request("a", 0, (1, 100, 101)),
            request("b", 0.1, (2, *range(200, 203))),
            request("c", 0.2, (2, *range(300, 306)), output=20),
            request("d", 0.2, (3, *range(400, 410))),
        )
        found, _ = played("claim:mode=demotable,quota=0.6,defer=0.05,shared=1,ttl=1", 14, *ones)
        assert 4 == found.served
        assert found.deferred

    def test_deferred_together(self) -> None:
        """A request that the end of one claim lets go on is not decided on twice."""
        ones = (
            request("a", 0, (1, 10, 100, 101, 102, 103)),
            Request("b", 0.20, 32, 9, (1, *range(200, 207))),
            request("c", 0.21, (1, *range(300, 308))),
            request("d", 0.41, (2, 20, *range(400, 405))),
            request("e", 0.61, (3, 30, 31, 32, *range(500, 505))),
            request("f", 0.62, (2,)),
            request("g", 0.62, (1, 10, 11)),
        )
        found, rows = played("claim:mode=demotable,quota=0.6,defer=0.5,ttl=1", 10, *ones)
        assert 7 == len(rows) == found.served + sum(found.refused.values())

    def test_minimal(self) -> None:
        """Each claim that is named, or yields, is needed for the room that a request lacks: not the
        largest one, of which a smaller one owns three blocks, too."""
        ones = (
            *(request(name, at, (1, 2, 3, 4, 5)) for name, at in (("a", 0), ("b", 1))),
            request("c", 2, (1, 2, 3, 6)),
            *(request(name, at, (20, 21, 22, 23)) for name, at in (("d", 3), ("e", 4))),
            request("large", 5, tuple(range(30, 37))),
        )
        found, rows = played("claim:quota=1", 13, *ones)
        assert (3, ["prefix:2"]) == (found.claims["accepted"], rows["large"].blockers)
        found, rows = played("claim:mode=demotable,quota=1", 13, *ones)
        assert (1, None) == (found.claims["demoted"], rows["large"].refused)

    def test_turns(self) -> None:
        """The claim of a turn stays where that of the next one is rejected, and ends where the last
        turn of its session is served or refused."""
        first = request("t1", 0, (1, 2, 3), session="s", tool="tool")
        for blocks, tool, ends in (
            (9, "tool", {"accepted": 1, "rejected": 1}),
            (9, None, {"accepted": 1, "released": 1}),
            (40, "tool", {"accepted": 2, "released": 1}),
        ):
            second = request("t2", 1, (1, 2, 3, 4, 5), session="s", tool=tool, after="t1")
            found, _ = played("claim:on=turn,quota=0.4", blocks, first, second)
            assert ends == {how: found.claims[how] for how in ends.keys() & found.claims.keys()}
        other = request("o1", 0.1, (10, 11, 12), session="o", tool="tool")
        last = request("t2", 1, tuple(range(20, 27)), session="s", after="t1")
        found, rows = played("claim:on=turn,quota=1", 12, first, other, last)
        assert ("hard_protected", 1) == (rows["t2"].refused, found.claims["released"])

    def test_quota(self) -> None:
        """No claim goes beyond the quota."""
        found, _ = played("claim:quota=0.3", 8, *PRESSURE)
        assert {"rejected": 3} == found.claims
        found, _ = played("claim:quota=0.4", 8, *PRESSURE)
        assert {"accepted": 1, "most_blocks": 3, "most_live": 1} == found.claims

    @pytest.mark.parametrize(
        ("policy", "hit"),
        [
            ("lru", 1),
            ("pin:ttl=40", 3),
            ("pin:ttl=5", 1),
            ("claim:mode=expiring,on=turn,quota=1", 3),
        ],
    )
    def test_tool(self, policy: str, hit: int) -> None:
        """The blocks of a turn outlast the pause of its tool, where the time to live is long."""
        _, rows = played(policy, 6, *TURNS)
        assert BLOCK * hit == rows["t2"].hit

    @pytest.mark.parametrize(
        ("policy", "filler", "left"),
        [
            ("lru", 23, [0, 0, 0]),
            ("fair_share", 11, [4, 4, 4]),
            ("complete_prefix", 15, [8, 0, 0]),
            ("value_density", 15, [0, 0, 8]),
        ],
    )
    def test_shares(self, policy: str, filler: int, left: list[int]) -> None:
        """Of three prefixes of eight blocks, filler leaves equal parts, the first, or the one that
        most requests have."""
        prefixes = [tuple(range(10 * n, 10 * n + 8)) for n in range(3)]
        come = [0, 1, 2, 2, 2, 2, 0, 1]
        asked = [request(f"{at}", at, prefixes[n]) for at, n in enumerate(come)]
        asked.append(request("filler", 100, tuple(range(50, 50 + filler))))
        found = []
        for prefix in prefixes:
            _, rows = played(policy, 24, *asked, request("probe", 200, prefix))
            found.append(rows["probe"].hit // BLOCK)
        assert left == found

    @pytest.mark.parametrize(
        ("policy", "hits"),
        [
            ("pin:ttl=2", [1, 1, 1]),
            ("pin:ttl=mean", [1, 1, 1]),
            ("pin:ttl=quantile", [1, 3, 3]),
            ("context", [1, 1, 1]),
        ],
    )
    def test_estimates(self, policy: str, hits: list[int]) -> None:
        """A call of 20 s is too slow for pins of 2 s; who goes by past times pins the next one."""
        _, rows = played(policy, 6, *calls(20.0, "find", 3))
        assert hits == [rows[f"{number}.2"].hit // BLOCK for number in range(3)]

    def test_rules(self) -> None:
        """ContextServe knows that cat is fast, and pins it for three seconds, Continuum for two."""
        for policy, hit in (("context", 3), ("pin:ttl=mean", 1)):
            _, rows = played(policy, 6, *calls(2.5, "cat", 1))
            assert BLOCK * hit == rows["0.2"].hit

    @pytest.mark.parametrize(
        ("policy", "tool", "victim"),
        [("lru", None, "c"), ("pin", None, "a"), ("pin", "tool", "c")],
    )
    def test_victim(self, policy: str, tool: str | None, victim: str) -> None:
        """Continuum preempts the session that came last, but no last turn if it can."""
        turns = (
            request("a", 0, (1, 2), 12, session="a", tool="tool"),
            request("c", 0.001, (11, 12), 12, session="c", tool=tool),
        )
        _, rows = played(policy, 8, *turns)
        assert [victim] == [name for name, row in rows.items() if row.preempted]

    def test_next_turn(self) -> None:
        """A turn arrives when the turn before has its answer and the pause is over."""
        _, rows = played("lru", 20, *TURNS)
        assert rows["t1"].ended + 20 == pytest.approx(rows["t2"].arrived)

    def test_preempted(self) -> None:
        """Where no block is free for an answer, the request that came last is computed again."""
        two = (request("x", 0, (1, 2), output=12), request("y", 0, (11, 12), output=12))
        found, rows = played("lru", 8, *two)
        assert (0, 1) == (rows["x"].preempted, rows["y"].preempted)
        assert 1 == found.preempted
        assert 2 == found.served

    def test_too_large(self) -> None:
        """A request that the pool can never serve is refused, and the next turn comes."""
        large = request("t1", 0, tuple(range(30)), session="s")
        found, rows = played("lru", 6, large, request("t2", 1, (1,), after="t1", session="s"))
        assert {"too_large": 1} == found.refused
        assert rows["t2"].refused is None

    @pytest.mark.parametrize(
        ("routing", "policy", "engines"),
        [
            ("round_robin", "lru", [0, 1, 0, 1]),
            ("prefix", "lru", [0, 0, 1, 0]),
            ("round_robin", "claim:mode=routed_reuse", [0, 0, 0, 0]),
        ],
    )
    def test_routing(self, routing: str, policy: str, engines: list[int]) -> None:
        """Requests go to engines in turn, to that of their prefix, or to that of their claim."""
        four = tuple(
            request(name, at, (*SYSTEM, 30 + at) if at != 2 else (7, 8), 400, session=name)
            for at, name in enumerate("abcd")
        )
        if policy != "lru":
            four = tuple(each for each in four if each.id != "c")
            engines = engines[:3]
        _, rows = played(policy, 400, *four, engines=2, routing=routing)
        assert engines == [rows[each.id].engine for each in four]


class TestChosen:
    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("lur", "policy"),
            ("lru:ttl=4", "no option"),
            ("pin:ttl", "no option"),
            ("pin:ttl=-1", "pin:ttl=-1"),
            ("pin:ttl=1,ttl=2", "no option"),
            ("claim:mode=hard", "claim:mode=hard"),
            ("claim:quota=2", "quota"),
            ("offload:blocks=1e3x", "blocks"),
        ],
    )
    def test_bad(self, text: str, says: str) -> None:
        """What is mistyped is named, with what may be given."""
        with pytest.raises(SpecError, match=says):
            chosen(text)

    def test_name(self) -> None:
        """A policy has one name, however it is written: `oracle:` is the oracle, too."""
        assert ["oracle", "pin:ttl=4"] == [chosen(each).text for each in ("oracle:", "pin:ttl=4,")]

    def test_sources(self) -> None:
        """Each policy names its source."""
        assert all("Source: " in (each.__doc__ or "") for each in POLICIES.values())


def shared_prompts(source: random.Random) -> tuple[Request, ...]:
    """Requests that begin with some system prompts or like earlier ones, at any distance."""
    made, at, unused = list[Request](), 0.0, 1000
    systems = [tuple(range(100 * n, 100 * n + source.randrange(1, 6))) for n in range(4)]
    for number in range(source.randrange(5, 40)):
        at += source.choice((0.1, 1, 5, 50))
        like = source.choice(made).keys if made and source.random() < 0.3 else ()
        keys = like or source.choice(systems)[: source.randrange(1, 7)]
        own = source.randrange(3)
        keys, unused = (*keys, *range(unused, unused + own)), unused + own
        prompt = len(keys) * BLOCK + source.choice((0, 1, 2))
        made.append(Request(str(number), at, prompt, source.choice((1, 1, 5, 12)), keys))
    return tuple(made)


def test_oracle_is_a_bound() -> None:
    """Where a regret is stated, no policy saves more than the oracle."""
    policies = [*POLICIES, "claim:mode=soft_priority", "claim:mode=best_effort"]
    stated = 0
    for seed in range(300):
        source = random.Random(seed)
        workload = Workload("test", BLOCK, shared_prompts(source))
        blocks = source.randrange(12, 40)
        cost = Cost(prefill_tokens_s=source.choice((10, 1e6)), decode_s=source.choice((0, 1)))
        found = compare(workload, [chosen(each) for each in policies], blocks, cost=cost)
        losses = [each for each in regrets(found, fixed=True).values() if each is not None]
        stated += len(losses)
        assert all(each > -1e-9 for each in losses), seed
    assert stated > 1000


def test_evicted_keys_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contents evicted lately count as computed again; those of long ago are forgotten."""
    again = request("again", 9000, (1, 2, 3))
    others = [request(str(n), 10.0 * n, tuple(range(10 * n, 10 * n + 3))) for n in range(1, 60)]
    requests = (request("first", 0, (1, 2, 3)), *others, again)
    found, _ = played("lru", 6, *requests)
    assert 3 * BLOCK == found.recomputed_tokens
    monkeypatch.setattr(outcome, "_REMEMBERED", 20)
    found, _ = played("lru", 6, *requests)
    assert 0 == found.recomputed_tokens


def test_tier_keeps_claims() -> None:
    """A full tier forgets what was used longest ago, but no copy of an offloadable claim."""
    more = [request(f"f{n}", 40 + n, tuple(range(50 * n, 50 * n + 6))) for n in range(1, 6)]
    requests = (*PRESSURE, *more, request("last", 90, (*SYSTEM, 13)))
    for policy, loaded in (("offload:blocks=9", 0), ("claim:mode=offloadable,tier=9", 3)):
        _, rows = played(policy, 8, *requests)
        assert loaded * BLOCK == rows["last"].loaded, policy
