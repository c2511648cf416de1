"""Tests of tests.allocated."""

from __future__ import annotations

from tests.allocated import in_use


def test_in_use() -> None:
    """The memory in use has what each of the two allocators gives out, until it is given back."""
    before = in_use()
    kept = [bytes(95) for _ in range(10_000)], bytearray(1 << 20)  # 128 bytes each, and 2^20
    assert 2_400_000 < in_use() - before < 2_600_000
    del kept
    assert in_use() - before < 100_000
