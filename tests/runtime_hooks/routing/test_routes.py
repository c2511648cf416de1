"""Tests of routing.routes and routing.prefix: what a rank notes, all who route read."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime_hooks.routing import routes
from runtime_hooks.routing.prefix import prefixes_of
from runtime_hooks.routing.routes import Prefix, RouteLog, RouteTable

END = ".aa.routes"


def log_of(folder: Path, rank: int = 0, ranks: int = 2) -> RouteLog:
    """The file of a rank."""
    return RouteLog(folder / f"{100 + rank}-dp{rank}of{ranks}{END}", 32)


def seen(table: RouteTable) -> dict[int, dict[str, Prefix]]:
    """The claims of each rank, as a table has them; its counts agree."""
    table.refresh()
    found = dict(table.known())
    for known in found.values():
        assert Counter(known.claims.values()) == known.prefixes
        assert Counter(prefix.tokens for prefix in known.claims.values()) == known.lengths
        assert known.routed <= known.prefixes
        assert 0 not in {*known.prefixes.values(), *known.lengths.values(), *known.routed.values()}
    return {rank: dict(known.claims) for rank, known in found.items()}


A, B = Prefix(64, "a"), Prefix(32, "b")


class TestRoutes:
    def test_all_processes(self, tmp_path: Path) -> None:
        """Claims of two ranks are known to two tables at once, and ended ones no more."""
        tables = [RouteTable(tmp_path, END) for _ in range(2)]
        first, second = log_of(tmp_path, 0), log_of(tmp_path, 1)
        first.begin("x", A)
        second.begin("y", None)
        for table in tables:
            assert {0: {"x": A}, 1: {"y": Prefix(0, "")}} == seen(table)
        second.end("y")
        first.begin("z", A)
        first.end("unknown")
        for table in tables:
            assert {0: {"x": A, "z": A}, 1: {}} == seen(table)

    def test_routed(self, tmp_path: Path) -> None:
        """Claims whose routes are reported are counted by prefix, and the block has its size."""
        table, log = RouteTable(tmp_path, END), log_of(tmp_path)
        for name, routed in (("x", True), ("y", True), ("z", False)):
            log.begin(name, A, routed=routed)
        log.begin("w", B)
        seen(table)
        ((_, known),) = table.known()
        assert ({A: 2}, 32) == (known.routed, known.block)
        log.begin("x", A)
        log.end("y")
        seen(table)
        assert {} == known.routed

    def test_others(self, tmp_path: Path) -> None:
        """Files of another server, and engines without ranks, are no routes."""
        RouteLog(tmp_path / "1-dp0of2.bb.routes", 32).begin("x", A)
        RouteLog(tmp_path / "1.aa.routes", 32).begin("x", A)
        assert {} == seen(RouteTable(tmp_path, END))
        assert {} == seen(RouteTable(tmp_path / "none", END))

    def test_ended(self, tmp_path: Path) -> None:
        """A rank that has ended has no routes, and no file."""
        table, log = RouteTable(tmp_path, END), log_of(tmp_path)
        log.begin("x", A)
        assert {0: {"x": A}} == seen(table)
        log.close()
        assert ({}, []) == (seen(table), os.listdir(tmp_path))

    def test_anew(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file that is written anew stays short, and readers follow it."""
        monkeypatch.setattr(routes, "_SPARE", 8)
        early, log = RouteTable(tmp_path, END), log_of(tmp_path)
        assert {0: {}} == seen(early)
        log.begin("stays", A)
        for number in range(100):
            log.begin(f"c{number}", B)
            log.end(f"c{number}")
            if number % 7 == 0:
                assert {0: {"stays": A}} == seen(early)
        assert {0: {"stays": A}} == seen(early) == seen(RouteTable(tmp_path, END))
        (file,) = tmp_path.iterdir()
        assert len(file.read_bytes().splitlines()) < 20

    def test_not_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the file cannot be written the rank has no routes, and goes on."""
        table, log = RouteTable(tmp_path, END), log_of(tmp_path)
        log.begin("x", A)

        def full(*args: object) -> int:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "write", full)
        log.begin("y", B)
        monkeypatch.undo()
        log.begin("z", B)
        assert {} == seen(table)
        RouteLog(tmp_path / "none" / f"1-dp0of2{END}", 32).begin("x", A)

    @pytest.mark.parametrize("content", [b"", b"{", b"\xff\n", b'{"run":1}\n{"claim":3}\n'])
    def test_damaged(self, tmp_path: Path, content: bytes) -> None:
        """A file that is no file of routes has no routes."""
        log_of(tmp_path, 1).begin("x", A)
        (tmp_path / f"1-dp0of2{END}").write_bytes(content)
        assert {1: {"x": A}} == seen(RouteTable(tmp_path, END))

    def test_part(self, tmp_path: Path) -> None:
        """A line that is half written is read when it is whole."""
        path, table = tmp_path / f"1-dp0of2{END}", RouteTable(tmp_path, END)
        path.write_bytes(b'{"run":1}\n{"claim":"x","tok')
        assert {0: {}} == seen(table)
        with path.open("ab") as file:
            file.write(b'ens":64,"digest":"a"}\n')
        assert {0: {"x": A}} == seen(table)


class TestPrefix:
    @given(
        st.lists(st.integers(0, 2**31 - 1), max_size=40),
        st.sets(st.integers(0, 50)),
        st.integers(0, 39),
    )
    @settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
    def test_same(self, tokens: list[int], lengths: set[int], changed: int) -> None:
        """Equal prefixes have equal digests, however they are asked for; others have others."""
        found = [*prefixes_of(tokens, lengths, None, None)]
        assert sorted(n for n in lengths if 0 < n <= len(tokens)) == [p.tokens for p in found]
        alone = [next(prefixes_of([*tokens, 7], [p.tokens], "", None)) for p in found]
        assert alone == found
        if changed < len(tokens):
            other = [*tokens[:changed], tokens[changed] ^ 1, *tokens[changed + 1 :]]
            for before, after in zip(found, prefixes_of(other, lengths, None, None), strict=True):
                assert (before == after) == (before.tokens <= changed)

    def test_apart(self) -> None:
        """Prompts with another salt or adapter share no blocks."""
        pairs: list[tuple[str | None, str | None]] = [(None, None), ("s", None), (None, "s")]
        digests = {next(prefixes_of([1, 2], [2], *pair)) for pair in pairs}
        assert 3 == len(digests)
