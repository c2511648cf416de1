"""Claims are registered, reported and doubted as the events of one engine allow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from monitor.watch.standing import State
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests.monitor.input.kv_lines import cleared, removed, stored
from tests.monitor.watch.engine import Engine, line, prompt
from tests.monitor.watch.watching import Session, write_registry

HOT, COLD = prompt("hot", 3), prompt("cold", 2)


def watched(folder: Path, *claims: dict[str, Any], **fields: Any) -> Session:
    """A session that watches these claims, or one on `HOT`."""
    return Session(write_registry(folder, [*claims] or [{"id": "hot", "tokens": HOT}], **fields))


def play(session: Session, *batches: list[dict[str, Any]], first: int = 0) -> Session:
    """Batches in order, one a second."""
    for number, events in enumerate(batches, first):
        session.take(line(number, events, number))
    return session


def served(*prompts: list[int], blocks: int = 100, seed: int = 0) -> Engine:
    """An engine that served these prompts."""
    engine = Engine(blocks, seed)
    for each in prompts:
        engine.serve(each)
    return engine


def states(session: Session) -> dict[str, str]:
    """The state of each claim."""
    return {name: str(each.state) for name, each in session.join.standings.items()}


class TestFromTheBeginning:
    """The first batch of the engine was read."""

    def test_kept(self, tmp_path: Path) -> None:
        """A claim that stays is kept, and every change of one that is lost is reported."""
        session = watched(tmp_path)
        play(session, *served(HOT, COLD, blocks=4).batches)
        report = session.finish()
        assert report.verdict is ModeVerdict.KEPT
        assert session.changes == [
            ("hot", "held", ""),
            ("hot", "absent", "block 0 removed in batch 1, which stored 2 blocks"),
        ]
        assert session.join.standings["hot"].losses == 1

    def test_other_prompts_are_not_followed(self, tmp_path: Path) -> None:
        """Of blocks that no claim needs nothing is kept or passed on."""
        session = watched(tmp_path)
        play(session, *served(*(prompt(f"other {n}", 5) for n in range(50))).batches)
        assert session.join.prefixes.nodes == {}
        assert not any(record.events for record in session.records)

    def test_tokens_and_salts_stay_inside(self, tmp_path: Path) -> None:
        """No record that is judged has token ids or salts."""
        session = watched(tmp_path, {"id": "a", "tokens": HOT, "salt": "secret-salt"})
        engine = Engine(100)
        engine.serve(HOT, salt="secret-salt")
        play(session, *engine.batches)
        assert states(session) == {"a": "held"}
        text = repr(session.records)
        assert "secret-salt" not in text
        assert not any(str(token) in text for token in HOT if token > 100)

    def test_cleared(self, tmp_path: Path) -> None:
        """A reset loses every claim, and says so."""
        session = play(watched(tmp_path), *served(HOT).batches, [cleared()])
        assert session.changes[-1] == ("hot", "absent", "all blocks were cleared in batch 1")
        assert session.finish().verdict is ModeVerdict.KEPT

    def test_restarted(self, tmp_path: Path) -> None:
        """An engine that is started again has lost the claim; its other hashes are learnt."""
        session = play(watched(tmp_path), *served(HOT).batches)
        play(session, *served(COLD, HOT, seed=1).batches)
        why = "the engine was started again"
        assert [c[1:] for c in session.changes] == [("held", ""), ("absent", why), ("held", "")]
        assert session.finish().verdict is ModeVerdict.INCONCLUSIVE

    def test_tiers(self, tmp_path: Path) -> None:
        """Copies in another tier are counted, and do not make a claim held."""
        engine = served(HOT)
        hashes = engine.hashes(HOT)
        more = [stored(hashes[0], medium="CPU", token_ids=[], block_size=0), removed(hashes[0])]
        session = play(watched(tmp_path), *engine.batches, more)
        assert session.join.standings["hot"].tiers == {"cpu": 1}
        assert states(session) == {"hot": "absent"}
        play(session, [removed(hashes[0], medium="CPU")], first=2)
        assert session.join.standings["hot"].tiers == {}
        assert session.finish().verdict is ModeVerdict.KEPT

    def test_predicate(self, tmp_path: Path) -> None:
        """A claim on two blocks of three does not need the third."""
        claim = {"id": "hot", "tokens": HOT, "predicate": "leading_prefix_at_least(2)"}
        engine = served(HOT)
        session = play(watched(tmp_path, claim), *engine.batches)
        play(session, [removed(engine.hashes(HOT)[2])], first=1)
        assert states(session) == {"hot": "held"}


class TestSalts:
    """Blocks with equal tokens and another salt or adapter are other blocks."""

    def test_other_salt(self, tmp_path: Path) -> None:
        """A claim without a salt is not held by a prompt with one."""
        engine = Engine(100)
        engine.serve(HOT, salt="s")
        session = play(watched(tmp_path), *engine.batches)
        assert states(session) == {"hot": "absent"}

    def test_each_by_its_own(self, tmp_path: Path) -> None:
        """Two claims on the same tokens with two salts are two prefixes."""
        claims = [{"id": salt, "tokens": HOT, "salt": salt} for salt in ("s", "t")]
        engine = Engine(100)
        engine.serve(HOT, salt="t")
        session = play(watched(tmp_path, *claims), *engine.batches)
        assert states(session) == {"s": "absent", "t": "held"}

    def test_not_stated(self, tmp_path: Path) -> None:
        """Where events do not state salts, nothing is known of a prefix that they may begin."""
        hashes = served(HOT).hashes(HOT)
        event = stored(*hashes, token_ids=HOT, block_size=4)
        session = play(watched(tmp_path), [event])
        assert states(session) == {"hot": "unknown"}
        assert [each.why for each in session.join.prefixes.faults] == [
            "events do not state adapters and salts"
        ]
        play(session, [cleared()], first=1)
        assert states(session) == {"hot": "unknown"}


class TestUnknown:
    """What was not observed is unknown, and inconclusive."""

    def test_late(self, tmp_path: Path) -> None:
        """A reader that came late knows a claim once each of its blocks was stored since."""
        engine = served(HOT)
        session = watched(tmp_path)
        play(session, [], *engine.batches, first=7)
        assert states(session) == {"hot": "held"}
        assert session.join.standings["hot"].periods == 1
        assert session.finish().verdict is ModeVerdict.INCONCLUSIVE  # batches are missing

    def test_late_to_a_part(self, tmp_path: Path) -> None:
        """A claim of which one block was not stored since is unknown, and not judged."""
        engine = served(HOT[:4], HOT)
        session = play(watched(tmp_path), engine.batches[1], first=7)
        assert states(session) == {"hot": "unknown"}
        assert session.join.standings["hot"].periods == 0

    def test_gap(self, tmp_path: Path) -> None:
        """A missing batch ends the period of every claim; another begins when all is known."""
        engine = served(HOT)
        session = play(watched(tmp_path), *engine.batches)
        play(session, [], first=2)
        assert states(session) == {"hot": "unknown"}
        play(session, *engine.batches, first=3)
        assert states(session) == {"hot": "held"}
        assert session.join.standings["hot"].periods == 2
        report = session.finish()
        assert [(c.verdict, c.period) for c in report.claims] == [
            (ModeVerdict.INCONCLUSIVE, 1),
            (ModeVerdict.KEPT, 2),
        ]

    def test_cleared_after_a_gap(self, tmp_path: Path) -> None:
        """After a reset nothing is unknown, also if batches were missed."""
        session = play(watched(tmp_path), *served(COLD).batches, [cleared()], first=7)
        assert states(session) == {"hot": "absent"}

    def test_one_of_several_copies(self, tmp_path: Path) -> None:
        """Where a block was stored twice and removed once, it may be there: the claim is
        inconclusive, and the others are not.
        """
        engine = served(HOT, COLD)
        hot = engine.hashes(HOT)
        twice = stored(*hot, token_ids=HOT, block_size=4, extra_keys=[None] * 3)
        claims = [{"id": "hot", "tokens": HOT}, {"id": "cold", "tokens": COLD}]
        session = play(watched(tmp_path, *claims), *engine.batches, [twice], [removed(hot[1])])
        assert states(session) == {"hot": "unknown", "cold": "held"}
        found = {each.claim_id: each.verdict for each in session.finish().claims}
        assert found == {"hot": ModeVerdict.INCONCLUSIVE, "cold": ModeVerdict.KEPT}

    def test_unknown_event(self, tmp_path: Path) -> None:
        """An event that is not known may be about any block."""
        odd = {"type": "BlockMoved", "block_hashes": [1]}
        session = play(watched(tmp_path), *served(HOT).batches, [odd])
        assert states(session) == {"hot": "unknown"}

    def test_no_numbers(self, tmp_path: Path) -> None:
        """Where batches have no numbers, any may be missing."""
        events = served(HOT).batches[0]
        session = watched(tmp_path)
        session.take(json.dumps({"endpoint": "engine", "decoded": [1.0, events, 0]}).encode())
        assert states(session) == {"hot": "unknown"}


class TestContradictions:
    """A hash is a name, and no evidence."""

    def test_one_hash_of_two_contents(self, tmp_path: Path) -> None:
        """A hash that is stored with other tokens makes all unknown, and is counted."""
        engine = served(HOT)
        hot = engine.hashes(HOT)
        other = stored(hot[1], token_ids=prompt("x", 1), block_size=4, extra_keys=[None])
        session = play(watched(tmp_path), *engine.batches, [other])
        assert states(session) == {"hot": "unknown"}
        assert session.join.last_contradiction == "one hash stands for two contents"

    def test_two_hashes_of_one_content(self, tmp_path: Path) -> None:
        """So does a prefix that has two hashes in one run."""
        session = play(watched(tmp_path), *served(HOT).batches, *served(HOT, seed=1).batches)
        assert states(session) == {"hot": "unknown"}
        assert session.join.last_contradiction == "block 0 of a prefix has two hashes"

    def test_other_block_size(self, tmp_path: Path) -> None:
        """Blocks of another size than the registry's cannot be joined."""
        engine = served(HOT)
        session = play(watched(tmp_path, block_size=6), *engine.batches)
        assert states(session) == {"hot": "unknown"}
        assert [each.why for each in session.join.prefixes.faults] == ["blocks have 4 tokens"]


