"""The benchmark of requests runs on the engine as it is hooked today."""

from __future__ import annotations

import io

from tests.bench_pairs import LEAST
from tests_vllm.bench import Sheet, requests


def test_requests() -> None:
    """Rounds with the monitor, with the hooks alone and bare are compared, whatever they take."""
    sheet = Sheet(io.StringIO())
    requests(sheet, LEAST)
    assert [row["what"] for row in sheet.rows] == [
        "the monitor: a cold request",
        "the hooks: a cold request",
        "hooks and monitor: the product of both",
    ]
