"""Tests of runtime_hooks.claims.inbox: calls of other threads, on the engine's thread."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError, Future

import pytest

from runtime_hooks.claims.inbox import Inbox


class TestInbox:
    def test_order(self) -> None:
        """Calls are carried out in their order, when they are drained and not before."""
        inbox, seen = Inbox(), list[int]()
        done = [inbox.put(lambda n=n: seen.append(n)) for n in range(5)]
        assert inbox
        assert [] == seen
        inbox.drain()
        assert [0, 1, 2, 3, 4] == seen
        assert all(each.done() for each in done)
        assert not inbox

    def test_fault(self) -> None:
        """What a call raises is for its caller, and the next one is carried out."""
        inbox = Inbox()
        first, second = inbox.put(lambda: 1 // 0), inbox.put(lambda: 2)
        inbox.drain()
        assert isinstance(first.exception(), ZeroDivisionError)
        assert 2 == second.result()

    def test_cancelled(self) -> None:
        """A call whose caller waits no more is not carried out."""
        inbox, seen = Inbox(), list[int]()
        done = inbox.put(lambda: seen.append(1))
        assert done.cancel()
        inbox.drain()
        assert [] == seen

    def test_closed(self) -> None:
        """Where the engine ends, calls before and after are cancelled."""
        inbox = Inbox()
        before = inbox.put(lambda: 1)
        inbox.close()
        after = inbox.put(lambda: 2)
        for each in (before, after):
            with pytest.raises(CancelledError):
                each.result(0)
        inbox.drain()

    def test_threads(self) -> None:
        """Of many threads each call is carried out once, on the engine's thread, or cancelled."""
        inbox, engine, ran = Inbox(), threading.get_ident(), list[tuple[int, int]]()
        puts: list[Future[None]] = []

        def put(first: int) -> None:
            for number in range(first, first + 500):
                puts.append(inbox.put(lambda n=number: ran.append((n, threading.get_ident()))))

        threads = [threading.Thread(target=put, args=(1_000 * n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        while len(ran) < 1_000:
            inbox.drain()
        inbox.close()
        for thread in threads:
            thread.join()
        assert {engine} == {ident for _, ident in ran}
        assert len(ran) == len({number for number, _ in ran})
        assert 2_000 == len(puts) == len(ran) + sum(each.cancelled() for each in puts)
