"""Words that a first reader would not guess: each is used as often as it is pinned here, or less.

They stand for something else than they say, in names and in prose. A new use needs another word.
Lower a pin when uses are taken away.
"""

import re
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]

MOST: Final = {
    "alike": 140,
    "kin": 0,
    "guest": 0,
    "mates": 0,
    "strayed": 0,
    "elder": 0,
    "brought": 76,
    "restless": 0,
    "smear": 0,
    "alleges": 0,
    "stranger": 7,
    "tied": 20,
    "stood": 10,
    "spared": 23,
    "unsaid": 3,
    "doubt": 127,
    "told": 45,
    "tell": 50,
    "room": 108,
    "seen": 329,
    "nothing": 605,
}
"""How often each word may be used; of `guest`, `doubt` and `tell` with an `s` behind them too."""

PLURAL: Final = frozenset({"guest", "doubt", "tell"})
LEFT_OUT: Final = (":!tests", ":!tests_vllm", ":!CHANGELOG.md")  # it names what was renamed
WORD: Final = re.compile(r"[a-z]+")


@cache
def used() -> Counter[str]:
    """How often each word is used in the tracked files that are no tests, and not the changelog.

    Words are parts of a name, too: an underscore ends one.
    """
    listed = ["git", "ls-files", "-z", "--", "*.py", "*.md", "*.rs", *LEFT_OUT]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    found: Counter[str] = Counter()
    for name in names.rstrip("\0").split("\0"):
        found.update(WORD.findall((ROOT / name).read_text(encoding="utf-8").lower()))
    for word in PLURAL:
        found[word] += found.pop(f"{word}s", 0)
    return found


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="files are tracked in a repository only")
class TestWords:
    """The pins, word by word."""

    @pytest.mark.parametrize("word", MOST)
    def test_no_more(self, word: str) -> None:
        """No discouraged word is used more often than its pin."""
        assert used()[word] <= MOST[word], f"use another word than `{word}`"
