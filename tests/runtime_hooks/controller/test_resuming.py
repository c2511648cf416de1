"""Claims that outlive their engine: what the next engine makes of them, and what both report."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from runtime_hooks.claims.arrivals import Arrival, Prompt
from runtime_hooks.claims.outliving import take
from runtime_hooks.claims.ownership import prepare, signed
from runtime_hooks.controller import resuming
from runtime_hooks.settings.config import Settings
from runtime_hooks.settings.quotas import Quota, Quotas
from spec.claims.states import Mode
from spec.events.canonical import Event
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import NS, TinyEngine, claim, keys_of

KEPT = ModeVerdict.KEPT
HARD = Mode.HARD_PROTECTED


class Next:
    """What an engine says of claims that outlive it, and the prompts that it was to load."""

    def __init__(self, *, tier: bool = True, **cache: str) -> None:
        self.cache = {"model_id": "tiny", "dtype": "float32", **cache}
        self.tier = tier
        self.restored: list[Prompt] = []
        self.engine: TinyEngine | None = None

    def restore(self, prompt: Prompt) -> None:
        """Have it loaded by a request."""
        self.restored.append(prompt)
        assert self.engine is not None
        name = f"resume:{len(self.restored)}"
        self.engine.serve(name, len(prompt.token_ids) // 32, prompt=chr(prompt.token_ids[0]))


Start = Callable[..., TinyEngine]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file is."""
    return tmp_path / "outliving.json"


