"""What the documentation site is made of; `make site` tests the site itself."""

import re

import pytest

from docs_site.pages import nested
from tests.installation import ROOT


class TestNavigation:
    """docs_site/mkdocs.yml"""

    def test_pages(self) -> None:
        """Each page of docs is in the navigation: else `make site` fails."""
        listed = re.findall(
            r"- (docs/[\w-]+\.md)$", (ROOT / "docs_site/mkdocs.yml").read_text(), re.M
        )
        pages = [f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")]
        assert sorted(pages) == sorted(listed)


class TestNested:
    """nested"""

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (
                "1. a\n\n   ```\n   b\n     c\n   ```\n\nd\n",
                "1. a\n\n    ```\n    b\n      c\n    ```\n\nd\n",
            ),
            ("* a\n  * b\n    c\n* d\n", "* a\n    * b\n        c\n* d\n"),
            ("```\n* a\n  * b\n```\n", "```\n* a\n  * b\n```\n"),
        ],
    )
    def test_columns(self, text: str, expected: str) -> None:
        """What is in a list has four columns a level; a block of code keeps its own columns."""
        assert expected == nested(text)
