"""Posts violations to a web address, each by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from monitor.follow.poster import Poster
from monitor.follow.verdict_line import ViolationLine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monitor.follow.verdict_line import VerdictLine

__all__ = ["Webhook"]

_MAY_HELP: Final = (408, 429)


class Webhook(Poster):
    """Posts each violation as JSON, as it stands in the file of verdicts.

    The header `Idempotency-Key` is the id of the line: what is posted again after a restart has the
    same.
    """

    NAME, POSTS, MOST = "webhook", "violations", 1

    def wants(self, line: VerdictLine) -> bool:
        """Whether it is a violation."""
        return isinstance(line, ViolationLine)

    def content(self, lines: Sequence[VerdictLine]) -> tuple[Mapping[str, str], bytes]:
        """One line."""
        (line,) = lines
        return {"Idempotency-Key": line.id}, msgspec.json.encode(line)

    def retries(self, code: int) -> bool:
        """Whether the answer may change."""
        return code >= 500 or code in _MAY_HELP
