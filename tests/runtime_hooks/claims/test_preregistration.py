"""Tests of claims.preregistration: claims that wait for a request with their prefix."""

import json
import threading
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

from runtime_hooks import claims
from runtime_hooks.claims import preregistration
from runtime_hooks.claims.api import opened
from runtime_hooks.claims.arrivals import Arrival, Prompt
from runtime_hooks.claims.metadata import object_of
from runtime_hooks.claims.preregistration import Ticket
from runtime_hooks.plugin.arming import ArmingError
from runtime_hooks.settings.config import SettingsError, load_ahead
from spec.claims.states import Mode
from spec.language.errors import ClaimError
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import IDENTITY, TinyEngine, claim, keys_of

HARD, KEPT = Mode.HARD_PROTECTED, ModeVerdict.KEPT
PROMPT = Prompt((ord("p"),) * 32 * 60)


def waiting(engine: TinyEngine, blocks: int = 60, **more: Any) -> Ticket:
    """A claim on the prompt `p` that waits."""
    ticket = engine.controller.preregistration.register(claim(blocks=blocks, **more), PROMPT)
    assert "waiting" == ticket.state
    return ticket


class TestWaits:
    def test_accepted(self) -> None:
        """The first request with the prefix brings it; nobody else does, and it is kept."""
        engine = TinyEngine()
        ticket = waiting(engine)
        assert engine.serve("other", 60)
        assert engine.serve("short", 59, prompt="p")
        assert "waiting" == ticket.state
        assert engine.serve("long", 70, prompt="p")
        assert "accepted" == ticket.state
        assert {} == engine.answers[-1]
        assert not engine.serve("active", 70)
        assert ["claim:a"] == [event.claim_id for event in engine.kinds("claim_accepted")]
        assert KEPT is engine.judge(HARD).verdict

    def test_on_abort(self) -> None:
        """It may say that it is kept, which it is: it has no answer, so no abort ends it."""
        for more in ({}, {"on_abort": "keep"}):
            engine = TinyEngine()
            ticket = waiting(engine, **more)
            engine.arrive(Arrival("r", keys_of("p", 60), 60, 60))
            assert "accepted" == ticket.state
            engine.finish("r", aborted=True)
            assert (1, "accepted") == (engine.controller.claims, ticket.state)

    def test_by_object(self) -> None:
        """A claim may name its object, as an earlier claim on the same prefix was told to."""
        engine = TinyEngine()
        ticket = engine.controller.preregistration.register(
            claim(object_id=object_of(keys_of("p", 60)[-1])),
        )
        assert engine.serve("other", 60)
        assert engine.serve("request", 60, prompt="p")
        assert "accepted" == ticket.state

    @pytest.mark.parametrize("blocks", [59, 61])
    def test_other_size(self, blocks: int) -> None:
        """An object of another size than the claim's footprint is not what it is for: it waits no
        more once that is seen, neither is its id taken.
        """
        engine, on = TinyEngine(), object_of(keys_of("p", 60)[-1])
        ticket = engine.controller.preregistration.register(claim(blocks=blocks, object_id=on))
        assert engine.serve("short", 59, prompt="p")
        assert "waiting" == ticket.state
        assert engine.serve("long", 70, prompt="p")
        assert "rejected" == ticket.state
        assert f"its object has 60 blocks, and the claim is for {blocks}" == ticket.reason
        assert not engine.controller.may_concern_claims
        assert engine.serve("request", 20, claim(blocks=20))
        assert {"claim": ""} == engine.answers[-1]

    def test_own_object(self) -> None:
        """A prompt says what it is for, whatever its owner calls the object: events name it by its
        content, so that two owners who use one name do not share blocks by it.
        """
        engine = TinyEngine()
        ticket = waiting(engine, object_id="system prompt")
        assert engine.serve("request", 60, prompt="p")
        assert "accepted" == ticket.state
        name = object_of(keys_of("p", 60)[-1])
        assert {name} == {e.object_id for e in engine.kinds("claim_committed", "claim_accepted")}

    def test_rejected(self) -> None:
        """Where there is no room it is turned away, which the ticket says, and not the response."""
        engine = TinyEngine()
        assert engine.serve("hard", 30, claim("claim:hard", 30))
        ticket = waiting(engine)
        engine.serve("request", 60, prompt="p")
        assert "rejected" == ticket.state
        assert "it needs 60 blocks, and 50 of 80 are not claimed" == ticket.reason
        assert {} == engine.answers[-1]
        assert 1 == len(engine.kinds("claim_rejected"))
        assert () == engine.controller.preregistration.tickets()

    def test_too_short(self) -> None:
        """A prompt that has fewer blocks than the claim."""
        engine = TinyEngine()
        ticket = waiting(engine, 61)
        engine.controller.operate()
        assert "the prompt has 60 whole blocks, and the claim is for 61" == ticket.reason

    def test_untellable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the engine fails at its prompt the claim is rejected, and requests go on."""
        engine = TinyEngine()
        ticket = waiting(engine)

        def fail(prompt: Prompt) -> list[bytes]:
            raise UnicodeError

        monkeypatch.setattr(engine.controller.preregistration, "_keys_of", fail)
        assert engine.serve("other", 60)
        assert "rejected" == ticket.state
        assert not engine.controller.preregistration.is_waiting("claim:a")

    def test_two(self) -> None:
        """Two claims wait for one prefix, of different length."""
        engine = TinyEngine(usable=200)
        first = waiting(engine)
        second = engine.controller.preregistration.register(claim("claim:b", 40), PROMPT)
        assert engine.serve("short", 40, prompt="p")
        assert ("waiting", "accepted") == (first.state, second.state)
        assert engine.serve("long", 60, prompt="p")
        assert "accepted" == first.state
        assert KEPT is engine.judge(HARD).verdict

    def test_reserved(self) -> None:
        """The id of a claim that waits is nobody else's; neither is it spent by who tries."""
        engine = TinyEngine()
        ticket = waiting(engine, 20)
        assert engine.serve("thief", 20, claim(blocks=20))
        assert "is registered ahead" in engine.answers[-1]["claim"]
        assert engine.serve("request", 20, prompt="p")
        assert "accepted" == ticket.state
        assert KEPT is engine.judge(HARD).verdict

    def test_not_admitted(self) -> None:
        """A request that is not cached brings nothing that could be claimed."""
        engine = TinyEngine()
        ticket = waiting(engine)
        engine.controller.operate()
        assert engine.serve("request", 60, prompt="p", no_admit=True)
        assert "waiting" == ticket.state


