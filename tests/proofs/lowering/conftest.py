"""The tables of the lowering relation, which are made once."""

from __future__ import annotations

import pytest

from proofs.lowering.universe import Universe


@pytest.fixture(scope="session")
def universe() -> Universe:
    """The tables, without whole rows."""
    return Universe(whole=False)
