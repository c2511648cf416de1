"""Defines the errors of the specification's language, and checks the types of given values."""

__all__ = [
    "ClaimError",
    "DescriptorError",
    "DocumentError",
    "DrawingError",
    "LifecycleError",
    "OutputError",
    "OwnershipError",
    "PredicateError",
    "SpecError",
    "UnknownName",
    "require",
    "type_name",
]


class SpecError(ValueError):
    """Root of the errors of `spec`: a cause and, where there is one, a remedy.

    It is a ValueError so that a validator may raise it and pydantic collect it.
    """

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(cause, remedy)
        self.cause = cause
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.cause}; {self.remedy}" if self.remedy else self.cause


class ClaimError(SpecError):
    """A claim, a cache identity, a duration or a decision is not well formed."""


class PredicateError(SpecError):
    """A materialization predicate is not well formed, or its unit cannot be resolved."""


class OwnershipError(SpecError):
    """An actor tried what only another actor may do."""


class DescriptorError(SpecError):
    """A description of a runtime, or evidence about it, is not well formed.

    `at` is the path from the part that was validated to the part that is wrong.
    """

    def __init__(self, cause: str, remedy: str = "", *, at: tuple[str | int, ...] = ()) -> None:
        super().__init__(cause, remedy)
        self.at = at


class DocumentError(SpecError):
    """A document cannot be read. `line` counts from 1."""

    def __init__(self, cause: str, remedy: str = "", *, line: int = 1) -> None:
        super().__init__(cause, remedy)
        self.line = line


class LifecycleError(SpecError):
    """A step does not exist in the state the claim is in, or not at that time."""


class UnknownName(SpecError):
    """A name that a person typed is none of those there are."""


class DrawingError(SpecError):
    """A diagram cannot be turned into a picture: no program draws, or the one there is failed."""


class OutputError(SpecError):
    """A file cannot be written, or read back to be compared."""


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