class TestRegistered:
    """A claim is judged from its registration on, and not before."""

    def test_later_than_events(self, tmp_path: Path) -> None:
        """Batches that are older than the registry say what is held, and are not judged."""
        session = watched(tmp_path, registered="1970-01-01T00:00:02Z")
        play(session, *served(HOT).batches, [])
        assert states(session) == {"hot": "held"}
        assert session.join.standings["hot"].periods == 0
        play(session, [], first=2)
        assert session.join.standings["hot"].periods == 1
        assert session.finish().verdict is ModeVerdict.KEPT

    def test_file_time(self, tmp_path: Path) -> None:
        """A registry that does not say when it was made is as old as its file."""
        session = watched(tmp_path, registered=None)
        play(session, *served(HOT).batches)
        assert session.join.standings["hot"].periods == 0
        assert session.finish().verdict is ModeVerdict.INCONCLUSIVE


@pytest.mark.parametrize("first", ["low", "high"])
def test_priorities(first: str, tmp_path: Path) -> None:
    """KV events do not say which blocks could have been evicted instead: nothing is concluded of
    the influence of a priority.
    """
    prompts = {"low": HOT, "high": COLD}
    claims = [
        {"id": name, "tokens": prompts[name], "mode": Mode.SOFT_PRIORITY, "priority": priority}
        for name, priority in (("low", 1), ("high", 2))
    ]
    engine = served(HOT, COLD)
    gone = [removed(engine.hashes(prompts[first])[-1])]
    session = play(watched(tmp_path, *claims), *engine.batches, gone)
    assert states(session)[first] == State.ABSENT
    for claim in session.finish().claims:
        verdicts = {name: str(each.verdict) for name, each in claim.obligations.items()}
        assert verdicts["priority_influence"] == "inconclusive"
        assert verdicts["claim_scoped_telemetry"] == "satisfied"
