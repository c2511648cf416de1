"""Tests of runtime_hooks.control.server and folder: who may connect, and hostile input."""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime_hooks.control.client import Refused, ask
from runtime_hooks.control.folder import default_folder, make_private, sockets
from runtime_hooks.control.messages import MOST_ASKED, Answer, List, read_request
from runtime_hooks.controller.views import ClaimsPage
from spec.language.errors import SpecError
from tests.runtime_hooks.control.conftest import Operated

Make = Callable[..., Operated]


def answer(engine: Operated, sent: bytes) -> Answer:
    """The answer to these bytes."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(30)
        peer.connect(str(engine.path))
        peer.sendall(sent)
        peer.shutdown(socket.SHUT_WR)
        content = b""
        while more := peer.recv(1 << 16):
            content += more
    return msgspec.json.decode(content, type=Answer)


class TestFolder:
    def test_made(self, tmp_path: Path) -> None:
        """The folder is made for its owner alone."""
        make_private(tmp_path / "new")
        make_private(tmp_path / "new")
        assert 0o700 == stat.S_IMODE((tmp_path / "new").stat().st_mode)
        assert [] == sockets(tmp_path / "new") == sockets(tmp_path / "none")

    def test_refused(self, tmp_path: Path) -> None:
        """One that others may enter, a link, a file, and one that cannot be made are refused."""
        (tmp_path / "open").mkdir()
        (tmp_path / "open").chmod(0o750)
        (tmp_path / "own").mkdir(mode=0o700)
        (tmp_path / "link").symlink_to("own")
        (tmp_path / "file").touch()
        for name in ("open", "link", "file", "no/such"):
            with pytest.raises(SpecError):
                make_private(tmp_path / name)

    def test_default(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The user's runtime folder comes first, where there is one."""
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
        assert tmp_path / "resident-claims" == default_folder()
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "none"))
        assert default_folder().name == f"resident-claims-{os.getuid()}"


class TestSocket:
    def test_private(self, operate: Make) -> None:
        """Only its owner may open it, and it is gone with the engine."""
        engine = operate()
        assert 0o600 == stat.S_IMODE(engine.path.stat().st_mode)
        engine.end()
        assert not engine.path.exists()

    def test_at_once(self, operate: Make) -> None:
        """More clients than it serves at once are all answered, and one that says nothing keeps
        nobody out."""
        engine, found = operate(), list[object]()
        silent = [socket.socket(socket.AF_UNIX) for _ in range(4)]
        for each in silent:
            each.connect(str(engine.path))
        threads = [
            threading.Thread(target=lambda: found.append(ask(engine.path, List())))
            for _ in range(30)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        for each in silent:
            each.close()
        assert 30 == len(found)


WRONG = [
    b"",
    b"\n",
    b"{}\n",
    b"[]\n",
    b'{"do": "erase"}\n',
    b'{"do": "list", "all": true}\n',
    b'{"do": "list", "do": "drain"}\n',
    b'{"do": "show"}\n',
    b'{"do": "show", "claim_id": 1}\n',
    b'{"do": "show", "claim_id": "\\ud800"}\n',
    b'{"do": "quotas", "change": {"blocks": -1}}\n',
    b'{"do": "quotas", "change": {"duration": "soon"}}\n',
    b'{"do": "quotas", "lift": ["owner"]}\n',
    b"[" * 60_000,
    b"x" * (MOST_ASKED + 1_000),
    b'{"do": "show", "claim_id": "' + b"x" * 2_000 + b'"}\n',
]


@pytest.mark.parametrize("sent", WRONG, ids=lambda sent: repr(sent[:30]))
def test_wrong(operate: Make, sent: bytes) -> None:
    """What is no request is answered with the reason, and reaches no engine."""
    engine = operate()
    failure = answer(engine, sent).failure
    assert failure is not None
    assert 2 == failure.code
    assert "this is no request" in failure.message
    assert not engine.engine.controller.inbox


@given(st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_bytes(sent: bytes) -> None:
    """Whatever comes is a request or a ValueError."""
    try:
        read_request(sent)
    except ValueError:
        return
    assert msgspec.json.decode(sent)["do"] in ("list", "drain", "quotas", "show", "release")


def test_begun(operate: Make) -> None:
    """A request that the engine began with and does not end is not said to be undone."""
    engine, goes = operate(wait_s=0.2), threading.Event()
    operator = engine.engine.controller.operator
    whole = operator.claims

    def slow(owner: str = "") -> ClaimsPage:
        goes.wait(30)
        return whole(owner)

    operator.claims = slow  # type: ignore[method-assign]
    with pytest.raises(Refused) as caught:
        ask(engine.path, List())
    goes.set()
    assert 3 == caught.value.code
    assert "has begun with it, and not ended" in str(caught.value)
