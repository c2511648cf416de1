"""Tests of runtime_hooks.control.commands: what an operator sees and does from the command line."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime_hooks.__main__ import main
from runtime_hooks.claims.arrivals import Prompt
from runtime_hooks.control import client
from runtime_hooks.settings.quotas import Quota, Quotas
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.control.conftest import Operated
from tests.runtime_hooks.tiny import NS, TinyEngine, claim

Capture = pytest.CaptureFixture[str]
Make = Callable[..., Operated]
KEPT = ModeVerdict.KEPT


def command(capsys: Capture, engine: Operated, *words: str) -> tuple[int, str, str]:
    """The exit code of a command on this engine, and what it prints."""
    code = main(["claims", *words, "--socket", str(engine.path)])
    out, err = capsys.readouterr()
    assert all(len(line) <= 80 for line in out.splitlines())
    assert err.count("\n") <= 1
    return code, out, err


def page(capsys: Capture, engine: Operated, *words: str) -> Any:
    """What a command that succeeds prints as JSON."""
    code, out, err = command(capsys, engine, *words, "--format", "json")
    assert (0, "") == (code, err)
    found = json.loads(out)
    assert "resident-claims/claims/1" == found["schema"]
    return found


class TestList:
    def test_text(self, operate: Make, capsys: Capture) -> None:
        """The sum comes first, then each claim with its owner, mode, state and blocks."""
        engine = operate()
        engine.serve("resident", 40, claim(blocks=40))
        stated = claim("claim:b", 10, "expiring", duration="60 s", owner_scope="other")
        engine.serve("second", 10, stated)
        engine.do(lambda tiny: setattr(tiny, "now", tiny.now + 15 * NS))
        code, out, _ = command(capsys, engine, "list")
        assert 0 == code
        epoch = engine.engine.controller.epoch
        assert [
            "2 live claims with 50 of 80 blocks; 30 are left; 0 unfinished requests.",
            f"Stream tiny, epoch {epoch}.",
            "",
            "claim:a",
            "    tenant, hard_protected, materialized, 40 of 40 blocks cached",
            "claim:b",
            "    other, expiring, materialized, 10 of 10 blocks cached, 45.0 s left",
        ] == out.splitlines()

    def test_json(self, operate: Make, capsys: Capture) -> None:
        """A program gets the same by its fields; --owner leaves the others out."""
        engine = operate()
        engine.serve("resident", 40, claim(blocks=40))
        engine.serve("second", 10, claim("claim:b", 10, owner_scope="other"))
        found = page(capsys, engine, "list", "--owner", "other")
        assert 50 == found["engine"]["claimed"]
        (only,) = found["claims"]
        assert ("claim:b", 10, 10, "") == tuple(
            only[k] for k in ("claim_id", "blocks", "held", "left")
        )
        assert [] == page(capsys, engine, "list", "--owner", "nobody")["claims"]

    def test_waiting(self, operate: Make, capsys: Capture) -> None:
        """A claim that waits for its request is listed, shown, and can be withdrawn."""
        engine = operate()
        prompt = Prompt((ord("p"),) * 32 * 60)
        ticket = engine.engine.controller.preregistration.register(claim(), prompt)
        (only,) = page(capsys, engine, "list")["claims"]
        assert ("claim:a", "waiting") == (only["claim_id"], only["state"])
        assert "waits for a request" in command(capsys, engine, "show", "claim:a")[1]
        assert "withdrawn" == page(capsys, engine, "release", "claim:a")["report"]
        assert ("over", "the operator ended its wait") == (ticket.state, ticket.reason)
        assert engine.serve("p", 60)
        assert 0 == engine.engine.controller.claims

    def test_many(self, operate: Make, capsys: Capture) -> None:
        """Of more than a thousand claims the rest is counted."""
        engine = operate(usable=2_000, claims=2_000)
        for number in range(1_003):
            engine.serve(f"r{number}", 1, claim(f"claim:{number}", 1))
        found = page(capsys, engine, "list")
        assert (1_000, 3) == (len(found["claims"]), found["left_out"])
        assert "3 more claims" in command(capsys, engine, "list")[1]

    def test_hostile(self, operate: Make, capsys: Capture) -> None:
        """An id that a terminal might obey is escaped."""
        engine = operate()
        name = "claim:\u2060gnp.exe" + "x" * 900
        engine.serve("resident", 5, claim(name, 5))
        assert 0 == main(["claims", "list", "--socket", str(engine.path)])
        out = capsys.readouterr().out
        assert "\u2060" not in out
        assert "claim:\\u2060gnp.exe" in out
        assert 0 == command(capsys, engine, "release", name, "--format", "json")[0] - 1


class TestShow:
    def test_claim(self, operate: Make, capsys: Capture) -> None:
        """A claim with its blocks, its last steps, and who may end it."""
        engine = operate()
        engine.serve("resident", 40, claim(blocks=40))
        code, out, _ = command(capsys, engine, "show", "claim:a")
        assert 0 == code
        for line in (
            "owner      tenant",
            "predicate  leading_prefix_at_least(40): true now",
            "blocks     40: 40 cached, 40 excluded from eviction, 0 shared with other",
            "end        it is hard_protected, so only tenant may release it",
            "last steps claim_accepted by the runtime: accepted",
            "           claim_materialized by the runtime: materialized",
        ):
            assert f"\n{line}" in out

    def test_unknown(self, operate: Make, capsys: Capture) -> None:
        """A claim that the engine does not have."""
        engine = operate()
        for words in (("show", "claim:x"), ("release", "claim:x")):
            code, out, err = command(capsys, engine, *words)
            assert (2, "") == (code, out)
            assert err.startswith("error: there is no live claim 'claim:x'")


class TestRelease:
    def test_demotable(self, operate: Make, capsys: Capture) -> None:
        """The runtime demotes a demotable claim, on the engine's thread, and the trace is kept."""
        engine = operate()
        engine.serve("resident", 60, claim(mode="demotable"))
        threads: list[threading.Thread] = []
        fact = engine.engine.controller._emitter.fact

        def noted(*args: Any, **named: Any) -> None:
            threads.append(threading.current_thread())
            fact(*args, **named)

        engine.engine.controller._emitter.fact = noted  # type: ignore[method-assign]
        found = page(capsys, engine, "release", "claim:a")
        assert ("claim_demoted", "runtime", 60) == (found["report"], found["by"], found["blocks"])
        assert [engine.thread] == threads
        assert 0 == found["engine"]["live"]
        assert engine.serve("active", 70)
        tiny = engine.engine
        engine.end()
        kinds = [e.kind for e in tiny.events() if e.kind in ("claim_retired", "claim_demoted")]
        assert ["claim_retired", "claim_demoted"] == kinds
        assert ["runtime", "runtime"] == [e.by for e in tiny.events() if e.by]
        assert KEPT is tiny.judge(Mode.DEMOTABLE).verdict

    @pytest.mark.parametrize(
        ("mode", "more", "expires"),
        [
            ("hard_protected", {}, ""),
            ("hard_protected", {"duration": "60 s"}, "; it expires in 60.0 s"),
            ("expiring", {"duration": "9 steps"}, "; it expires in 9 steps"),
            ("soft_priority", {"priority": 1}, ""),
            ("best_effort", {}, ""),
        ],
    )
    def test_owner_alone(
        self, operate: Make, capsys: Capture, mode: str, more: dict[str, Any], expires: str
    ) -> None:
        """What only the owner may end is not ended, and nothing is reported."""
        engine = operate()
        engine.serve("resident", 60, claim(mode=mode, **more))
        used = engine.engine.journal.used
        code, out, err = command(capsys, engine, "release", "claim:a")
        assert (1, "") == (code, out)
        assert f"it is {mode}, so only tenant may release it{expires}; " in err
        assert (used, 1) == (engine.engine.journal.used, engine.engine.controller.claims)
        engine.end()
        assert ModeVerdict.VIOLATED is not engine.engine.judge(Mode(mode)).verdict


