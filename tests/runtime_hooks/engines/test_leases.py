"""Tests of runtime_hooks.engines.shared.loads: what is noted of leases, by a connector's words."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from runtime_hooks.engines.shared.loads import LoadHooks
from runtime_hooks.trace.file import NewFile
from runtime_hooks.trace.leases import LeaseLine, LeaseLog


def params(request: str) -> dict[str, Any]:
    """What NixlConnector answers when a request leaves its blocks."""
    ids = {"remote_engine_id": "e", "remote_request_id": request}
    return {**ids, "remote_block_ids": [[1, 2], [3]]}


@pytest.fixture
def hooks(tmp_path: Path) -> LoadHooks:
    requests = {"r": SimpleNamespace(kv_transfer_params=params("p"))}
    scheduler = SimpleNamespace(
        requests={**requests, "own": SimpleNamespace(kv_transfer_params={})}
    )
    blocks: Any = None
    return LoadHooks(scheduler, blocks, LeaseLog(str(tmp_path / "t")))


def noted(tmp_path: Path) -> list[LeaseLine]:
    lines = (tmp_path / "t").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=LeaseLine) for line in lines]


def transfers(*sent: str, received: tuple[str, ...] = (), expired: int = 0) -> Any:
    """What a step reports."""
    stats = SimpleNamespace(data={"num_kv_expired_reqs": [1] * expired}) if expired else None
    return SimpleNamespace(
        finished_sending={*sent} or None,
        finished_recving={*received} or None,
        kv_connector_stats=stats,
    )


@pytest.mark.parametrize(("expired", "said"), [(0, False), (1, None), (3, True)])
def test_expired(hooks: LoadHooks, tmp_path: Path, expired: int, said: bool | None) -> None:
    """Whether leases expired is known where all that ended in a step did, or none."""
    for name in ("a", "b"):
        hooks._lease(SimpleNamespace(request_id=name), params(name))
    hooks._note(transfers("a", "b", "not a lease", expired=expired))
    began, ended = noted(tmp_path)[:2], noted(tmp_path)[2:]
    assert [("e/a", 3), ("e/b", 3)] == [(line.lease, line.blocks) for line in began]
    assert [("e/a", said), ("e/b", said)] == [(line.lease, line.expired) for line in ended]


@pytest.mark.parametrize("data", [None, [], {"num_kv_expired_reqs": 1}, {"other": [1]}])
def test_statistics(hooks: LoadHooks, tmp_path: Path, data: Any) -> None:
    """Statistics of another connector are none of leases that expired."""
    hooks._lease(SimpleNamespace(request_id="a"), params("a"))
    step = transfers("a")
    step.kv_connector_stats = SimpleNamespace(data=data)
    hooks._note(step)
    assert [None, False] == [line.expired for line in noted(tmp_path)]


@pytest.mark.parametrize("ids", [None, [], [1, 2]])
def test_no_blocks(hooks: LoadHooks, tmp_path: Path, ids: Any) -> None:
    """A lease whose parameters do not list blocks by group is noted without their number."""
    hooks._lease(SimpleNamespace(request_id="a"), {**params("a"), "remote_block_ids": ids})
    (line,) = noted(tmp_path)
    assert ("e/a", 0) == (line.lease, line.blocks)


def test_read(hooks: LoadHooks, tmp_path: Path) -> None:
    """A read names its lease and its request; a load that is of no lease leaves no line."""
    hooks._note(transfers(received=("own",)))
    assert [] == [*tmp_path.iterdir()]
    hooks._note(transfers(received=("own", "r")))
    (line,) = noted(tmp_path)
    assert ("read_ended", "e/p", "r") == (line.kind, line.lease, line.reader)


@pytest.mark.parametrize("given", [None, {}, {"remote_engine_id": 1, "remote_request_id": "p"}])
def test_none(hooks: LoadHooks, tmp_path: Path, given: Any) -> None:
    """Parameters that name no lease leave no line."""
    hooks._lease(SimpleNamespace(request_id="a"), given)
    assert [] == [*tmp_path.iterdir()]


def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full, now that a line was written."""

    def write(self: NewFile, lines: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(NewFile, "write", write)


@pytest.mark.parametrize("there", [True, False])
def test_unwritable(
    hooks: LoadHooks,
    tmp_path: Path,
    there: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A file that cannot be made or written is logged once and not raised, so that the trace of
    claims has no gap."""
    if there:
        (tmp_path / "t").write_bytes(b"")
    else:
        hooks._lease(SimpleNamespace(request_id="a"), params("a"))
        full(monkeypatch)
    for name in ("b", "c"):
        hooks._lease(SimpleNamespace(request_id=name), params(name))
    assert (0 if there else 1) == len(noted(tmp_path))
    (logged,) = caplog.messages
    assert "no more leases are noted" in logged
