"""Defines durations and instants, each with its unit."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Self

from spec.language.errors import ClaimError

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

__all__ = ["MAX_TIME", "Duration", "Instant", "TimeUnit"]

MAX_TIME: Final = 2**63 - 1
"""Largest duration or instant, in its own unit."""

_MAX_TEXT: Final = 64
_NS: Final = 1_000_000_000
_REMEDY: Final = "write a number and its unit, such as '15 s' or '60 steps'"
_TEXT: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]+)\s*")


class TimeUnit(StrEnum):
    """What a clock counts: monotonic seconds, or scheduler steps."""

    SECONDS = "seconds"
    STEPS = "steps"


_UNITS: Final = {
    **dict.fromkeys(("s", "second", "seconds"), TimeUnit.SECONDS),
    **dict.fromkeys(("step", "steps"), TimeUnit.STEPS),
}


@dataclass(frozen=True, kw_only=True)
class _Time:
    """A finite number of one unit, from 0 to MAX_TIME; its text form is `15 s` or `60 steps`.

    No pydantic model, so that judging a stream imports no pydantic; models may have it as a field.
    """

    unit: TimeUnit
    value: int | float

    def __post_init__(self) -> None:
        if self.unit not in tuple(TimeUnit):
            raise ClaimError("there is no such unit", f"use one of {', '.join(TimeUnit)}")
        object.__setattr__(self, "unit", TimeUnit(self.unit))
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ClaimError("it is not a number", "give a number")
        if not 0 <= value <= MAX_TIME:
            raise ClaimError("it is negative, not finite or too large", f"use at most {MAX_TIME}")
        if value == int(value):
            object.__setattr__(self, "value", int(value))
        elif self.unit is TimeUnit.STEPS:
            raise ClaimError("it is not a whole number of steps", "give whole steps, or seconds")

    @classmethod
    def parse(cls, text: str) -> Self:
        """What `text` states, such as `15 s` or `60 steps`; raises ClaimError."""
        if not isinstance(text, str):
            raise ClaimError("it is not a text", _REMEDY)
        unit, value = _split(text)
        return cls(unit=unit, value=value)

    @classmethod
    def _read(cls, data: object) -> Self:
        """The time that a field of a model is given as: itself, its fields, or its text."""
        if isinstance(data, cls):
            return data
        if isinstance(data, int | float):
            raise ClaimError("it has no unit", _REMEDY)
        if isinstance(data, dict):
            if data.keys() != {"unit", "value"}:
                raise ClaimError("its fields are not unit and value", _REMEDY)
            return cls(**data)
        return cls.parse(data)  # type: ignore[arg-type]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            cls._read,
            ref=f"{cls.__module__}.{cls.__qualname__}:{id(cls)}",
            serialization=core_schema.to_string_ser_schema(),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: object, handler: object) -> dict[str, Any]:
        return {"type": "string", "examples": ["15 s", "60 steps"]}

    def __str__(self) -> str:
        return f"{self.value} {'s' if self.unit is TimeUnit.SECONDS else 'steps'}"

    @property
    def exact(self) -> Fraction:
        """The value as its decimal text states it, so that 0.1 and 0.2 make 0.3."""
        return Fraction(str(self.value))

    @property
    def nanoseconds(self) -> int:
        """The least whole number of nanoseconds that is not shorter; of a value in seconds."""
        return math.ceil(self.exact * _NS)


class Instant(_Time):
    """A reading of one clock: monotonic seconds, or scheduler steps; 0 or more."""


class Duration(_Time):
    """How long a claim lasts once accepted: more than 0, in seconds or in steps.

    Source: `duration_steps` of Resident KV Claims, table 2, with seconds beside it.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.value == 0:
            raise ClaimError("a duration of zero", "give a positive one, or leave it out")

    def over(self, *, since: Instant, now: Instant) -> bool:
        """Whether it has passed at `now`, counted from `since`; ClaimError if units differ."""
        if not self.unit == since.unit == now.unit:
            raise ClaimError(
                f"a duration in {self.unit} is measured from {since} to {now}",
                f"read the clock in {self.unit}",
            )
        return now.exact - since.exact >= self.exact


def _split(text: str) -> tuple[TimeUnit, int | float]:
    """The unit and the value that `text` states; raises ClaimError."""
    match = _TEXT.fullmatch(text) if len(text) <= _MAX_TEXT else None
    if match is None:
        raise ClaimError("it is not a number with a unit", _REMEDY)
    number, word = match.groups()
    if word not in _UNITS:
        raise ClaimError(f"there is no unit {word!r}", _REMEDY)
    value = int(number) if number.isdigit() else float(number)
    if math.isfinite(value) and Fraction(number) != Fraction(str(value)):
        raise ClaimError("it has too many digits", "write at most 15 digits")
    return _UNITS[word], value