class TestDrain:
    def test_rejects(self, operate: Make, capsys: Capture) -> None:
        """No more claims are accepted, which each is told, until that is undone."""
        engine = operate()
        engine.serve("resident", 40, claim(blocks=40))
        code, out, _ = command(capsys, engine, "drain")
        assert 0 == code
        assert "It drains: no more claims are accepted." in out
        assert "1 live claim without a duration: only a release by the owner ends" in out
        engine.serve("second", 10, claim("claim:b", 10))
        said = engine.engine.answers[-1]["claim"]
        assert "the operator drains this engine: it accepts no more claims" == said
        assert "It drains" in command(capsys, engine, "list")[1]
        assert "It drains" not in command(capsys, engine, "drain", "--undo")[1]
        engine.serve("third", 10, claim("claim:c", 10))
        assert "" == engine.engine.answers[-1]["claim"]
        engine.end()
        assert KEPT is engine.engine.judge(Mode.HARD_PROTECTED).verdict

    def test_waits(self, operate: Make, capsys: Capture) -> None:
        """With --wait it ends when the last claim has ended, or says that some still live."""
        engine = operate()
        engine.serve("resident", 40, claim(blocks=40))
        code, out, _ = command(capsys, engine, "drain", "--wait", "0.1")
        assert 3 == code
        assert out.startswith("1 live claim ")
        released = threading.Timer(
            0.3, lambda: engine.do(lambda tiny: tiny.release("claim:a", "tenant"))
        )
        released.start()
        began = time.monotonic()
        code, out, _ = command(capsys, engine, "drain", "--wait", "60")
        assert (0, True) == (code, time.monotonic() - began < 30)
        assert out.startswith("0 live claims ")


