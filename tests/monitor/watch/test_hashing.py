"""Claims are joined by recomputed hashes where an engine states no tokens; under a scheme that is
another one, what is said is true.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from monitor.watch import prefixes
from monitor.watch.hashing import Hashing
from monitor.watch.preconditions import Met, preconditions
from monitor.watch.registry import load_registry
from monitor.watch.standing import State
from spec.language.errors import DocumentError, SpecError
from spec.lowering.depths import Precondition
from spec.stream.outcome import ModeVerdict
from tests.monitor.input.kv_lines import removed
from tests.monitor.watch.engine import SIZE, Engine, line, prompt
from tests.monitor.watch.test_honest import CLAIMS, compare, held_by, rng_size, step
from tests.monitor.watch.watching import Session, write_registry

RIGHT, WRONG = {"scheme": "sha256_cbor", "seed": "0"}, {"scheme": "sha256_cbor", "seed": "1"}
HOT, COLD = prompt("hot", 3), prompt("cold", 2)


class Hashed(Engine):
    """An engine that hashes by a published scheme, and states no tokens."""

    def __init__(self, blocks: int, seed: int = 0, hashing: Hashing | None = None) -> None:
        super().__init__(blocks, seed)
        self.hashing = hashing or Hashing(**RIGHT)

    def hashes(self, tokens: list[int], salt: str = "") -> list[Any]:
        """The hashes of the blocks of a prompt."""
        whole = range(0, len(tokens) - SIZE + 1, SIZE)
        blocks = [tokens[at : at + SIZE] for at in whole]
        return [keys[0] for keys in self.hashing.keys(blocks, salt=salt or None)]

    def _stored(self, *args: Any) -> dict[str, Any]:
        return super()._stored(*args) | {"token_ids": []}


def played(folder: Path, engine: Engine, *claims: dict[str, Any], **fields: Any) -> Session:
    """A session that reads what an engine published."""
    session = Session(write_registry(folder, [*claims] or [{"id": "hot", "tokens": HOT}], **fields))
    for number, events in enumerate(engine.batches):
        session.take(line(number, events, number))
    return session


def served(*prompts: list[int], blocks: int = 100, hashing: Hashing | None = None) -> Hashed:
    """An engine that served these prompts."""
    engine = Hashed(blocks, hashing=hashing)
    for each in prompts:
        engine.serve(each)
    return engine


def condition(session: Session, which: Precondition) -> tuple[Met, str]:
    """Whether a precondition holds, and why."""
    (found,) = (
        each
        for each in preconditions(session.watching, [session.join])
        if each.precondition is which
    )
    return found.met, found.evidence


def state(session: Session, name: str = "hot") -> State:
    return session.join.standings[name].state


class TestSchemes:
    # By kv_cache_utils.hash_block_tokens of vLLM 0.32, with PYTHONHASHSEED=7.
    @pytest.mark.parametrize(
        ("scheme", "keys"),
        [
            ("sha256", [13416788363860687012, 17014846703330714709]),
            ("sha256_cbor", [7493342651464643050, 12521995510003819704]),
            ("xxhash", [13365370537741110280, 4796262337061789148]),
            ("xxhash_cbor", [17207063996591547016, 3053220141779475725]),
        ],
    )
    def test_vllm(self, scheme: str, keys: list[int]) -> None:
        """The hashes are those that vLLM's own code computes."""
        if scheme.startswith("xxhash"):
            pytest.importorskip("xxhash")
        blocks, adapter = [[1, 200, 70000, 2**31], [5, 6, 7, 8]], ("name", "/path")
        found = Hashing(scheme, "7").keys(blocks, adapter=adapter, salt="salt")
        assert [each[0] for each in found] == keys

    # By the module hash_binding.cpp of SGLang 0.5.23, for pages of four of the tokens 100 to 111.
    @pytest.mark.parametrize(
        ("salt", "keys"),
        [
            (None, [11328591219852043936, 13409171172843538451, 10394140791871556898]),
            ("tenant-a", [2237429982236694403, 16662615562059284248, 7724210378949922068]),
        ],
    )
    def test_sglang(self, salt: str | None, keys: list[int]) -> None:
        """The hashes are those that SGLang's own code computes."""
        blocks = [range(at, at + 4) for at in range(100, 112, 4)]
        assert [each[0] for each in Hashing("sglang").keys(blocks, salt=salt)] == keys

    def test_adapters(self) -> None:
        """Where the hash needs what the registry does not state, there is none."""
        assert Hashing("sglang").keys([[1]], adapter=("a", "/a")) == ()
        assert Hashing("sha256").keys([[1]], adapter=("a", None)) == ()
        assert len({*Hashing("sha256").keys([[1]], adapter=("a", "/a"))}) == 1

    def test_xxhash(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without its package it is said how to install it."""
        monkeypatch.setattr("monitor.watch.tokens.find_spec", lambda _: None)
        with pytest.raises(SpecError, match=r"xxhash is not installed"):
            Hashing("xxhash", "0").keys([[1]])

    @pytest.mark.parametrize(
        ("hashing", "said"),
        [
            ({"scheme": "xxhash"}, "has no seed"),
            ({"scheme": "sglang", "seed": "0"}, "have no seed"),
            ({"scheme": "md5"}, "hashing.scheme"),
            ({"scheme": "sha256", "sed": "secret-seed"}, "seed"),
        ],
    )
    def test_refused(self, hashing: Any, said: str, tmp_path: Path) -> None:
        """A scheme that cannot be recomputed is refused, and the seed is not quoted."""
        path = write_registry(tmp_path, [{"id": "hot", "tokens": HOT}], hashing=hashing)
        with pytest.raises(DocumentError, match=said) as caught:
            load_registry(path)
        assert "secret-seed" not in str(caught.value)


class TestJoin:
    @pytest.mark.parametrize("scheme", ["sha256", "sha256_cbor", "sglang"])
    def test_kept(self, scheme: str, tmp_path: Path) -> None:
        """Under the right scheme a claim is judged as where tokens are stated."""
        engine = served(HOT, COLD, blocks=4, hashing=Hashing(scheme))
        session = played(tmp_path, engine, hashing={"scheme": scheme})
        assert [change[1] for change in session.changes] == ["held", "absent"]
        assert session.finish().verdict is ModeVerdict.KEPT
        met, why = condition(session, Precondition.REQUEST_TOKEN_MAP)
        assert (met, why) == (
            Met.MET,
            f"token ids of the registry; 3 stores recognised by hashes recomputed by {scheme}",
        )

    def test_whole_hash(self, tmp_path: Path) -> None:
        """Engines that state the whole hash are joined, too."""
        engine = served(HOT)
        (event,) = engine.batches[0]
        blocks = [HOT[at : at + SIZE] for at in range(0, len(HOT), SIZE)]
        event["block_hashes"] = [each[1] for each in engine.hashing.keys(blocks)]
        assert state(played(tmp_path, engine, hashing=RIGHT)) is State.HELD

    @pytest.mark.parametrize("hashing", [WRONG, {"scheme": "sha256", "seed": "0"}, None])
    def test_wrong(self, hashing: Any, tmp_path: Path) -> None:
        """Under another scheme or seed, or none, a stored prefix is unknown, and not absent."""
        session = played(tmp_path, served(HOT, COLD, blocks=3), hashing=hashing)
        assert state(session) is State.UNKNOWN
        assert session.finish().claims == []
        met, why = condition(session, Precondition.REQUEST_TOKEN_MAP)
        assert met is Met.NOT_OBSERVABLE
        assert "blocks are stored without tokens, and" in why

    def test_never_seen(self, tmp_path: Path) -> None:
        """A claim of which no hash was stored is unknown, though that of another claim was."""
        claims = {"id": "hot", "tokens": HOT}, {"id": "cold", "tokens": COLD}
        session = played(tmp_path, served(HOT, prompt("x", 1)), *claims, hashing=RIGHT)
        assert (state(session), state(session, "cold")) == (State.HELD, State.UNKNOWN)
        assert "without tokens" in session.join.why_unjudged(session.join.standings["cold"])

    def larger(self, folder: Path) -> Session:
        """A group with larger blocks has some of the hashes."""
        engine = served(HOT)
        (event,) = engine.batches[0]
        half = event["block_hashes"][1::2]
        larger = event | {"block_size": 2 * SIZE, "group_idx": 1, "block_hashes": half}
        engine.batches[0].append(larger | {"extra_keys": [None] * len(half)})
        about = {"kv_cache_spec_kind": "full_attention"}
        engine.batches[0] = [each | about for each in engine.batches[0]]
        return played(folder, engine, hashing=RIGHT)

    def test_larger_blocks(self, tmp_path: Path) -> None:
        """The blocks of a group with larger blocks stay unknown."""
        session = self.larger(tmp_path)
        assert state(session) is State.UNKNOWN
        met, why = condition(session, Precondition.FIXED_CACHE_IDENTITY)
        assert (met, why) == (Met.NOT_MET, "blocks have 8 tokens, and the registry says 4")

    def test_words_decide_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whether blocks have another size follows from their size, whatever the reason says."""
        words = prefixes._Fault(prefixes.Lack.SIZE, prefixes.NO_TOKENS)
        monkeypatch.setattr(prefixes, "_of_size", lambda _: words)
        session = self.larger(tmp_path)
        assert condition(session, Precondition.FIXED_CACHE_IDENTITY)[0] is Met.NOT_MET
        assert condition(session, Precondition.REQUEST_TOKEN_MAP)[0] is Met.MET

    def test_unseen_copy(self, tmp_path: Path) -> None:
        """Under another seed, a store that was not recognised may have been another copy."""
        engine = served(HOT)
        engine.__class__ = Told
        engine.serve(HOT, again=3)
        engine.batches.append([removed(each) for each in engine.hashes(HOT)])
        assert state(played(tmp_path, engine, hashing=WRONG)) is State.UNKNOWN

    def test_two_contents(self, tmp_path: Path) -> None:
        """SGLang leaves adapters out of its hashes: a store that names another one contradicts."""
        engine = served(HOT, hashing=Hashing("sglang"))
        engine.batches[0][0]["extra_keys"] = [["lora"]] * 3
        engine.batches[0][0]["lora_name"] = "lora"
        session = played(tmp_path, engine, hashing={"scheme": "sglang"})
        assert state(session) is State.UNKNOWN
        met, why = condition(session, Precondition.REUSABLE_OBJECT_ID)
        assert (met, why) == (Met.NOT_MET, "1 contradiction: one hash stands for two contents")

    def test_collision(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A hash that the scheme gives to two blocks of the registry is reported as such."""
        whole = Hashing.keys
        monkeypatch.setattr(
            Hashing, "keys", lambda *a, **b: tuple((each[0] % 1, "x") for each in whole(*a, **b))
        )
        claims = {"id": "hot", "tokens": HOT[:4]}, {"id": "cold", "tokens": COLD[:4]}
        session = played(tmp_path, served(HOT[:4]), *claims, hashing=RIGHT)
        assert {state(session), state(session, "cold")} == {State.UNKNOWN}
        assert session.join.last_contradiction == "one hash stands for two contents"

    @pytest.mark.parametrize(("step", "held"), [(1, 3), (2, 2)])
    def test_keys_alone(self, step: int, held: int, tmp_path: Path) -> None:
        """Dynamo's events have hashes alone, and are joined by them; they state no size of blocks,
        so a block of which no hash came is unknown.
        """
        keys = served(HOT).hashes(HOT)
        blocks = [{"block_hash": each, "tokens_hash": 7} for each in keys]
        blocks = blocks[::step]
        event = {"event_id": 0, "data": {"stored": {"parent_hash": None, "blocks": blocks}}}
        session = Session(write_registry(tmp_path, [{"id": "hot", "tokens": HOT}], hashing=RIGHT))
        session.take(
            json.dumps({"worker_id": 1, "storage_tier": "device", "event": event}).encode()
        )
        assert session.join.counts(session.join.standings["hot"]) == (held, 3 - held)


class TestHonest:
    @pytest.mark.parametrize("seed", range(12))
    def test_right(self, seed: int, tmp_path: Path) -> None:
        """What is said is true of the engine, and what was stored once is always known."""
        rng, engine = random.Random(seed), Hashed(rng_size(seed), seed)
        session = Session(write_registry(tmp_path, CLAIMS, hashing=RIGHT))
        known = set[str]()
        for number in range(120):
            step(engine, rng, clear=True)
            session.take(line(number, engine.batches[-1], number))
            said = dict(zip(held_by(engine), compare(session, engine, seed), strict=True))
            known |= {name for name, each in said.items() if each is State.HELD}
            assert State.UNKNOWN not in {said[name] for name in known}
        assert known
        verdicts = {each.claim_id: each.verdict for each in session.finish().claims}
        assert {verdicts[name] for name in known - {"ab"}} == {ModeVerdict.KEPT}

    @pytest.mark.parametrize("seed", range(12))
    @pytest.mark.parametrize("hashing", [WRONG, RIGHT | {"scheme": "sha256"}, {"scheme": "sglang"}])
    def test_wrong(self, hashing: Any, seed: int, tmp_path: Path) -> None:
        """Under another scheme every claim is unknown once a block was stored."""
        rng, engine = random.Random(seed), Hashed(rng_size(seed), seed)
        session = Session(write_registry(tmp_path, CLAIMS, hashing=hashing))
        for number in range(60):
            step(engine, rng, clear=False)
            session.take(line(number, engine.batches[-1], number))
            stored = any(
                each["type"] == "BlockStored" for batch in engine.batches for each in batch
            )
            if stored:
                assert {*compare(session, engine, seed)} == {State.UNKNOWN}
        assert session.finish().claims == []

    @pytest.mark.parametrize("seed", range(12))
    def test_mixed(self, seed: int, tmp_path: Path) -> None:
        """Where some stores state tokens and others none, what is said is true, in any seed."""
        rng, engine = random.Random(seed), Hashed(rng_size(seed), seed)
        hashing = rng.choice([RIGHT, WRONG])
        session = Session(write_registry(tmp_path, CLAIMS, hashing=hashing))
        for number in range(120):
            bare = rng.random() < 0.5
            engine.__class__ = Hashed if bare else Told
            step(engine, rng, clear=False)
            session.take(line(number, engine.batches[-1], number))
            compare(session, engine, seed)
        found = {each.verdict for each in session.finish().claims}
        assert ModeVerdict.VIOLATED not in found


class Told(Hashed):
    """The same engine where it states tokens."""

    def _stored(self, *args: Any) -> dict[str, Any]:
        return Engine._stored(self, *args)
