"""Reads and draws the distributions of a generated workload, such as `lognormal(1.5,0.8)`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spec.language.errors import SpecError
from spec.language.suggest import resolve

if TYPE_CHECKING:
    from random import Random

__all__ = ["FORMS", "Distribution", "parse_distribution"]

MOST: Final = 1e6

FORMS: Final = {
    "constant": ("value",),
    "uniform": ("low", "high"),
    "exponential": ("mean",),
    "lognormal": ("median", "sigma"),
}
"""The distributions with their parameters. `sigma` is that of the logarithm."""

_CALL: Final = re.compile(r"([a-z]+)\(([^()]*)\)")
_NUMBER: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})?")


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution of numbers from 0 to a million; what is drawn above is cut there."""

    name: str
    parameters: tuple[float, ...]

    def draw(self, chance: Random) -> float:
        """A number of this distribution."""
        first, *rest = self.parameters
        match self.name:
            case "uniform":
                drawn = chance.uniform(first, *rest)
            case "exponential":
                drawn = chance.expovariate(1 / first) if first else 0.0
            case "lognormal":
                drawn = first * math.exp(chance.gauss(0.0, *rest))
            case _:
                drawn = first
        return min(drawn, MOST)


def parse_distribution(text: str, what: str) -> Distribution:
    """The distribution that a text states; a number alone is constant.

    Args:
        what: the name of the parameter that has it, for the error.

    Raises:
        SpecError: it states none.
    """
    if _NUMBER.fullmatch(text):
        return _checked("constant", (float(text),), what)
    call = _CALL.fullmatch(text)
    if call is None:
        forms = ", ".join(f"{name}({','.join(names)})" for name, names in FORMS.items())
        raise SpecError(f"{what}: {text[:60]!r} is no distribution", f"write one of {forms}")
    name = resolve(call[1], FORMS, what="distribution")
    values = []
    for at, part in enumerate(call[2].split(",")):
        given, equals, number = part.strip().rpartition("=")
        expected = FORMS[name][at : at + 1]
        if (equals and (given.strip(),) != expected) or not _NUMBER.fullmatch(number.strip()):
            form = f"{name}({','.join(FORMS[name])})"
            raise SpecError(f"{what}: {part.strip()[:60]!r} is no parameter", f"write {form}")
        values.append(float(number))
    return _checked(name, tuple(values), what)


def _checked(name: str, values: tuple[float, ...], what: str) -> Distribution:
    form = f"{name}({','.join(FORMS[name])})"
    if len(values) != len(FORMS[name]):
        raise SpecError(f"{what}: {name} has {len(FORMS[name])} parameters", f"write {form}")
    if max(values) > MOST:
        raise SpecError(f"{what}: {max(values):g} is over {MOST:g}", "give a smaller number")
    if name == "uniform" and values[0] > values[1]:
        raise SpecError(f"{what}: {values[0]:g} is over {values[1]:g}", f"write {form}")
    if name == "lognormal" and values[1] > 10:
        raise SpecError(f"{what}: a sigma of {values[1]:g} is over 10", "give a smaller one")
    return Distribution(name, values)
