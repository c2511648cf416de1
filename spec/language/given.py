"""Checks the types of what a caller gives, where no type checker did."""

from __future__ import annotations

from spec.language.errors import SpecError

__all__ = ["require", "type_name"]


def require(value: object, kind: type | tuple[type, ...], what: str, expected: str) -> None:
    """Raise SpecError unless `value` is of a type.

    Args:
        what: the name of what is given, such as that of the argument.
        expected: what to give instead.
    """
    if not isinstance(value, kind):
        raise SpecError(f"{what} is of type {type_name(value)}", f"give {expected}")


def type_name(value: object) -> str:
    """The name of a value's type as a message has it."""
    return "None" if value is None else type(value).__name__
