"""Tests of spec.claims.durations."""

from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from spec.claims.durations import MAX_TIME, Duration, Instant, TimeUnit
from spec.language.errors import ClaimError

SECONDS = st.one_of(
    st.integers(1, MAX_TIME), st.floats(0, 1e18, exclude_min=True, allow_subnormal=False)
).map(lambda value: Duration(unit=TimeUnit.SECONDS, value=value))
STEPS = st.integers(1, MAX_TIME).map(lambda value: Duration(unit=TimeUnit.STEPS, value=value))
AS_FIELD = TypeAdapter(Duration)
TENTHS = st.integers(0, 100)


class TestText:
    """Reading and writing times."""

    @given(SECONDS | STEPS)
    def test_round_trip(self, duration: Duration) -> None:
        """A duration reads back from its text, its fields and its JSON."""
        assert duration == Duration.parse(str(duration))
        assert duration == Duration(unit=duration.unit, value=duration.value)
        assert duration == AS_FIELD.validate_json(AS_FIELD.dump_json(duration))

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("15 s", "15 s"),
            ("15.0 seconds", "15 s"),
            ("1e3 second", "1000 s"),
            ("0.25s", "0.25 s"),
            ("60 steps", "60 steps"),
            ("1 step", "1 steps"),
        ],
    )
    def test_canonical(self, text: str, expected: str) -> None:
        """Spellings of a unit come to one."""
        assert expected == str(Duration.parse(text))

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("15", "not a number with a unit"),
            ("", "not a number with a unit"),
            ("-1 s", "not a number with a unit"),
            ("nan s", "not a number with a unit"),
            ("1" * 65 + " s", "not a number with a unit"),
            ("15 ms", "there is no unit 'ms'"),
            ("0 s", "a duration of zero"),
            ("1e400 s", "not finite or too large"),
            ("12345678.123456789 s", "too many digits"),
            ("9223372036854775808 steps", "not finite or too large"),
            ("1.5 steps", "not a whole number of steps"),
        ],
    )
    def test_junk(self, text: str, reason: str) -> None:
        """Text that is no duration is a ClaimError with a remedy."""
        with pytest.raises(ClaimError) as caught:
            Duration.parse(text)
        assert reason in caught.value.cause
        assert caught.value.remedy

    @pytest.mark.parametrize(
        "data",
        [
            15,
            True,
            None,
            {"value": 15},
            {"unit": "seconds"},
            {"unit": "seconds", "value": "15"},
            {"unit": "seconds", "value": True},
            {"unit": "seconds", "value": float("nan")},
            {"unit": "seconds", "value": float("inf")},
            {"unit": "seconds", "value": -1},
            {"unit": "blocks", "value": 1},
            {"unit": "seconds", "value": 1, "steps": 1},
        ],
    )
    def test_absurd(self, data: object) -> None:
        """A number without a unit, or no finite number, is no duration."""
        with pytest.raises(ValidationError):
            AS_FIELD.validate_python(data)

    def test_zero_instant(self) -> None:
        """A clock may read 0, though no duration is 0."""
        assert "0 steps" == str(Instant.parse("0 steps"))


class TestOver:
    """Whether a duration has passed."""

    @given(TENTHS, TENTHS, st.integers(1, 100))
    def test_decimal(self, since: int, elapsed: int, length: int) -> None:
        """It is over at its last tenth of a second and not before, without float error."""

        def text(tenths: int) -> str:
            return f"{Decimal(tenths) / 10} s"

        over = Duration.parse(text(length)).over(
            since=Instant.parse(text(since)), now=Instant.parse(text(since + elapsed))
        )
        assert (elapsed >= length) == over

    @given(*[st.sampled_from(("1 s", "1 steps"))] * 3)
    def test_units(self, length: str, since: str, now: str) -> None:
        """Units are never mixed."""
        assume(len({length, since, now}) > 1)
        with pytest.raises(ClaimError, match="read the clock in"):
            Duration.parse(length).over(since=Instant.parse(since), now=Instant.parse(now))


@pytest.mark.parametrize(
    ("text", "length"), [("0.5 s", 500_000_000), ("1.5e-9 s", 2), ("3 s", 3 * 10**9)]
)
def test_nanoseconds(text: str, length: int) -> None:
    """What is over before its last fraction of a nanosecond is over too early."""
    assert length == Duration.parse(text).nanoseconds