@pytest.fixture
def start(path: Path) -> Start:
    """Start an engine that resumes what is in the file."""

    def engine(usable: int = 80, *, asks: Any = None, **settings: Any) -> TinyEngine:
        asks = asks or Next()
        made = TinyEngine(usable, next_engine=asks, resume=str(path), **settings)
        asks.engine = made
        return made

    return engine


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of the wall clock, as the only element."""
    now = [1_000_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


def stop(engine: TinyEngine) -> list[Event]:
    """Stop an engine in order; everything that it reported."""
    engine.controller.save()
    engine.controller.close()
    engine.controller.leave()
    return engine.events()


def resumed(engine: TinyEngine) -> TinyEngine:
    """An engine that has taken the claims of the one before."""
    engine.controller.start()
    return engine


def reasons(events: list[Event], kind: str) -> list[tuple[str | None, str | None]]:
    """The claims and the reasons of the events of a kind."""
    return [(event.claim_id, event.reason) for event in events if event.kind == kind]


def states(engine: TinyEngine) -> dict[str, str]:
    """The claims that wait or live, and their states."""
    waiting = {each.claim_id: each.state for each in engine.controller.preregistration.tickets()}
    live = engine.controller._registry.live.values()
    return waiting | {each.claim_id: each.lifecycle.state for each in live}


def follows(engine: TinyEngine, name: str = "claim:a") -> str:
    """How the trace of the next engine names where a claim came from."""
    return f"it follows {name} of epoch {engine.controller.epoch}"


SUM = "it needs 60 blocks, and 80 of 80 are not claimed"


class TestStops:
    def test_recompute(self, start: Start, path: Path) -> None:
        """A claim waits in the next engine, unaccepted, and is accepted and held with the first
        request that has its prefix. Both traces are kept."""
        first = start()
        assert first.serve("a", 60, claim(resume="recompute"))
        assert {"claim": "", "resume": "recompute"} == first.answers[-1]
        reported = stop(first)
        assert ["claim:a"] == [e.claim_id for e in reported if e.kind == "claim_harmed"]
        assert KEPT is first.judge(HARD).verdict

        second = start()
        assert second.serve("other", 70)
        assert {"claim:a (resumed 1)": "waiting"} == states(second)
        assert (0, []) == (second.controller.claims, second.pool.find([b"a"]))
        assert not path.exists()
        assert second.serve("again", 60, prompt="a")
        assert {"claim:a (resumed 1)": "materialized"} == states(second)
        assert not second.serve("active", 70)
        assert [("claim:a (resumed 1)",)] == [r.blocking_claim_ids for r in second.refusals]
        why = f"{follows(first)}: {SUM}"
        assert [("claim:a (resumed 1)", why)] == reasons(stop(second), "claim_accepted")
        assert KEPT is second.judge(HARD).verdict
        assert 1 == len(second.judge(HARD).claims)

    def test_never(self, start: Start, path: Path) -> None:
        """A claim that says never, or does not say, ends with its engine: no file is written."""
        engine = start()
        assert engine.serve("a", 20, claim(blocks=20))
        assert engine.serve("b", 20, claim("claim:b", 20, resume="never"))
        assert [{"claim": ""}] * 2 == engine.answers
        stop(engine)
        assert not path.exists()

    def test_crash(self, start: Start, path: Path) -> None:
        """Without an orderly stop no file is written."""
        engine = start()
        assert engine.serve("a", 60, claim(resume="recompute"))
        engine.controller.close()
        engine.controller.leave()
        assert not path.exists()
        assert {} == states(start())

    def test_private(self, start: Start, path: Path) -> None:
        """The file has the tokens of the claim's blocks and no more of the prompt; no event has
        any of them."""
        engine = start()
        assert engine.serve("a", 60, claim(blocks=20, resume="recompute"))
        events = stop(engine)
        assert 0o600 == path.stat().st_mode & 0o777
        (stored,) = json.loads(path.read_text())["claims"]
        assert [ord("a")] * 20 * 32 == stored["prompt_token_ids"]
        assert not any(str([97] * 3)[1:-1] in repr(event) for event in events)

    def test_ended(self, start: Start, path: Path) -> None:
        """A claim that ended before the stop is not written."""
        engine = start()
        assert engine.serve("a", 20, claim(blocks=20, resume="recompute"))
        assert "" == engine.release("claim:a", "tenant")
        stop(engine)
        assert not path.exists()

    def test_demotable(self, start: Start) -> None:
        """A claim that the stop demotes has a successor all the same, in its mode."""
        first = start()
        assert first.serve("a", 60, claim(mode="demotable", resume="recompute"))
        assert ["claim:a"] == [e.claim_id for e in stop(first) if e.kind == "claim_demoted"]
        second = start()
        assert second.serve("again", 60, prompt="a")
        stop(second)
        assert KEPT is second.judge(Mode.DEMOTABLE).verdict

    def test_twice(self, start: Start) -> None:
        """A claim that still waits outlives the next stop, too. One that was accepted has another
        id in each engine."""
        first = start()
        assert first.serve("a", 60, claim(resume="recompute"))
        stop(first)
        second = start()
        second.controller.start()
        stop(second)
        third = start()
        assert third.serve("again", 60, prompt="a")
        why = f"{follows(first)}: {SUM}"
        assert [("claim:a (resumed 1)", why)] == reasons(stop(third), "claim_accepted")
        fourth = start()
        assert fourth.serve("again", 60, prompt="a")
        why = f"{follows(third, 'claim:a (resumed 1)')}: {SUM}"
        assert [("claim:a (resumed 2)", why)] == reasons(stop(fourth), "claim_accepted")

    def test_id_used_again(self, start: Start) -> None:
        """An id that its owner gave up and used again has another name in the next trace, too."""
        first = start()
        assert first.serve("a", 60, claim(resume="recompute"))
        stop(first)
        second = start()
        second.controller.start()
        given_up = second.controller.preregistration.release("claim:a", "tenant")
        assert second.serve("other", 1)
        assert "" == given_up.result()
        assert second.serve("a", 60, claim(resume="recompute"))
        assert ["claim:a (resumed 1)"] == [*states(second)]
        stop(second)
        third = start()
        third.controller.start()
        assert ["claim:a (resumed 2)"] == [*states(third)]

    def test_once(self, start: Start, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """Of two engines with one file the second resumes no claim, rejects those that would
        outlive it, and leaves the file to the first, whose stop it does not undo."""
        first = start()
        assert first.serve("a", 60, claim(resume="recompute"))
        stop(first)
        found = [start(), start()]
        for engine in found:
            engine.controller.start()
        assert [1, 0] == [len(states(engine)) for engine in found]
        assert f"no claim outlives this engine: another engine uses {path}" in caplog.text
        second, third = found
        assert third.serve("b", 20, claim("claim:b", 20, resume="recompute"))
        why = "it could not lock the file that its setting resume names"
        assert {"claim": f"no claim outlives this engine: {why}"} == third.answers[-1]
        stop(second)
        written = path.read_bytes()
        stop(third)
        assert written == path.read_bytes()
        assert {"claim:a (resumed 1)": "waiting"} == states(resumed(start()))

    @pytest.mark.parametrize(
        ("more", "ended", "written"),
        [({}, False, False), ({"on_abort": "keep"}, False, True), ({}, True, True)],
        ids=["unanswered", "kept without an answer", "answered"],
    )
    def test_unanswered(
        self, start: Start, more: dict[str, Any], ended: bool, written: bool
    ) -> None:
        """A claim whose owner has no answer yet is not written: it ends with its request, unless
        it says otherwise."""
        first = start()
        prompt = lambda: Prompt((97,) * 640)  # noqa: E731
        stated = claim(blocks=20, resume="recompute", **more)
        arrival = Arrival("a", keys_of("a", 20), 20, 20, stated, prompt=prompt)
        assert {"claim": "", "resume": "recompute"} == first.arrive(arrival)[1]
        if ended:
            first.finish("a")
        assert first.serve("b", 20, claim("claim:b", 20, resume="recompute"))
        stop(first)
        names = ["claim:a (resumed 1)"] * written + ["claim:b (resumed 1)"]
        assert names == [*states(resumed(start()))]

    def test_unanswered_successor(self, start: Start) -> None:
        """A successor whose owner sends the claim again without an answer is written all the same:
        its owner knew the first one."""
        first = start()
        assert first.serve("a", 20, claim(blocks=20, resume="recompute"))
        stop(first)
        second = start()
        prompt = lambda: Prompt((97,) * 640)  # noqa: E731
        stated = claim(blocks=20, resume="recompute")
        second.arrive(Arrival("a", keys_of("a", 20), 20, 20, stated, prompt=prompt))
        stop(second)
        assert ["claim:a (resumed 2)"] == [*states(resumed(start()))]


class TestOwner:
    def test_releases(self, start: Start) -> None:
        """The owner knows the claim by its own id, waiting and live."""
        first = start()
        for name in "ab":
            assert first.serve(name, 20, claim(f"claim:{name}", 20, resume="recompute"))
        stop(first)
        second = start()
        assert second.serve("again", 20, prompt="a")
        preregistration = second.controller.preregistration
        done = [preregistration.release(f"claim:{name}", "tenant") for name in "ab"]
        second.begin_step()
        assert (["", ""], {}) == ([each.result(0) for each in done], states(second))
        stop(second)
        assert {} == states(start())

    def test_again(self, start: Start) -> None:
        """The owner who sends the claim again is answered for the resumed one, of which only
        the name in the trace is new."""
        first = start()
        assert first.serve("a", 60, claim(resume="recompute"))
        stop(first)
        second = start()
        assert second.serve("again", 60, claim(resume="recompute"), prompt="a")
        assert {"claim": "", "resume": "recompute"} == second.answers[-1]
        assert 1 == second.controller.claims

    def test_aborted(self, start: Start) -> None:
        """An owner who sends it again and gives that request up keeps it: it was known before."""
        first = start()
        assert first.serve("a", 60, claim(resume="recompute"))
        stop(first)
        second = start()
        prompt = lambda: Prompt((97,) * 32 * 60)  # noqa: E731
        arrival = Arrival("again", keys_of("a", 60), 60, 60, claim(resume="recompute"))
        second.arrive(replace(arrival, prompt=prompt))
        second.finish("again", aborted=True)
        assert ["claim:a (resumed 1)"] == [*states(second)]

    def test_changed_terms(self, start: Start) -> None:
        """Other terms under its id are rejected as with any claim that lives."""
        first = start()
        assert first.serve("a", 60, claim(resume="recompute"))
        stop(first)
        second = start()
        assert second.serve("again", 60, prompt="a")
        assert second.serve("other", 60, claim(mode="demotable"), prompt="a")
        ((_, reason),) = reasons(stop(second), "claim_rejected")
        live = "claim id claim:a is live with another protection_mode"
        assert f"{live}; a new promise needs a new id" == reason

    def test_listed(self, start: Start) -> None:
        """The operator sees it wait, by its name in the trace; its owner by the owner's id."""
        first = start()
        assert first.serve("a", 60, claim(resume="recompute"))
        stop(first)
        second = start()
        second.controller.operate()
        operator = second.controller.operator
        listed = [operator.claims().claims, operator.claims("tenant").claims]
        assert [
            [("claim:a (resumed 1)", "waiting")],
            [("claim:a", "waiting")],
        ] == [[(each.claim_id, each.state) for each in page] for page in listed]

    def test_other(self, start: Start) -> None:
        """While it waits, no other claim takes its id."""
        first = start()
        assert first.serve("a", 20, claim(blocks=20, resume="recompute"))
        stop(first)
        second = start()
        assert second.serve("b", 20, claim(blocks=20))
        why = "claim id claim:a is registered ahead, for another request"
        assert {"claim": why} == second.answers[-1]
        assert [why] == [reason for _, reason in reasons(stop(second), "claim_rejected")]

    def test_ahead(self, start: Start) -> None:
        """A claim of its id that was registered ahead for this engine takes its place."""
        first = start()
        assert first.serve("a", 20, claim(blocks=20, resume="recompute"))
        stop(first)
        second = start()
        prompt = Prompt((97,) * 640)
        second.controller.preregistration.register(claim(blocks=20), prompt)
        assert second.serve("again", 20, prompt="a")
        assert ["claim:a"] == [*states(second)]
        why = f"{follows(first)}, and is not resumed: another claim of its id waits already"
        ((_, reason),) = reasons(stop(second), "claim_rejected")
        assert why == reason

    def test_scopes(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        """With scopes the successor is its owner's, under its quota: what is over is rejected."""
        monkeypatch.setenv("RESIDENT_CLAIMS_SECRET", "")
        del os.environ["RESIDENT_CLAIMS_SECRET"]
        scopes = {"key-a": "tenant-a", "key-b": "tenant-b"}
        prepare(Settings(scopes=scopes))
        first = start(scopes=scopes)
        for name, owner in (("a", "tenant-a"), ("b", "tenant-b"), ("c", "tenant-b")):
            stated = {**claim(f"doc-{name}", 20, resume="recompute"), "owner_scope": owner}
            signs = signed(owner, {"resident_claim": stated})
            assert first.serve(name, 20, stated, caller=signs)
        assert [{"claim": "", "resume": "recompute"}] * 3 == first.answers
        stop(first)

        limit = Quotas(owners={"tenant-b": Quota(blocks=30)})
        second = start(scopes=scopes, quotas=limit)
        for name in "abc":
            assert second.serve(f"again {name}", 20, prompt=name)
        assert ["tenant-a/doc-a (resumed 1)", "tenant-b/doc-b (resumed 1)"] == [*states(second)]
        events = stop(second)
        name = "tenant-b/doc-c (resumed 1) (rejected 1)"
        why = "tenant-b would hold 20 + 20 = 40 blocks, and 30 of 80 are the most"
        why = f"{follows(first, 'tenant-b/doc-c')}: {why}"
        assert [(name, why)] == reasons(events, "claim_rejected")
        accepted = [e for e in events if e.kind == "claim_accepted"]
        assert ["tenant-a", "tenant-b"] == [e.owner_scope for e in accepted]
        assert KEPT is second.judge(HARD).verdict

    def test_owner_gone(self, start: Start) -> None:
        """The claim of an owner who has no API key any more ends with a report: nobody could
        release it."""
        first = start(scopes={"key-a": "tenant-a"})
        prepare(Settings(scopes={"key-a": "tenant-a"}))
        stated = {**claim("doc", 20, resume="recompute"), "owner_scope": "tenant-a"}
        signs = signed("tenant-a", {"resident_claim": stated})
        assert first.serve("a", 20, stated, caller=signs)
        stop(first)
        second = start(scopes={"key-b": "tenant-b"})
        second.controller.start()
        assert {} == states(second)
        before = follows(first, "tenant-a/doc")
        why = f"{before}, and is not resumed: no API key has its owner scope"
        name = "tenant-a/doc (resumed 1) (rejected 1)"
        assert [(name, why)] == reasons(stop(second), "claim_rejected")

    def test_renewed(self, start: Start) -> None:
        """The claim that follows by a renewal outlives the engine as the first one would."""
        first = start()
        assert first.serve("a", 20, claim(blocks=20, duration="50 s", resume="recompute"))
        renewal = {"claim_id": "claim:a", "successor": "claim:b", "owner_scope": "tenant"}
        assert first.serve("b", 1, renewal=renewal)
        stop(first)
        second = start()
        second.controller.start()
        assert ["claim:b (resumed 1)"] == [*states(second)]

    def test_changed(self, start: Start) -> None:
        """So does one in another mode of its owner; what another owner adds ends with the
        engine."""
        first = start()
        stated = claim(mode="demotable", blocks=20, resume="recompute")
        assert first.serve("a", 20, stated)
        change = {"claim_id": "claim:a", "protection_mode": "hard_protected"}
        for owner, name in (("other", "claim:theirs"), ("tenant", "claim:mine")):
            asked = {**change, "owner_scope": owner, "successor": name}
            assert first.serve(name, 1, mode_change=asked)
        assert ["claim:theirs", "claim:mine"] == [*states(first)]
        stop(first)
        second = start()
        second.controller.start()
        assert ["claim:mine (resumed 1)"] == [*states(second)]


class TestRestore:
    def test_loaded(self, start: Start) -> None:
        """A claim that says so is loaded at the start, without a request, and held."""
        first = start()
        assert first.serve("a", 60, claim(resume="restore"))
        stop(first)
        second = start(asks=(asks := Next()))
        second.controller.operate()
        assert [Prompt((97,) * 60 * 32)] == asks.restored
        assert 20 == len(second.pool.free)
        stop(second)
        assert KEPT is second.judge(HARD).verdict

    def test_no_tier(self, start: Start) -> None:
        """An engine without such a tier rejects it. One that it resumes waits, and is accepted when
        its prefix comes."""
        first = start()
        assert first.serve("a", 60, claim(resume="restore"))
        stop(first)
        second = start(asks=(asks := Next(tier=False)))
        assert second.serve("b", 20, claim("claim:b", 20, resume="restore"))
        why = "this engine has no tier that outlives it: say recompute"
        assert {"claim": why} == second.answers[-1]
        assert ([], {"claim:a (resumed 1)": "waiting"}) == (asks.restored, states(second))
        assert second.serve("again", 60, prompt="a")
        assert {"claim:a (resumed 1)": "materialized"} == states(second)

    def test_other_hashes(self, start: Start, path: Path) -> None:
        """Where the engine before hashed otherwise, its tier is not asked: the claim waits."""
        first = start()
        assert first.serve("a", 60, claim(resume="restore"))
        stop(first)
        content = json.loads(path.read_text())
        content["claims"][0]["object_id"] = "prefix:other"
        path.write_text(json.dumps(content))
        second = start(asks=(asks := Next()))
        second.controller.operate()
        assert ([], {"claim:a (resumed 1)": "waiting"}) == (asks.restored, states(second))


class TestDuration:
    """The time between the engines counts."""

    def resumed(
        self, start: Start, wall: list[float], down: float, duration: str = "50 s"
    ) -> tuple[TinyEngine, TinyEngine]:
        """An engine that stops 10 seconds after a claim, and the next one."""
        first = start()
        mode = "expiring"
        assert first.serve("a", 60, claim(mode=mode, duration=duration, resume="recompute"))
        first.now += 10 * NS
        stop(first)
        wall[0] += down
        second = start()
        second.controller.start()
        return first, second

    def test_left(self, start: Start, wall: list[float]) -> None:
        """The successor lasts for what is left when its prefix comes."""
        _, second = self.resumed(start, wall, 15)
        second.now += 5 * NS
        assert second.serve("again", 60, prompt="a")
        second.now += 20 * NS - 1
        second.begin_step()
        assert 1 == second.controller.claims
        second.now += 1
        second.begin_step()
        events = stop(second)
        assert ["20 s"] == [e.duration for e in events if e.kind == "claim_accepted"]
        assert 1 == len([e for e in events if e.kind == "claim_expired"])
        assert KEPT is second.judge(Mode.EXPIRING).verdict

    @pytest.mark.parametrize(("down", "waits"), [(39.9, 1), (40.0, 0), (1e9, 0)])
    def test_down(self, start: Start, wall: list[float], down: float, waits: int) -> None:
        """One that was over before this engine began ends with a report."""
        first, second = self.resumed(start, wall, down)
        assert waits == len(states(second))
        why = f"{follows(first)}, and is not resumed: its duration is over"
        expected = [] if waits else [("claim:a (resumed 1) (rejected 1)", why)]
        assert expected == reasons(stop(second), "claim_rejected")

    def test_waits(self, start: Start, wall: list[float], path: Path) -> None:
        """One whose prefix does not come in time ends with a report, and is not written again."""
        first, second = self.resumed(start, wall, 10)
        second.now += 30 * NS - 1
        second.begin_step()
        assert 1 == len(states(second))
        second.now += 1
        second.begin_step()
        assert {} == states(second)
        why = f"{follows(first)}, and is not resumed: its duration is over"
        name = "claim:a (resumed 1) (rejected 1)"
        assert [(name, why)] == reasons(stop(second), "claim_rejected")
        assert not path.exists()

    def test_set_back(self, start: Start, wall: list[float]) -> None:
        """A wall clock that was set back gives no claim more than it had left."""
        _, second = self.resumed(start, wall, -1e6)
        second.now += 40 * NS
        second.begin_step()
        assert {} == states(second)

    def test_over_meanwhile(self, start: Start, wall: list[float]) -> None:
        """A prompt brings two claims, and while one is accepted the duration of the other ends."""
        first = start()
        assert first.serve("b", 20, claim("claim:b", 20, resume="recompute"), prompt="a")
        short = claim("claim:a", 10, "expiring", duration="15 s", resume="recompute")
        assert first.serve("a", 20, short)
        stop(first)
        second = start()
        assert second.serve("other", 5)
        second.compute("tail", keys_of("a", 20), 15, second.pool.free[-5:])
        drop = second.pool.drop

        def late(blocks: Sequence[int]) -> None:
            second.now += 20 * NS
            drop(blocks)

        second.pool.drop = late  # type: ignore[method-assign]
        assert second.serve("again", 20, prompt="a")
        assert {"claim:b (resumed 1)": "materialized"} == states(second)
        assert ["claim:a (resumed 1) (rejected 1)"] == [
            name for name, _ in reasons(stop(second), "claim_rejected")
        ]

    def test_waits_twice(self, start: Start, wall: list[float]) -> None:
        """What passes while it waits is gone in the next engine, too."""
        _, second = self.resumed(start, wall, 10)
        second.now += 20 * NS
        stop(second)
        third = start()
        third.controller.start()
        third.now += 10 * NS - 1
        third.begin_step()
        assert 1 == len(states(third))
        third.now += 1
        third.begin_step()
        assert {} == states(third)

    def test_steps(self, start: Start, wall: list[float]) -> None:
        """Steps pass while a claim lives: a stop takes none."""
        first = start()
        stated = claim(mode="expiring", duration="50 steps", resume="recompute")
        assert first.serve("a", 60, stated)
        for _ in range(10):
            first.begin_step()
        stop(first)
        wall[0] += 1e6
        second = start()
        assert second.serve("again", 60, prompt="a")
        assert ["40 steps"] == [e.duration for e in stop(second) if e.kind == "claim_accepted"]


class TestRejected:
    @pytest.mark.parametrize(
        ("name", "other", "shown"),
        [
            ("dtype", "bfloat16", "the dtype 'float32', and this engine has 'bfloat16'"),
            ("model_id", "larger", "the model_id 'tiny', and this engine has 'larger'"),
            ("tensor_parallel_size", "2", "the tensor_parallel_size '', and this engine has '2'"),
        ],
    )
    def test_other_cache(self, start: Start, name: str, other: str, shown: str) -> None:
        """A file of another cache ends its claims with a report each."""
        first = start()
        for prompt in "ab":
            assert first.serve(prompt, 20, claim(f"claim:{prompt}", 20, resume="recompute"))
        stop(first)
        second = start(asks=Next(**{name: other}))
        second.controller.start()
        assert {} == states(second)
        why = f"and is not resumed: its blocks had {shown}"
        assert [
            ("claim:a (resumed 1) (rejected 1)", f"{follows(first)}, {why}"),
            ("claim:b (resumed 1) (rejected 2)", f"{follows(first, 'claim:b')}, {why}"),
        ] == reasons(stop(second), "claim_rejected")

    def test_off(self) -> None:
        """Without the setting a claim that is to outlive the engine is rejected, as one that only
        tries is."""
        engine = TinyEngine()
        why = "no claim outlives this engine: its setting resume is off"
        assert engine.serve("a", 20, claim(blocks=20, resume="recompute"))
        assert engine.serve("b", 20, trial=claim(blocks=20, resume="restore"))
        assert [{"claim": why}, {"try_claim": why}] == engine.answers

    @pytest.mark.parametrize("how", ["always", "", None, 1, ["restore"], {}])
    def test_unknown(self, start: Start, how: object) -> None:
        """What is none of the three is rejected."""
        engine = start()
        assert engine.serve("a", 20, claim(blocks=20, resume=how))
        why = "its resume is none; give one of never, recompute, restore"
        assert {"claim": why} == engine.answers[-1]

    @pytest.mark.parametrize("prompt", [None, lambda: Prompt((97,) * 640)])
    def test_more(self, start: Start, prompt: Callable[[], Prompt] | None) -> None:
        """Tokens alone do not give the blocks of a prompt with an adapter, an image or embeddings:
        its claim would wait for a prompt that never comes."""
        keys, stated = keys_of("a and an image", 20), claim(blocks=20, resume="recompute")
        _, answers = start().arrive(Arrival("a", keys, 20, 20, stated, prompt=prompt))
        why = "it cannot be resumed: its blocks have more in them than tokens, or none"
        assert {"claim": why} == answers

    def test_text_before(self, start: Start) -> None:
        """A claim on the text before an image outlives the engine."""
        keys = [*keys_of("a", 10), *keys_of("an image", 10)]
        stated, prompt = claim(blocks=10, resume="recompute"), Prompt((97,) * 640)
        _, answers = start().arrive(Arrival("a", keys, 20, 20, stated, prompt=lambda: prompt))
        assert {"claim": "", "resume": "recompute"} == answers

    @pytest.mark.parametrize("salt", ["x" * 1025, "\ud800", "a\n"])
    def test_salt(self, start: Start, salt: str) -> None:
        """A salt that the file cannot hold would keep the other claims from being resumed."""
        prompt, keys = Prompt((97,) * 640, salt), keys_of("a", 20)
        stated = claim(blocks=20, resume="recompute")
        _, answers = start().arrive(Arrival("a", keys, 20, 20, stated, prompt=lambda: prompt))
        assert "its cache_salt is not 1024 printable characters" in answers["claim"]

    @pytest.mark.parametrize(("longer", "why"), [(0, ""), (1, "its id would be too long")])
    def test_id(self, start: Start, longer: int, why: str) -> None:
        """An id that leaves no place for the number of engines is rejected: it could not follow."""
        first = start()
        name = "x" * (1006 + longer)
        assert first.serve("a", 20, claim(name, 20, resume="recompute"))
        assert first.answers[-1]["claim"].endswith(why)
        stop(first)
        second = start()
        assert second.serve("again", 20, prompt="a")
        assert ([] if why else [f"{name} (resumed 1)"]) == [*states(second)]
        assert bool(why) == ("resume" not in first.answers[-1])

    def test_most(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        """Claims that are to outlive the engine are limited in number and in tokens."""
        monkeypatch.setattr(resuming, "MOST_CLAIMS", 2)
        monkeypatch.setattr(resuming, "MOST_TOKENS", 30 * 32)
        engine = start()
        for name, blocks in (("a", 20), ("b", 11), ("c", 10), ("d", 1)):
            assert engine.serve(name, 20, claim(f"claim:{name}", blocks, resume="recompute"))
        assert [
            "",
            "the claims to be resumed would have over 960 tokens",
            "",
            "2 claims are to be resumed, which is the most",
        ] == [answer["claim"] for answer in engine.answers]

    def test_share(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        """With scopes one owner has half of that, and all owners together have no more."""
        monkeypatch.setattr(resuming, "MOST_CLAIMS", 4)
        scopes = {"key-a": "tenant-a", "key-b": "tenant-b", "key-c": "tenant-c"}
        prepare(Settings(scopes=scopes))
        engine = start(scopes=scopes)
        for owner in scopes.values():
            for name in "abc":
                stated = {**claim(f"doc-{name}", 1, resume="recompute"), "owner_scope": owner}
                signs = signed(owner, {"resident_claim": stated})
                assert engine.serve(name, 1, stated, caller=signs)
        own, total = (f"{n} claims are to be resumed, which is the most" for n in (2, 4))
        expected = ["", "", own, "", "", total, total, total, total]
        assert expected == [answer["claim"] for answer in engine.answers]


class TestHostile:
    """A file that has the right form, by someone who knows it."""

    def changed(self, start: Start, path: Path, **fields: Any) -> TinyEngine:
        """The engine that starts with a file whose claim is changed."""
        first = start()
        assert first.serve("a", 20, claim(blocks=20, resume="recompute"))
        stop(first)
        content = json.loads(path.read_text())
        (stored,) = content["claims"]
        content["claims"] = [{**stored, **fields}]
        path.write_text(json.dumps(content))
        second = start()
        second.controller.start()
        second.begin_step()
        return second

    @pytest.mark.parametrize(
        ("stated", "why"),
        [
            ({}, "no claim"),
            (claim(blocks=20), "it does not say how"),
            (claim(blocks=20, resume="never"), "it does not say how"),
            (claim(blocks=20, resume="recompute", root=True), "no claim"),
            (claim(blocks=20, resume="recompute", claim_id="a (try 2)"), "names of the trace"),
            (claim(blocks=21, resume="recompute"), "the prompt has 20 whole blocks"),
            (claim(blocks=20, resume="recompute", claim_id="x" * 1020), "have 1032 characters"),
            (claim(blocks=20, resume="recompute", cache_identity={"a": 1}), "no claim"),
            ({str(n): 0 for n in range(40)}, "it has 40 fields"),
            (claim(blocks=20, resume="recompute", duration="0 s"), "no claim"),
            (claim(blocks=20, resume="recompute", on_abort="release"), "on_abort"),
            ({"claim_id": json.loads("[" * 500 + "]" * 500)}, "no claim"),
        ],
    )
    def test_claims(self, start: Start, path: Path, stated: dict[str, Any], why: str) -> None:
        """What is no claim is left out, with a report; the engine serves."""
        engine = self.changed(start, path, claim=stated)
        assert {} == states(engine)
        assert engine.serve("b", 20, claim(blocks=20))
        assert "" == engine.answers[-1]["claim"]
        ((_, reason),) = reasons(stop(engine), "claim_rejected")
        assert reason is not None
        assert why in reason

    def test_prompt(self, start: Start, path: Path) -> None:
        """A prompt of other tokens makes a claim wait that another prompt begins with: it is
        decided on as any claim of its owner."""
        engine = self.changed(start, path, prompt_token_ids=[98] * 640)
        assert engine.serve("a", 20)
        assert {"claim:a (resumed 1)": "waiting"} == states(engine)
        assert engine.serve("b", 20)
        assert 1 == engine.controller.claims

    def test_id_twice(self, start: Start, path: Path) -> None:
        """Two claims of one id: the second is left out."""
        first = start()
        for name in "ab":
            assert first.serve(name, 20, claim(f"claim:{name}", 20, resume="recompute"))
        stop(first)
        path.write_text(path.read_text().replace('"claim:b"', '"claim:a"'))
        second = start()
        second.controller.start()
        assert ["claim:a (resumed 1)"] == [*states(second)]
        ((_, reason),) = reasons(stop(second), "claim_rejected")
        assert "another claim of its id waits already" in (reason or "")

    def test_refused(self, start: Start, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """A file that others may read is refused; the engine starts without it, and says so."""
        path.write_text("{}")
        path.chmod(0o644)
        engine = start()
        assert engine.serve("a", 20, claim(blocks=20))
        assert "no claim is resumed" in caplog.text
        assert "others may read or write it" in caplog.text

    def test_unwritable(self, start: Start, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """Where the file cannot be written, the engine ends as ever, and the log says so."""
        engine = start()
        assert engine.serve("a", 60, claim(resume="recompute"))
        path.mkdir()
        stop(engine)
        assert "no claim will be resumed" in caplog.text
        assert KEPT is engine.judge(HARD).verdict


def test_round_trip(start: Start, path: Path) -> None:
    """Each term of a claim comes back, with what its owner named its object."""
    first = start()
    stated = claim("é:claim", 20, "soft_priority", priority=3, object_id="doc", footprint_blocks=30)
    assert first.serve("a", 40, {**stated, "resume": "recompute"})
    (before,) = first.controller._registry.live.values()
    stop(first)
    second = start()
    assert second.serve("again", 40, prompt="a")
    (after,) = second.controller._registry.live.values()
    assert before.claim.model_copy(update={"claim_id": after.claim_id}) == after.claim
    assert before.keys == after.keys
    stop(second)
    content = take(str(path))
    assert content is not None
    assert [(2, second.controller.epoch)] == [(e.stops, e.epoch) for e in content.claims]
