"""Tests of claims.qualified: an id is its owner's own, and what ids are changes no verdict."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_hooks.claims.arrivals import Prompt
from runtime_hooks.claims.metadata import CLAIM, PIN, RELEASE, RENEW
from runtime_hooks.claims.ownership import prepare, signed
from runtime_hooks.claims.qualified import ClaimNames, rejected_name
from runtime_hooks.engines.shared.refusals import as_metadata, for_caller
from runtime_hooks.settings.config import Settings
from spec.claims.claim import MAX_ID
from spec.claims.states import Mode
from spec.language.verdicts import Verdict
from spec.stream.breaks import Line
from spec.stream.judge import Judge
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import TinyEngine, claim
from tests.streams.wide import told

SCOPES = {"key-a": "tenant-a", "key-b": "tenant-b"}
FIELDS = dict(
    zip((CLAIM, RELEASE, PIN, RENEW), ("claim", "release", "pin", "renewal"), strict=True)
)
NAMES = ClaimNames(qualified=True)
TEXTS = st.text("ab/% (rejctd1)", max_size=12)
STREAMS = 25
"""Of each mode."""


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key that the server's processes share."""
    monkeypatch.setenv("RESIDENT_CLAIMS_SECRET", "")
    del os.environ["RESIDENT_CLAIMS_SECRET"]
    prepare(Settings(scopes=SCOPES))


def asks(
    engine: TinyEngine, owner: str, key: str, stated: object, prompt: str = "p", blocks: int = 20
) -> str:
    """What an owner is answered that asks for something."""
    name = f"request {len(engine.answers)}"
    more: dict[str, Any] = {FIELDS[key]: stated, "caller": signed(owner, {key: stated})}
    engine.serve(name, blocks, more.pop("claim", None), prompt, **more)
    return engine.answers[-1].get(key if key == RENEW else FIELDS[key], "no answer")


def of(owner: str, claim_id: str = "doc", blocks: int = 20, **more: Any) -> dict[str, Any]:
    """A claim of an owner."""
    return {**claim(claim_id, blocks, **more), "owner_scope": owner}


class TestTwoOwners:
    """Both use the id `doc`."""

    @pytest.fixture
    def engine(self) -> TinyEngine:
        engine = TinyEngine(scopes=SCOPES)
        for owner in SCOPES.values():
            assert "" == asks(engine, owner, CLAIM, of(owner), owner)
        return engine

    def test_accepted(self, engine: TinyEngine) -> None:
        """Both are accepted; in the trace each has an id of its own, and both are kept."""
        ids = [event.claim_id for event in engine.kinds("claim_accepted")]
        assert ["tenant-a/doc", "tenant-b/doc"] == ids
        judged = engine.judge(Mode.HARD_PROTECTED)
        assert [ModeVerdict.KEPT] * 2 == [each.verdict for each in judged.claims]

    def test_again(self, engine: TinyEngine) -> None:
        """A retry gets its owner's answer; other terms are refused by the owner's own id."""
        assert "" == asks(engine, "tenant-a", CLAIM, of("tenant-a"), "tenant-a")
        why = asks(engine, "tenant-a", CLAIM, of("tenant-a"), "other")
        assert "claim id doc is live with another prompt; a new promise needs a new id" == why

    def test_released(self, engine: TinyEngine) -> None:
        """Each releases its own; that an id was used before is its owner's business alone."""
        assert "" == asks(engine, "tenant-a", RELEASE, {"claim_id": "doc"})
        assert ["tenant-b/doc"] == [*engine.controller._registry.live]
        why = asks(engine, "tenant-a", RELEASE, {"claim_id": "doc"})
        assert "there is no live claim of that id" == why
        assert "was used before" in asks(engine, "tenant-a", CLAIM, of("tenant-a"), "tenant-a")
        assert "" == asks(engine, "tenant-a", CLAIM, of("tenant-a", "b"), "tenant-a")
        assert "" == asks(engine, "tenant-b", RELEASE, {"claim_id": "doc"})
        assert "" == asks(engine, "tenant-b", CLAIM, of("tenant-b", "b"), "tenant-b")

    def test_refused(self, engine: TinyEngine) -> None:
        """A refusal names to its caller the caller's own claims by their own ids."""
        assert not engine.serve("large", 70)
        said = as_metadata(engine.refusals[-1], private=True)
        assert ["tenant-a/doc", "tenant-b/doc"] == sorted(said["blocking_claim_ids"])
        shown = for_caller(said, "tenant-a")
        assert (["doc"], {"claims": 1, "blocks": 20}) == (
            shown["blocking_claim_ids"],
            shown["others"],
        )

    def test_seen(self, engine: TinyEngine) -> None:
        """An owner sees its own by its own id, the operator all by those of the trace."""
        operator = engine.controller.operator
        ids = lambda owner: [each.claim_id for each in operator.claims(owner).claims]  # noqa: E731
        assert ["doc"] == ids("tenant-a")
        assert ["tenant-a/doc", "tenant-b/doc"] == ids("")
        assert "doc" == operator.show("doc", "tenant-b").shown.claim.claim_id
        assert "tenant-b/doc" == operator.show("tenant-b/doc").shown.claim.claim_id


