"""Defines the lines of live verdicts.

A verdict is a line of JSON of the form `resident-claims/live/2`; `python -m monitor follow` reads
them from the process that judges. The last line is of the form `resident-claims/live-end/1`.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from spec.claims.states import Mode
from spec.language.verdicts import Verdict

__all__ = ["Limited", "LiveEnd", "LiveLimit", "LiveLine", "LiveVerdict"]

Text = Annotated[str, Meta(max_length=4096)]
Limited: TypeAlias = Literal["live", "requests", "ids"]
"""What is limited."""


class LiveVerdict(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    tag_field="schema",
    tag="resident-claims/live/2",
):
    """One claim in one period of a stream, judged by the mode that it states, as it stands.

    `obligations` are those that were exercised. `heaviest` names the one that decides, and `why`
    and `sequence` are its; it is empty where nothing is owed to the claim. `code` is the code of
    the reason where nothing is concluded. `period` counts the runs of the stream from 1. Of a claim
    that is `forgotten` no more is emitted unless another event names it; `final` is the last
    verdict of all when the stream ends.
    """

    stream: Text
    claim_id: Text
    mode: Mode
    state: Text
    verdict: Verdict
    obligations: dict[str, Verdict] = {}
    heaviest: Text = ""
    why: Text = ""
    sequence: int | None = None
    forgotten: bool = False
    final: bool = False
    period: int = 1
    code: Text = ""


class LiveLimit(
    msgspec.Struct, frozen=True, tag_field="schema", tag="resident-claims/live-limit/2"
):
    """The stream reached a limit; `why` says what is given up, and `sequence` is of the last event
    by then.

    One more claim or request in hand than this breaks the stream. Where `ids` of claims that ended
    were forgotten, a claim of such an id that begins again is another claim.
    """

    stream: Text
    limit: Limited
    why: Text
    sequence: int | None = None


class LiveEnd(msgspec.Struct, frozen=True, tag_field="schema", tag="resident-claims/live-end/1"):
    """The stream has ended, and every claim's last verdict has been emitted."""

    stream: Text


LiveLine: TypeAlias = LiveVerdict | LiveLimit | LiveEnd
