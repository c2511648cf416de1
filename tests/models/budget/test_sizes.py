"""Tests of sizes."""

import pytest

from models.budget.sizes import MOST, in_binary, parse_size
from spec.language.errors import SpecError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("11328937984", 11_328_937_984),
        ("10.55GiB", 11_327_976_243),
        ("64 GiB", 64 << 30),
        ("80GB", 80 * 10**9),
        ("0.5KiB", 512),
        ("1048576TiB", MOST),
    ],
)
def test_parse(text: str, expected: int) -> None:
    """Units are binary and decimal; a fraction of a byte is dropped."""
    assert expected == parse_size(text)


@pytest.mark.parametrize(
    "text",
    ["", "GiB", "-1", "1e9", "10.55", "10,5GiB", "1 gib", "0.4", "0.4B", "1048577TiB", "9" * 21,
     "1GiB\n", "¹GiB"],
)  # fmt: skip
def test_refused(text: str) -> None:
    """What is no size, below a byte, over 2^60 bytes or a fraction without a unit is refused."""
    with pytest.raises(SpecError):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "expected"),
    [(512, "512 bytes"), (2 << 20, "2 MiB"), (11_328_937_984, "10.55 GiB"), (1536, "1.50 KiB")],
)
def test_written(size: int, expected: str) -> None:
    """Bytes are written in the largest unit of which there is one."""
    assert expected == in_binary(size)
