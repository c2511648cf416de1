"""Defines a claim: its predicate, owner and cache identity, and the runtime's decision."""

import reprlib
import unicodedata
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from pydantic_core import ErrorDetails

from spec.claims.durations import Duration, Instant
from spec.claims.predicates import (
    MAX_BLOCKS,
    ContiguousRange,
    LeadingPrefixAtLeast,
    MaterializationPredicate,
    parse_predicate,
)
from spec.claims.states import Mode
from spec.language.errors import ClaimError, DescriptorError, PredicateError, SpecError
from spec.language.suggest import did_you_mean

__all__ = [
    "MAX_ID",
    "MAX_PRIORITY",
    "CacheIdentity",
    "ClaimDecision",
    "Decision",
    "Problem",
    "ResidentClaim",
    "explain",
    "problems",
]

MAX_ID: Final = 1024
"""Longest identifier, in characters."""

MAX_PRIORITY: Final = 2**31 - 1
"""Highest priority of a claim; the lowest is 0."""


class Decision(StrEnum):
    """What the runtime answered to a claim (Resident KV Claims, table 2)."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    CONDITIONALLY_ACCEPTED = "conditionally_accepted"


_TURNS: Final = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
_MARKS: Final = {"\u061c", "\u200e", "\u200f"}
"""Characters that turn text around, or may: what stands in a log is not what is read there. Letters
of scripts that are written from right to left are none of these.
"""


def _identifier(text: str) -> str:
    """`text` if it can name something on one line; raises ClaimError."""
    if not text.strip():
        raise ClaimError("it is blank", "give a name")
    if len(text) > MAX_ID:
        raise ClaimError(f"it is {len(text)} characters long", f"use at most {MAX_ID}")
    if text.isprintable():  # what holds for nearly all
        return text
    for position, character in enumerate(text):
        if unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}:
            raise ClaimError(
                f"it has the control character U+{ord(character):04X} at {position}", "remove it"
            )
        if unicodedata.bidirectional(character) in _TURNS or character in _MARKS:
            raise ClaimError(
                f"it has U+{ord(character):04X} at {position}, which turns the direction of text",
                "remove it",
            )
    return text


def _salt(text: str) -> str:
    """`text` if it is empty (no salt) or an identifier; raises ClaimError."""
    return text and _identifier(text)


Identifier = Annotated[str, AfterValidator(_identifier)]
Salt = Annotated[str, AfterValidator(_salt)]
BlockCount = Annotated[int, Field(strict=True, ge=1, le=MAX_BLOCKS)]
Priority = Annotated[int, Field(strict=True, ge=0, le=MAX_PRIORITY)]
Predicate = Annotated[
    MaterializationPredicate,
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "examples": ["leading_prefix_at_least(40)"]}),
]


class Record(BaseModel):
    """A value that cannot be changed, with no fields but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CacheIdentity(Record):
    """Which cached blocks are the same blocks: two identities share KV only if equal.

    `namespace` is always given; the empty string says that there is no salt. `block_size` is in
    tokens per block. Source: Resident KV Claims, table 2.
    """

    key_domain: Identifier
    model_id: Identifier
    tokenizer_domain: Identifier
    namespace: Salt
    block_size: BlockCount
    adapter: Identifier | None = None
    prompt_embedding: Identifier | None = None
    kv_format: Identifier | None = None


class ResidentClaim(Record):
    """A request that the runtime keep an object's KV for reuse. `footprint_blocks` is in blocks.

    The predicate is a predicate or its text; tokens in the text are counted in blocks of the
    cache identity. `priority` ranks soft_priority claims; more is higher, and is kept longer.
    Source: Resident KV Claims, table 2.
    """

    claim_id: Identifier
    owner_scope: Identifier
    cache_identity: CacheIdentity
    object_id: Identifier
    materialization_predicate: Predicate
    footprint_blocks: BlockCount
    protection_mode: Mode
    duration: Duration | None = Field(default=None, validate_default=True)
    priority: Priority | None = Field(default=None, validate_default=True)

    @field_validator("materialization_predicate", mode="plain")
    @classmethod
    def _read(cls, value: object, info: ValidationInfo) -> MaterializationPredicate:
        if isinstance(value, LeadingPrefixAtLeast | ContiguousRange):
            return value
        if not isinstance(value, str):
            raise PredicateError("it is not a text", "write it as leading_prefix_at_least(40)")
        identity = info.data.get("cache_identity")
        size = identity.block_size if isinstance(identity, CacheIdentity) else None
        return parse_predicate(value, block_size=size)

    @field_validator("footprint_blocks")
    @classmethod
    def _covers(cls, value: int, info: ValidationInfo) -> int:
        predicate = info.data.get("materialization_predicate")
        if isinstance(predicate, LeadingPrefixAtLeast | ContiguousRange) and value < predicate.end:
            raise ClaimError(
                f"{predicate} needs positions up to {predicate.end - 1}, past the footprint",
                f"claim at least {predicate.end} blocks",
            )
        return value

    @field_validator("duration")
    @classmethod
    def _ends(cls, value: Duration | None, info: ValidationInfo) -> Duration | None:
        if value is None and info.data.get("protection_mode") is Mode.EXPIRING:
            raise ClaimError("an expiring claim has no duration", "give one, such as '15 s'")
        return value

    @field_validator("priority")
    @classmethod
    def _ranks(cls, value: int | None, info: ValidationInfo) -> int | None:
        mode = info.data.get("protection_mode")
        if value is None and mode is Mode.SOFT_PRIORITY:
            raise ClaimError("a soft_priority claim has no priority", "give one; more is higher")
        if value is not None and mode not in {None, Mode.SOFT_PRIORITY}:
            raise ClaimError(f"a {mode} claim has no rank", "leave it out, or claim soft_priority")
        return value


