"""Tests of control.ranks: the operator asks the data-parallel ranks of a server together."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from runtime_hooks.__main__ import main
from runtime_hooks.control.client import Refused, Unknown
from runtime_hooks.control.messages import List, Release, Show
from runtime_hooks.control.ranks import Reply, answered
from spec.language.errors import SpecError
from tests.runtime_hooks.control.conftest import Operated
from tests.runtime_hooks.tiny import claim

Capture = pytest.CaptureFixture[str]
Make = Callable[..., Operated]


@pytest.fixture
def ranks(operate: Make) -> list[Operated]:
    """The two ranks of a server; the second has two claims, one of which may be demoted."""
    made = [operate(f"{9 - number}-dp{number}of2.aa") for number in range(2)]
    made[1].serve("resident", 20, claim(blocks=20))
    made[1].serve("other", 10, claim("claim:b", 10, "demotable"))
    return made


def command(capsys: Capture, ranks: list[Operated], *words: str) -> tuple[int, str, str]:
    """The exit code of a command on the folder of these ranks, and what it prints."""
    code = main(["claims", *words, "--socket", str(ranks[0].path.parent)])
    return code, *capsys.readouterr()


def of_ranks(capsys: Capture, ranks: list[Operated], *words: str) -> dict[int, Any]:
    """The pages that a command prints as JSON, by rank."""
    code, out, err = command(capsys, ranks, *words, "--format", "json")
    assert (0, "") == (code, err)
    found = json.loads(out)
    assert "resident-claims/ranks/1" == found["schema"]
    return {each["rank"]: each["page"] for each in found["ranks"]}


class TestCommands:
    def test_list(self, ranks: list[Operated], capsys: Capture) -> None:
        """The claims of all ranks are listed, in the order of the ranks."""
        pages = of_ranks(capsys, ranks, "list")
        assert [0, 1] == [*pages]
        claims = {rank: [c["claim_id"] for c in page["claims"]] for rank, page in pages.items()}
        assert {0: [], 1: ["claim:a", "claim:b"]} == claims
        code, out, _ = command(capsys, ranks, "list")
        assert 0 == code
        assert ["Rank 0", "Rank 1"] == [li for li in out.splitlines() if li.startswith("Rank")]
        assert out.index("Rank 1") < out.index("claim:a")
        assert all(len(line) <= 80 for line in out.splitlines())

    def test_one(self, ranks: list[Operated], capsys: Capture) -> None:
        """A claim is found, and ended, on the rank that has it; what no rank has is unknown."""
        assert [1] == [*of_ranks(capsys, ranks, "show", "claim:a")]
        assert (1, "") == command(capsys, ranks, "release", "claim:a")[:2]
        assert "claim_demoted" == of_ranks(capsys, ranks, "release", "claim:b")[1]["report"]
        code, out, err = command(capsys, ranks, "show", "claim:b")
        assert (2, "") == (code, out)
        assert err.startswith("error: there is no live claim 'claim:b'")

    def test_drain(self, ranks: list[Operated], capsys: Capture) -> None:
        """All ranks drain, and the command waits for the claims of each."""
        code, out, _ = command(capsys, ranks, "drain", "--wait", "0.1")
        assert (3, 2) == (code, out.count("It drains"))
        assert [True, True] == [
            each.engine.controller.operator.drain().engine.drains for each in ranks
        ]

    def test_missing(self, ranks: list[Operated], capsys: Capture) -> None:
        """A rank that does not listen is an error, unless one rank is named."""
        ranks[0].end()
        code, _, err = command(capsys, ranks, "list")
        assert 2 == code
        assert "of 2 ranks these do not listen: 0" in err
        assert 0 == main(["claims", "list", "--socket", str(ranks[1].path)])
        assert "claim:a" in capsys.readouterr().out

    def test_others(self, ranks: list[Operated], operate: Make, capsys: Capture) -> None:
        """The ranks of two servers are not asked together: the operator names one."""
        operate("7-dp0of2.bb")
        code, _, err = command(capsys, ranks, "list")
        assert 2 == code
        assert "3 engines listen" in err

    def test_hostile(self, ranks: list[Operated], capsys: Capture) -> None:
        """A peer that listens as a rank and does not answer is named, and is no answer."""
        ranks[0].end()
        with socket.socket(socket.AF_UNIX) as bad:
            bad.bind(str(ranks[0].path))
            bad.listen()
            bad.settimeout(30)
            code, _, err = _with_peer(bad, lambda: command(capsys, ranks, "list"))
        assert 2 == code
        assert "rank 0: " in err


def _with_peer(bad: socket.socket, act: Callable[[], tuple[int, str, str]]) -> tuple[int, str, str]:
    """Do it while a socket takes connections, and closes each at once."""

    def take() -> None:
        for _ in range(2):  # one that only looks whether it listens, and the question
            bad.accept()[0].close()

    thread = threading.Thread(target=take)
    thread.start()
    try:
        return act()
    finally:
        thread.join(30)


class TestAnswered:
    FOUND, NONE = Reply(0, page="page"), Reply(1, failure=Unknown("no claim", "", 2))
    BUSY, DECLINED = (Reply(1, failure=Refused("later", "", code)) for code in (3, 1))

    def test_of_one(self) -> None:
        """Who has the claim answers; a rank that is silent may have it, too, and is no answer."""
        assert [self.FOUND] == answered([self.FOUND, self.NONE], Show("a"))
        assert [self.FOUND] == answered([self.FOUND, self.BUSY], Show("a"))
        with pytest.raises(Unknown):
            answered([self.NONE, self.NONE], Show("a"))
        silent = Reply(0, failure=SpecError("gone"))
        for replies in ([self.NONE, silent], [silent, self.NONE]):
            with pytest.raises(SpecError, match="rank 0: gone") as caught:
                answered(replies, Show("a"))
            assert not isinstance(caught.value, Unknown)

    def test_declined(self) -> None:
        """What one rank declines is not done, though another did it."""
        with pytest.raises(Refused, match="rank 1: later") as caught:
            answered([self.FOUND, self.DECLINED], Release("a"))
        assert 1 == caught.value.code

    def test_of_all(self) -> None:
        """A list lacks no rank."""
        with pytest.raises(Refused, match="rank 1: later") as caught:
            answered([self.FOUND, self.BUSY], List())
        assert 3 == caught.value.code
