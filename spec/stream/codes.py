"""Lists the reasons of an inconclusive verdict: a code, a name, and what to do about it."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

__all__ = ["CODES", "Code", "Reason"]


class Code(Enum):
    """A reason for which nothing is concluded: its number, and what to do about it.

    RC1 reasons are breaks: they concern every claim that is alive, but for RC130 and, of a report,
    RC118, which concern the claim alone. RC2 reasons concern one claim, RC3 reasons one obligation
    of it, RC4 reasons all that was read.
    """

    LINES_MISSING = 101, "record every line, or restate what stands after a loss (stream_restated)"
    OUT_OF_ORDER = 102, "write events in the order of their sequence numbers, or use --reorder"
    NOT_UNDERSTOOD = 103, "mend the line, or teach the reader its form"
    CLAIMS_LIMIT = 104, "raise the limit of claims that have not ended (--max-live)"
    STREAM_CUT = 105, "read the stream to its end: its last line is stream_closed"
    NEW_RUN = 106, "expected after a restart: claims of the run before ended with it"
    TWO_FORMS = 107, "write one form into one stream"
    REQUESTS_LIMIT = 108, "raise the limit of requests that have not ended (--max-requests)"
    TIME_BACKWARDS = 109, "state time_ns by one clock, which never goes backwards"
    ENTRY_CONTRADICTS = 110, "look for a missed or invented entry, block or copy of the claim"
    BLOCK_HOLDS_TWO = 111, "state the end of a block before it is stated with other content"
    BLOCK_NOT_HELD = 112, "state where each block was cached before it is evicted or lost"
    COPY_NOT_THERE = 113, "state each store before its copy is loaded or lost"
    LOOKUP_CONTRADICTS = 114, "state every copy and every loss; a look-up found something else"
    REUSE_NOT_HELD = 115, "state where the blocks were cached or loaded that are reused"
    REQUEST_CONTRADICTS = 116, "state the arrival and the end of each request, once each"
    KEYS_CONTRADICT = 117, "state one content for each position, one identity for each key"
    IDENTITY_CONTRADICTS = 118, "state facts about the object that the claim was registered with"
    DURATION_CONTRADICTS = 119, "let a duration elapse when it is over by the clock of the stream"
    OBJECT_AMBIGUOUS = 120, "state the cache identity: two objects have this id"
    NOTHING_NAMED = 121, "name the claim, the object, the keys or known blocks"
    UNCLEAR_AMOUNT = 122, "state how many blocks a load brought back, or which"
    GROUPS_CONTRADICT = 123, "list all groups of caches in stream_opened"
    COPY_ON_GPU = 124, "state the tier of the copy, such as cpu: a block on the GPU is no copy"
    BLOCKS_LIMIT = 125, "state the end of each block and copy; too many are held"
    UNKNOWN_POOL = 130, "begin a new run: restate what stands, or restart"
    MODE_CONTRADICTS = 201, "accept a claim in the mode that it asked for"
    NOT_REGISTERED = 202, "register a claim before reports name it"
    ID_REUSED = 203, "use a new id for a new claim"
    TERMS_CONTRADICT = 204, "state one owner, one duration and one priority of a claim"
    DURATION_UNTIMED = 205, "state time_ns on every line while a duration runs, or its end"
    TERMS_MISSING = 206, "state the object and the predicate of a claim when it is registered"
    FORM_OMITS = 207, "record a form that states this"
    KEYS_FORGOTTEN = 208, "state the keys of each claim; those of another object were forgotten"
    NEXT_STEP_UNKNOWN = 301, "state the field on which the rule depends"
    NOT_OBSERVED = 302, "observe these facts, and list them in observes of stream_opened"
    FORM_OMITS_FIELD = 303, "record a form that states this"
    REQUEST_FORGOTTEN = 304, "report what a request came to before 32 later ones of the claim end"
    LINES_LATE = 401, "use a larger window of --reorder"
    CLAIM_ABSENT = 402, "name a claim that occurs, or leave out --claim"
    RUN_CONTINUES = 403, "check the files of a run as one: cat FILE... | resident-claims check -"
    NONE_ACCEPTED = 404, "state claim_accepted of each claim"
    NONE_REGISTERED = 405, "state claim_registered of each claim"
    OTHER_MODES = 406, "leave out --mode, and each claim is judged by the mode that it states"
    NO_MODE = 407, "state a mode of the contract for each claim, or give --mode"

    @property
    def number(self) -> str:
        """The code as reports print it, such as `RC101`."""
        return f"RC{self.value[0]}"

    @property
    def title(self) -> str:
        """The name of the reason, such as `lines-missing`."""
        return self.name.lower().replace("_", "-")

    @property
    def concerns(self) -> str:
        """What is inconclusive for this reason."""
        if self is Code.UNKNOWN_POOL:
            return _CONCERNS["2"]
        if self is Code.IDENTITY_CONTRADICTS:
            return f"{_CONCERNS['1']}; the claim alone, where a report contradicts"
        return _CONCERNS[self.number[2]]

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return self.value[1]


_CONCERNS: Final = {
    "1": "every claim that is alive",
    "2": "one claim",
    "3": "one obligation of a claim",
    "4": "all that was read",
}

CODES: Final = {code.number: code for code in Code}
"""The reasons, by the codes that reports print."""


class Reason(NamedTuple):
    """Why nothing is concluded from a line on; `at` is the place of the line."""

    code: Code
    text: str
    at: object = None