class TestRelease:
    def test_waiting(self) -> None:
        """A claim that waits is given up by its owner alone."""
        engine = TinyEngine()
        ticket = waiting(engine)
        other = engine.controller.preregistration.release("claim:a", "other")
        mine = engine.controller.preregistration.release("claim:a", "tenant")
        again = engine.controller.preregistration.release("claim:a", "tenant")
        engine.begin_step()
        said = [each.result(0) for each in (other, mine, again)]
        assert [
            "the claim is not owned by who gives it up",
            "",
            "there is no live claim of that id",
        ] == said
        assert "over" == ticket.state
        assert engine.serve("request", 60, prompt="p")
        assert [] == engine.kinds("claim_registered")

    def test_live(self) -> None:
        """A live claim is given up, however it came, and its ticket is over."""
        engine = TinyEngine()
        ticket = waiting(engine, 20)
        assert engine.serve("request", 20, prompt="p")
        assert engine.serve("other", 20, claim("claim:b", 20))
        done = [
            engine.controller.preregistration.release(name, "tenant")
            for name in ("claim:a", "claim:b")
        ]
        engine.begin_step()
        assert ["", ""] == [each.result(0) for each in done]
        assert ("over", 0) == (ticket.state, engine.controller.claims)
        assert KEPT is engine.judge(HARD).verdict

    def test_too_late(self) -> None:
        """What the engine does not come to any more is cancelled."""
        engine = TinyEngine()
        done = engine.controller.preregistration.release("claim:a", "tenant")
        engine.controller.inbox.close()
        with pytest.raises(CancelledError):
            done.result(0)

    def test_cancelled(self) -> None:
        """What nobody wants any more is not done."""
        engine = TinyEngine()
        ticket = waiting(engine)
        engine.controller.operate()
        assert engine.controller.preregistration.release("claim:a", "tenant").cancel()
        engine.begin_step()
        assert "waiting" == ticket.state