class ClaimDecision(Record):
    """The runtime's answer to one claim, at an instant that says its unit.

    A rejection and a condition need a reason. Source: Resident KV Claims, table 2.
    """

    claim_id: Identifier
    decision: Decision
    at: Instant
    reason: Identifier | None = Field(default=None, validate_default=True)

    @field_validator("reason")
    @classmethod
    def _explained(cls, value: str | None, info: ValidationInfo) -> str | None:
        decision = info.data.get("decision")
        if value is None and decision in {Decision.REJECTED, Decision.CONDITIONALLY_ACCEPTED}:
            raise ClaimError(f"a claim is {decision} without a reason", "say why")
        return value


_FIELDS: Final = tuple(
    name for model in (ResidentClaim, CacheIdentity, ClaimDecision) for name in model.model_fields
)
_HINTS: Final = {
    "greater_than_equal": "give a larger number",
    "int_type": "give a number, without quotes",
    "json_invalid": "give one JSON object",
    "less_than_equal": "give a smaller number",
    "missing": "give this field",
    "model_type": "give an object with its fields",
    "string_type": "give a text, in quotes",
}
_REPR: Final = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 60


def explain(error: ValidationError) -> list[str]:
    """One line for each problem of `error`: `field.path: reason (got X); hint`."""
    return [problem.line() for problem in problems(error)]


class Problem(NamedTuple):
    """What is wrong, and the path of the part that is.

    `missing` states that a field is missing, perhaps because its name is mistyped.
    """

    path: tuple[int | str, ...]
    missing: bool
    detail: ErrorDetails
    fields: tuple[str, ...]

    def line(self, *, private: bool = False) -> str:
        """Path, reason and hint; made when it is asked for, since there may be very many.

        Args:
            private: leave out the value.
        """
        cause = self.detail.get("ctx", {}).get("error")
        where = ".".join(_part(part) for part in self.path) or "(the whole)"
        got = "nothing" if self.missing else _shown(self.detail["input"])
        if isinstance(cause, DescriptorError):  # it is about a part; the input is the whole
            return f"{where}: {cause}"
        if isinstance(cause, SpecError):
            reason, hint = cause.cause, cause.remedy
        else:
            reason, hint = self.detail["msg"], _hint(self.detail, self.fields)
        value = "" if private else f" (got {got})"
        return f"{where}: {reason}{value}" + (f"; {hint}" if hint else "")


def problems(error: ValidationError, fields: Iterable[str] = ()) -> list[Problem]:
    """The problems of `error`.

    Args:
        fields: the names that a mistyped field may have meant; those of a claim if none.
    """
    known = tuple(fields) or _FIELDS
    return [_problem(detail, known) for detail in error.errors(include_url=False)]


def _problem(detail: ErrorDetails, fields: tuple[str, ...]) -> Problem:
    at = getattr(detail.get("ctx", {}).get("error"), "at", ())
    return Problem((*detail["loc"], *at), detail["type"] == "missing", detail, fields)


def _part(part: int | str) -> str:
    """One step of a field path, quoted and cut short where it is not a plain name."""
    text = str(part)
    return text if text.isidentifier() and len(text) <= MAX_ID else _REPR.repr(part)


def _shown(value: object) -> str:
    """`value` on one line, cut short."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    text = _REPR.repr(value).replace("\n", " ")
    return text if len(text) <= 100 else f"{text[:97]}..."


def _hint(detail: ErrorDetails, fields: tuple[str, ...]) -> str:
    """What would mend a problem that pydantic found by itself."""
    kind = detail["type"]
    if kind == "extra_forbidden":
        return did_you_mean(str(detail["loc"][-1]), fields) or "remove it"
    if kind == "enum":
        words = str(detail.get("ctx", {}).get("expected", "")).replace(" or ", ", ").split(", ")
        names = [word.strip("'") for word in words]
        return did_you_mean(str(detail["input"]), names) or "write one of these names"
    return _HINTS.get(kind, "")
