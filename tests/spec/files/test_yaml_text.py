"""Tests of spec.files.yaml_text."""

import pytest

from spec.files.yaml_text import MOST_BYTES, parse_yaml
from spec.language.errors import DocumentError

BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)
)


class TestValues:
    """What a document says."""

    def test_plain(self) -> None:
        """Texts, whole numbers, booleans, null, lists and maps; anything else is a text."""
        text = (
            b"a: [1, -2, true, ~, 'x', \"1\", 1.3.0rc14, on, 012, 0x1f, 2026-05-01, 1.5]\nb: {}\n"
        )
        assert {
            "a": [
                1,
                -2,
                True,
                None,
                "x",
                "1",
                "1.3.0rc14",
                "on",
                "012",
                "0x1f",
                "2026-05-01",
                "1.5",
            ],
            "b": {},
        } == parse_yaml(text).value

    def test_alias(self) -> None:
        """A few aliases are fine."""
        assert {"a": [1], "b": [1]} == parse_yaml(b"a: &x [1]\nb: *x\n").value

    def test_merge_is_a_key(self) -> None:
        """A merge key is a key like any other."""
        assert {"<<": {"a": 1}} == parse_yaml(b"<<: {a: 1}").value

    def test_lines(self) -> None:
        """Each part has its line; what has none has that of what is around it."""
        document = parse_yaml(b"# head\na:\n  - b: 1\n    c: 2\n")
        assert [2, 2, 3, 4, 4] == [
            document.line(path)
            for path in ((), ("a",), ("a", 0, "b"), ("a", 0, "c"), ("a", 0, "c", "d"))
        ]


class TestRefused:
    """What is not such a document."""

    @pytest.mark.parametrize(
        ("text", "line", "reason"),
        [
            (b"a: 1\na: 2\n", 2, "the key 'a' occurs twice"),
            (b"a:\n  b: 1\n  b: 1\n", 3, "the key 'b' occurs twice"),
            (b"a: !!python/object/apply:os.system [x]\n", 1, "it has a tag"),
            (b"\na: !!str 3\n", 2, "it has a tag"),
            (b"a: !custom {b: 1}\n", 1, "it has a tag"),
            (b"!!map {a: 1}\n", 1, "it has a tag"),
            (b"{!!str a: 1}\n", 1, "a key is not a plain text"),
            (b"? [a]\n: b\n", 1, "a key is not a plain text"),
            (b"", 1, "it is empty"),
            (b"# nothing\n", 1, "it is empty"),
            (b"--- 1\n--- 2\n", 2, "a second document starts"),
            (b"a: [\n", 2, "it is not YAML"),
            (b"a: 1\nb: \x00\n", 1, "it is not YAML"),
            (b"a: 1\n\xff\n", 2, "it is not UTF-8"),
            (b"a: *b\n", 1, "* begins a name that is not defined"),
            (b"a: &a [*a]\n", 1, "* begins a name that is not defined"),
            (b"[" * 2000, 1, "it is nested deeper than 40"),
            (b"[&x 1" + b", *x" * 101 + b"]", 1, "it has over 100 aliases"),
            (BOMB.encode(), 6, "it has over 500000 values"),
            (b" " * (MOST_BYTES + 1), 1, "over 4194304"),
        ],
        ids=lambda value: str(value)[:30],
    )
    def test_refused(self, text: bytes, line: int, reason: str) -> None:
        """It is refused with the line and the reason."""
        with pytest.raises(DocumentError) as caught:
            parse_yaml(text)
        assert reason in str(caught.value)
        assert line == caught.value.line
        assert caught.value.remedy