class TestRefused:
    @pytest.mark.parametrize(
        ("stated", "prompt", "reason"),
        [
            (claim(mode="hard"), PROMPT, "protection_mode"),
            (claim(), None, "it names no prompt"),
            (claim(object_id="system prompt"), None, "its object_id is not one of this engine"),
            ({}, PROMPT, "claim_id: Field required"),
            (claim("a "), PROMPT, "its claim_id begins or ends with white space"),
            (claim(on_abort="release"), PROMPT, "on_abort is release, and a claim that is regist"),
            (claim(on_abort="later"), PROMPT, "on_abort is neither keep nor release"),
        ],
    )
    def test_bad(self, stated: dict[str, Any], prompt: Prompt | None, reason: str) -> None:
        """What is no claim does not wait."""
        engine = TinyEngine()
        with pytest.raises(ClaimError, match=reason):
            engine.controller.preregistration.register(stated, prompt)
        assert not engine.controller.may_concern_claims

    @pytest.mark.parametrize("ids", [(-1,), (True,), ("a",), (2**31,), (1.0,), (1,) * (2**20 + 1)])
    def test_bad_tokens(self, ids: tuple[Any, ...]) -> None:
        """What are no token ids are no prompt."""
        with pytest.raises(ClaimError, match="these are not token ids"):
            Prompt(ids)

    def test_salt(self) -> None:
        """The salt is part of the cache that the claim is for; any text is one."""
        engine = TinyEngine()
        stated = claim(cache_identity={**IDENTITY.model_dump(), "namespace": "other"})
        with pytest.raises(ClaimError, match="it is for another cache"):
            engine.controller.preregistration.register(stated, Prompt(PROMPT.token_ids, "\ud800"))

    def test_twice(self) -> None:
        """An id waits once, and is free again for another claim when it was turned away."""
        engine = TinyEngine()
        waiting(engine)
        with pytest.raises(ClaimError, match="registered already"):
            waiting(engine)

    def test_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Only so many wait."""
        monkeypatch.setattr(preregistration, "MOST", 3)
        engine = TinyEngine()
        for name in "abc":
            engine.controller.preregistration.register(claim(f"claim:{name}"), PROMPT)
        with pytest.raises(ClaimError, match="3 claims wait already"):
            engine.controller.preregistration.register(claim("claim:d"), PROMPT)


class TestThreads:
    def test_many(self) -> None:
        """Claims from several threads, while the engine steps, are each taken once."""
        engine = TinyEngine(usable=1_000)
        tickets: list[Ticket] = []

        def register(thread: int) -> None:
            tickets.extend(
                engine.controller.preregistration.register(claim(f"claim:{thread}:{n}", 1), PROMPT)
                for n in range(50)
            )

        threads = [threading.Thread(target=register, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            engine.begin_step()
        assert engine.serve("request", 1, prompt="p")
        assert ["accepted"] * 200 == [ticket.state for ticket in tickets]
        assert 200 == len(engine.controller.preregistration.tickets()) == engine.controller.claims


class TestModule:
    def test_off(self) -> None:
        """Without an engine in the process there is nothing to register with."""
        with pytest.raises(ArmingError, match="0 hooked engines in this process"):
            claims.register(claim(), [1] * 32)
        with pytest.raises(ArmingError, match="0 hooked engines in this process"):
            claims.release("claim:a", "tenant")
        with pytest.raises(ArmingError, match="0 hooked engines in this process"):
            claims.list_claims()

    def test_ended(self) -> None:
        """An engine that has ended, or is hooked no more, does not stand in the way of the next."""
        for _ in range(2):
            engine = TinyEngine()
            opened(engine.controller.preregistration)
            ticket = claims.register(claim(), PROMPT.token_ids)
            assert (ticket,) == claims.list_claims()
            engine.controller.inbox.close()
        with pytest.raises(ArmingError, match="0 hooked engines in this process"):
            claims.list_claims()


class TestFile:
    def test_read(self, tmp_path: Path) -> None:
        """A list of claims, each with its prompt, or naming its object."""
        file = tmp_path / "ahead.json"
        file.write_text(json.dumps([{"claim": claim(), "prompt_token_ids": [1, 2]}, {"claim": {}}]))
        first, second = load_ahead(str(file))
        assert (claim(), [1, 2], "") == (first.claim, first.prompt_token_ids, first.cache_salt)
        assert second.prompt_token_ids is None

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            ("{}", "Expected `array`"),
            ('[{"claims": {}}]', "unknown field `claims`"),
            ("[{}]", "missing required field `claim`"),
            ('[{"claim": {}, "prompt": "text"}]', "unknown field `prompt`"),
            ('[{"claim": {}, "prompt_token_ids": [-1]}]', "Expected `int` >= 0"),
            ('[{"claim": {}, "prompt_token_ids": "text"}]', "Expected `array"),
            ("[" * 5_000, "no JSON"),
            ("", "no JSON"),
        ],
    )
    def test_bad(self, tmp_path: Path, content: str, reason: str) -> None:
        """What is no such list is refused, in one line."""
        file = tmp_path / "ahead.json"
        file.write_text(content)
        with pytest.raises(SettingsError, match=reason) as raised:
            load_ahead(str(file))
        assert "\n" not in str(raised.value)

    def test_missing(self, tmp_path: Path) -> None:
        """A file that is not there."""
        with pytest.raises(SettingsError, match="which cannot be read"):
            load_ahead(str(tmp_path / "none.json"))