class TestQuotas:
    def test_changed(self, operate: Make, capsys: Capture) -> None:
        """Quotas change for claims to come, for every owner or for one; `none` lifts a limit."""
        engine = operate(quotas=Quotas(each=Quota(blocks=50)))
        engine.serve("resident", 40, claim(blocks=40))
        words = ("quotas", "--blocks", "20", "--duration", "60 s", "--floor", "8")
        assert {"blocks": 20, "claims": 1_000, "duration": "60 s", "priority": None} == (
            page(capsys, engine, *words)["each"]
        )
        engine.serve("second", 1, claim("claim:b", 1, duration="60 s"))
        assert (
            "tenant would hold 40 + 1 = 41 blocks, and 20 of 80 are the most"
            == (engine.engine.answers[-1]["claim"])
        )
        found = page(capsys, engine, "quotas", "--owner", "tenant", "--blocks", "41")
        assert (41, 20) == (found["owners"][0]["quota"]["blocks"], found["each"]["blocks"])
        engine.serve("third", 1, claim("claim:c", 1, duration="60 s"))
        assert "" == engine.engine.answers[-1]["claim"]
        _, out, _ = command(capsys, engine, "quotas", "--duration", "none")
        assert "of which no claim may take 8" in out
        assert "An owner has at most 20 blocks, 1000 claims." in out
        assert "tenant: 2 claims, 41 blocks; at most 41 blocks, 1000 claims\n" in out

    @pytest.mark.parametrize(
        "words",
        [
            ("--blocks", "many"),
            ("--blocks", "-1"),
            ("--blocks", "99999999999"),
            ("--duration", "soon"),
            ("--duration", "0 s"),
            ("--priority", "2147483648"),
            ("--floor", "-1"),
            ("--owner", ""),
        ],
    )
    def test_wrong(self, operate: Make, capsys: Capture, words: tuple[str, ...]) -> None:
        """What is no limit is bad input, in one line, and nothing changes."""
        engine = operate()
        code, out, err = command(capsys, engine, "quotas", *words)
        assert (2, "") == (code, out)
        assert err.startswith("error: ")
        assert Quotas() == engine.engine.controller._registry.owners.quotas