def test_renewed() -> None:
    """A successor's id is its owner's own, too; the same renewal again gets the same answer."""
    engine = TinyEngine(scopes=SCOPES)
    for owner in SCOPES.values():
        stated = of(owner, protection_mode="expiring", duration="60 s")
        assert "" == asks(engine, owner, CLAIM, stated, owner)
    for owner in (*SCOPES.values(), "tenant-a"):
        renewal = {"claim_id": "doc", "successor": "doc 2"}
        assert "" == asks(engine, owner, RENEW, renewal, "q", 1)
    assert ["tenant-a/doc 2", "tenant-b/doc 2"] == [*engine.controller._registry.live]


def test_pinned() -> None:
    """A claim whose id is that of another owner's pin leaves the pin alone."""
    engine = TinyEngine(scopes=SCOPES)
    asks(engine, "tenant-a", PIN, {"job_id": "job", "ttl": "60 s"})
    (pin,) = engine.controller._registry.live
    own = pin.removeprefix("tenant-a/")
    assert "" == asks(engine, "tenant-b", CLAIM, of("tenant-b", own), "b")
    assert "" == asks(engine, "tenant-b", RELEASE, {"claim_id": own})
    asks(engine, "tenant-a", PIN, {"job_id": "job", "last_step": True})
    assert {} == engine.controller._registry.live


def test_registered_ahead() -> None:
    """A claim that waits keeps its id from its owner alone."""
    engine = TinyEngine(scopes=SCOPES)
    ticket = engine.controller.preregistration.register(of("tenant-a"), Prompt((ord("p"),) * 640))
    assert "tenant-a/doc" == ticket.claim_id
    assert "is registered ahead" in asks(engine, "tenant-a", CLAIM, of("tenant-a"), "x")
    assert "" == asks(engine, "tenant-b", CLAIM, of("tenant-b"), "x")
    assert "waiting" == ticket.state
    engine.serve("comes", 20, prompt="p")
    assert "accepted" == ticket.state


def test_unscoped() -> None:
    """Where callers are not authenticated an id is that of the request."""
    engine = TinyEngine()
    engine.serve("a", 20, of("tenant-a"))
    assert ["doc"] == [*engine.controller._registry.live]


def test_too_long() -> None:
    """An id and an owner that are too long together are refused, as a longer id is."""
    engine = TinyEngine(scopes=SCOPES)
    longest = MAX_ID - len("tenant-a/")
    why = asks(engine, "tenant-a", CLAIM, of("tenant-a", "d" * (longest + 1)), "a")
    assert f"claim_id and owner_scope have {MAX_ID + 1} characters together" in why
    assert "" == asks(engine, "tenant-a", CLAIM, of("tenant-a", "d" * longest), "a")


@given(*[TEXTS] * 4, st.integers(1, 12), st.integers(1, 12))
def test_injective(owner: str, one: str, other: str, two: str, n: int, m: int) -> None:
    """Owner, id and the number of a rejection make one name, and no other three make the same."""
    made = [NAMES.engine_id(one, owner), NAMES.engine_id(two, other)]
    assert ((owner, one) == (other, two)) is (made[0] == made[1])
    assert one == NAMES.owners_id(made[0], owner)
    tried = [rejected_name(name, number) for name, number in zip(made, (n, m), strict=True)]
    assert ((owner, one, n) == (other, two, m)) is (tried[0] == tried[1])


class Renamed(dict[str, str]):
    """Another name for each claim, by the order in which they are met."""

    def __missing__(self, name: str) -> str:
        at = len(self)
        owner = ("tenant/a", "tenant-b", "%")[at % 3]
        return self.setdefault(name, NAMES.engine_id(f"doc {at // 3}", owner))


def renamed(line: Line, names: Renamed) -> Line:
    """The line with other names for its claims."""
    events = []
    for event in line.events:
        changed: dict[str, Any] = {
            field: names[old]
            for field in ("claim_id", "outcome_claim_id")
            if (old := getattr(event, field)) is not None
        }
        if event.blocking_claim_ids is not None:
            changed["blocking_claim_ids"] = tuple(map(names.__getitem__, event.blocking_claim_ids))
        events.append(msgspec.structs.replace(event, **changed))
    return line._replace(
        events=tuple(events),
        doubts=tuple((name and names[name], *rest) for name, *rest in line.doubts),
    )


def heard(stream: list[Line], mode: Mode) -> list[dict[str, dict[str, Verdict]]]:
    """What each obligation of each claim came to, line by line and at the end."""
    judge, found = Judge(mode), []
    for line in stream:
        judge.take(line)
        found.append(_standing(judge))
    judge.finish()
    return [*found, _standing(judge)]


def _standing(judge: Judge) -> dict[str, dict[str, Verdict]]:
    return {
        claim.claim_id: {name: found.verdict for name, found in claim.findings().items()}
        for claim in (*judge.past, *judge.claims.values())
    }


@pytest.mark.parametrize("mode", Mode)
def test_names_change_no_verdict(mode: Mode) -> None:
    """Ids are compared and never read: by qualified names every obligation has the verdict that it
    had, at every line, whether the stream is honest or lies."""
    names, found = Renamed(), set[Verdict]()
    for seed in range(STREAMS):
        stream = told(Random(seed), mode)
        before = heard(stream, mode)
        after = heard([renamed(line, names) for line in stream], mode)
        assert [{names[c]: v for c, v in each.items()} for each in before] == after
        found |= {verdict for held in before[-1].values() for verdict in held.values()}
    assert {Verdict.SATISFIED, Verdict.VIOLATED, Verdict.INCONCLUSIVE} <= found
    assert len(names) == len({*names.values()})
