"""Tests of spec.claims.predicates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.claims.predicates import (
    MAX_BLOCKS,
    MAX_TEXT,
    ContiguousRange,
    LeadingPrefixAtLeast,
    MaterializationPredicate,
    parse_predicate,
)
from spec.language.errors import PredicateError

PREDICATES = st.one_of(
    st.integers(1, MAX_BLOCKS).map(LeadingPrefixAtLeast),
    st.integers(0, MAX_BLOCKS - 1).flatmap(
        lambda start: st.integers(1, MAX_BLOCKS - start).map(
            lambda blocks: ContiguousRange(start, blocks)
        )
    ),
)
SMALL = st.one_of(
    st.integers(1, 8).map(LeadingPrefixAtLeast),
    st.builds(ContiguousRange, st.integers(0, 8), st.integers(1, 8)),
)
POSITIONS = st.lists(st.integers(-2, 18), max_size=40)


class TestTruth:
    """When a predicate holds."""

    @given(SMALL, POSITIONS)
    def test_definition(self, predicate: MaterializationPredicate, positions: list[int]) -> None:
        """It holds exactly when no required position is missing, in whatever collection."""
        needed = [predicate.start + offset for offset in range(predicate.threshold)]
        expected = [position for position in needed if position not in positions] == []
        collections = (positions, tuple(positions), set(positions), dict.fromkeys(positions))
        assert [expected] * 4 == [predicate.holds(held) for held in collections]

    @given(SMALL, POSITIONS, POSITIONS)
    def test_monotone(
        self, predicate: MaterializationPredicate, positions: list[int], more: list[int]
    ) -> None:
        """More positions never make it false."""
        assert not predicate.holds(positions) or predicate.holds(positions + more)

    def test_count_is_not_enough(self) -> None:
        """Without position 0, 59 surviving blocks of 60 hold no leading prefix."""
        survivors = range(1, 60)
        assert 59 == len(survivors)
        assert not LeadingPrefixAtLeast(40).holds(survivors)
        assert ContiguousRange(1, 59).holds(survivors)

    def test_vast_predicate_is_cheap(self) -> None:
        """The largest predicate is answered without walking its two thousand million blocks."""
        assert not LeadingPrefixAtLeast(MAX_BLOCKS).holds([0, 1, 2])
        assert not ContiguousRange(1, MAX_BLOCKS - 1).holds(range(2, MAX_BLOCKS + 1))

    def test_shape(self) -> None:
        """Start, threshold and end are in blocks."""
        prefix, span = LeadingPrefixAtLeast(40), ContiguousRange(8, 16)
        assert (0, 40, 40) == (prefix.start, prefix.threshold, prefix.end)
        assert (8, 16, 24) == (span.start, span.threshold, span.end)


class TestBounds:
    """Which predicates can be made."""

    @pytest.mark.parametrize(
        "blocks", [0, -1, MAX_BLOCKS + 1, pytest.param(10**5000, id="huge"), True, 1.0, "4"]
    )
    def test_absurd_blocks(self, blocks: int) -> None:
        """A size that is no block count is an error that names blocks and gives a remedy."""
        with pytest.raises(PredicateError, match=r"^blocks is .*; give a ") as caught:
            LeadingPrefixAtLeast(blocks)
        assert len(str(caught.value)) < 200

    def test_absurd_start(self) -> None:
        """A range neither starts before 0 nor ends past the last block."""
        with pytest.raises(PredicateError, match=r"^start is -1, out of range"):
            ContiguousRange(-1, 1)
        with pytest.raises(PredicateError, match=r"^start \+ blocks is 2147483648"):
            ContiguousRange(MAX_BLOCKS, 1)


class TestText:
    """Reading and writing predicates."""

    @given(PREDICATES)
    def test_round_trip(self, predicate: MaterializationPredicate) -> None:
        """The text of a predicate reads back as that predicate."""
        assert predicate == parse_predicate(str(predicate))

    @given(SMALL, st.integers(1, 64))
    def test_tokens(self, predicate: MaterializationPredicate, size: int) -> None:
        """The same predicate in tokens reads back in blocks of that size."""
        tokens = [f"{number * size} tokens" for number in (predicate.start, predicate.blocks)]
        if isinstance(predicate, LeadingPrefixAtLeast):
            text = f"leading_prefix_at_least({tokens[1]})"
        else:
            text = f"contiguous_range({', '.join(tokens)})"
        assert predicate == parse_predicate(text, block_size=size)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("leading_prefix_at_least(640 tokens)", "leading_prefix_at_least(40)"),
            ("leading_prefix_at_least(40 blocks)", "leading_prefix_at_least(40)"),
            ("leading_prefix_at_least(1block)", "leading_prefix_at_least(1)"),
            (" contiguous_range ( 8,16 ) ", "contiguous_range(8, 16)"),
            ("contiguous_range(8, 16 blocks)", "contiguous_range(8, 16)"),
            ("contiguous_range(0 tokens, 16 tokens)", "contiguous_range(0, 1)"),
        ],
    )
    def test_canonical(self, text: str, expected: str) -> None:
        """Units and spaces are read, and written back as blocks."""
        assert expected == str(parse_predicate(text, block_size=16))

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("", "is not a predicate"),
            ("40", "is not a predicate"),
            ("leading_prefix_at_least", "did you mean leading_prefix_at_least?"),
            ("leading_prefix_at_least(40", "did you mean leading_prefix_at_least?"),
            ("leading_prefix_atleast(40)", "did you mean leading_prefix_at_least?"),
            ("Leading-Prefix-At-Least(40)", "did you mean leading_prefix_at_least?"),
            ("contigous_range(8, 16)", "did you mean contiguous_range?"),
            ("blocks(40)", "no predicate is called 'blocks'; write leading_prefix_at_least(k)"),
            ("leading_prefix_at_least()", "takes 1 number(s), not 0"),
            ("leading_prefix_at_least(1, 2)", "takes 1 number(s), not 2"),
            ("contiguous_range(8)", "takes 2 number(s), not 1"),
            ("leading_prefix_at_least(-1)", "'-1' is not a size"),
            ("leading_prefix_at_least(1.5)", "'1.5' is not a size"),
            ("leading_prefix_at_least(4٠)", "is not a size"),
            ("leading_prefix_at_least(40 pages)", "'40 pages' is not a size"),
            ("leading_prefix_at_least(0)", "blocks is 0, out of range"),
            ("leading_prefix_at_least(2147483648)", "blocks is 2147483648, out of range"),
            (f"leading_prefix_at_least({'9' * 90})", "over 20 digits, out of range"),
            ("leading_prefix_at_least(641 tokens)", "641 tokens are not a whole number of blocks"),
            ("contiguous_range(8 blocks, 256 tokens)", "blocks and tokens are mixed"),
            ("contiguous_range(128, 256 tokens)", "blocks and tokens are mixed"),
            ("x" * (MAX_TEXT + 1), "129 characters long, more than 128"),
        ],
    )
    def test_junk(self, text: str, reason: str) -> None:
        """Text that is no predicate is an error with its cause and a remedy."""
        with pytest.raises(PredicateError) as caught:
            parse_predicate(text, block_size=16)
        assert reason in str(caught.value)
        assert caught.value.remedy

    def test_tokens_need_a_block_size(self) -> None:
        """Tokens without a usable block size are an error, never a guess."""
        with pytest.raises(PredicateError, match="needs block_size"):
            parse_predicate("leading_prefix_at_least(640 tokens)")
        with pytest.raises(PredicateError, match="block_size is 0"):
            parse_predicate("leading_prefix_at_least(640 tokens)", block_size=0)

    @given(st.text(max_size=200))
    def test_any_text(self, text: str) -> None:
        """Whatever the text, it is read or it is a PredicateError."""
        try:
            predicate = parse_predicate(text, block_size=16)
        except PredicateError:
            return
        assert predicate == parse_predicate(str(predicate))
