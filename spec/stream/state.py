"""Saves a judge as plain values, which msgpack can hold, and makes it again from them.

What `past` and `news` hold is not saved: it belongs to the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from spec.claims.states import ClaimState, Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.language.verdicts import Verdict
from spec.stream.breaks import Limits
from spec.stream.claim import Claim, Stand
from spec.stream.codes import Code, Reason
from spec.stream.judge import Judge
from spec.stream.outcome import ClaimOutcome, Finding, ModeVerdict
from spec.stream.pool import Group
from spec.stream.value import thaw, whole

__all__ = ["VERSION", "Place", "load", "of_plain", "plain", "save"]

VERSION: Final = 4
"""The form of the values; another one cannot be loaded."""

Place: TypeAlias = Callable[[Any], Any]
"""Turns the place of a line into a plain value, or back."""

_LARGE: Final = 2**63
_SAME: Final = frozenset({str, bool, type(None)})
_ENUMS: Final = (Bundle, ClaimState, Code, Kind, Mode, ModeVerdict, Verdict)
_RECORDS: Final = (ClaimOutcome, Finding, Group, Reason, Stand)
_MADE: Final[dict[str, Callable[[Any], Any]]] = {
    **{"int": int, "set": frozenset, "map": dict},
    **{each.__name__: each.__members__.__getitem__ for each in _ENUMS},
    **{each.__name__: each._make for each in _RECORDS},
}
"""What makes a value from its parts, by the name of what it is. No other value is made."""


def save(judge: Judge, place: Place) -> dict[str, Any]:
    """The state of a judge between two lines."""
    settings = judge.default, judge.bundle, judge.order.first, tuple(judge.limits)
    state = settings, judge.period, tuple(judge.breaks), whole(judge)
    return {"version": VERSION, "state": plain(state, place)}


def load(value: dict[str, Any], place: Place, forget: Callable[[Claim], None]) -> Judge:
    """The judge that `save` was given.

    Args:
        forget: as `Judge` has it.

    Raises:
        ValueError: the value is of another version.
        Exception: it is no such value.
    """
    if value["version"] != VERSION:
        raise ValueError(f"the state has version {value['version']}, and this is {VERSION}")
    settings, period, breaks, state = of_plain(value["state"], place)
    mode, bundle, first, limits = settings
    judge = Judge(mode, bundle, first=first, limits=Limits(*limits), forget=forget)
    judge.period = period
    thaw(judge, state)
    judge.breaks += breaks
    return judge


def plain(value: Any, place: Place) -> Any:
    """A value as lists, texts, numbers and maps of one entry, whose key names what the value is.

    What `_MADE` does not make is the place of a line.
    """
    kind = type(value)
    if kind is tuple:
        return [each if type(each) in _SAME else plain(each, place) for each in value]
    if kind in _SAME or (kind is int and abs(value) < _LARGE):
        return value
    if kind is int:
        return {"int": str(value)}
    if kind in _RECORDS:
        return {kind.__name__: plain(tuple(value), place)}
    if kind in _ENUMS:
        return {kind.__name__: value.name}
    if kind is frozenset:
        return {"set": sorted(plain(tuple(value), place), key=repr)}
    if kind is dict:
        return {"map": plain(tuple(value.items()), place)}
    return {"at": place(value)}


def of_plain(value: Any, place: Place) -> Any:
    """The value that `plain` was given."""
    if type(value) is list:
        nested = list, dict
        return tuple([of_plain(v, place) if type(v) in nested else v for v in value])
    if type(value) is not dict:
        return value
    ((name, parts),) = value.items()
    return place(parts) if name == "at" else _MADE[name](of_plain(parts, place))