class TestNoEngine:
    """Where no engine answers, one line says why."""

    def said(self, capsys: Capture, *words: str) -> str:
        assert 2 == main(["claims", "list", *words])
        out, err = capsys.readouterr()
        assert ("", 1) == (out, err.count("\n"))
        return err

    def test_no_socket(self, tmp_path: Path, capsys: Capture) -> None:
        """There is no socket of that name, or none in the folder."""
        at = tmp_path / "1.sock"
        assert f"error: there is no socket {at}; " in self.said(capsys, "--socket", str(at))
        assert f"no engine listens in {tmp_path}; " in self.said(capsys, "--socket", str(tmp_path))

    def test_no_folder(
        self, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nothing was ever armed here."""
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
        assert f"no engine listens in {tmp_path}/resident-claims; " in self.said(capsys)

    def test_gone(self, tmp_path: Path, capsys: Capture) -> None:
        """The engine was killed and left its socket."""
        for name in ("1.sock", "2.sock"):
            with socket.socket(socket.AF_UNIX) as dead:
                dead.bind(str(tmp_path / name))
        told = self.said(capsys, "--socket", str(tmp_path / "2.sock"))
        assert "is gone; its claims ended with it" in told
        told = self.said(capsys, "--socket", str(tmp_path))
        assert f"no engine listens in {tmp_path}; 2 have ended; " in told

    def test_no_answer(self, operate: Make, capsys: Capture) -> None:
        """The engine is in a long step: it is told apart from one that is gone, and nothing is
        done later."""
        engine = operate(wait_s=0.1)
        engine.server.wake = lambda: None
        code, out, err = command(capsys, engine, "drain")
        assert (3, "") == (code, out)
        assert "did not begin with it within 0.1 s; nothing was done" in err
        engine.do(lambda tiny: tiny.controller.operate())
        assert not engine.engine.controller._admission.drains

    def test_ended(self, operate: Make, capsys: Capture) -> None:
        """The engine ends before it comes to it, or the plugin is disarmed in it."""
        engine = operate()
        engine.engine.controller.inbox.close()
        code, _, err = command(capsys, engine, "list")
        assert 2 == code
        assert "the engine has ended, or the plugin is disarmed in it" in err

    def test_several(self, operate: Make, capsys: Capture) -> None:
        """Of several engines none is chosen; the only live one is."""
        first, second = operate("1"), operate("2")
        folder = str(first.path.parent)
        assert "2 engines listen in" in self.said(capsys, "--socket", folder)
        second.end()
        assert 0 == main(["claims", "list", "--socket", folder])

    def test_stranger(self, operate: Make, capsys: Capture, monkeypatch: Any) -> None:
        """Something else answers."""
        engine = operate()
        for content in (b"", b"hello", b"{}", b'{"page": {"schema": "other"}}'):
            monkeypatch.setattr(client, "_all_of", lambda peer, content=content: content)
            code, out, err = command(capsys, engine, "list")
            assert (2, "") == (code, out)
            assert ("ended before it answered" if not content else "no engine of this") in err


def test_fault(operate: Make, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails within the plugin ends neither the engine nor its socket, and leaves a gap."""
    engine = operate()
    used = engine.engine.journal.used

    def fails(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(engine.engine.controller.operator, "claims", fails)
    code, _, err = command(capsys, engine, "list")
    assert (2, used + 1) == (code, engine.engine.journal.used)
    assert "the plugin failed: RuntimeError" in err
    assert 0 == command(capsys, engine, "quotas")[0]


def test_help(capsys: Capture) -> None:
    """Every command explains itself, with an example."""
    for name in ("list", "show", "release", "drain", "quotas"):
        assert 0 == main(["claims", name, "--help"])
        out = capsys.readouterr().out
        assert f"Example: python -m runtime_hooks claims {name}" in out
        assert "--format" in out


def test_tiny_engine_is_unchanged() -> None:
    """An engine without a socket needs nothing of this."""
    engine = TinyEngine()
    assert engine.serve("resident", 60, claim())
    assert 1 == len(engine.controller.operator.claims().claims)
