"""Mistakes in the source of the lowering relation, and how to plant them."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import TYPE_CHECKING, Final

from spec.lowering import counting, relation

if TYPE_CHECKING:
    import pytest

__all__ = ["MISTAKES", "UNSEEN", "plant"]

Mistake = tuple[str, str, str]
"""What it is, the words that are replaced, and by what."""

_STATUS: Final = "item.status is not Status.SUPPORTED"
_ADEQUATE: Final = "item.scope not in ADEQUATE"
_MAY: Final = "obligation not in MAY_SUPPLY[place]"
_NATIVE: Final = "descriptor.native, list[Shown]()"
_TABLE: Final = "            return None\n        declared"
_SHOWN: Final = "evidence_shows(evidence, obligation, mode)"
_FIRST: Final = f"            for each in {_SHOWN}:\n"
_VICTIM: Final = 'obligation != "victim_exclusion_before_violation"'
_DEEPER: Final = "reaches(forbidden.up_to, depth)", "reaches(depth, forbidden.up_to)"
_NAMED: Final = "if counts(descriptor, item, obligation, mode)"

MISTAKES: Final[list[tuple[str, str, str]]] = [
    ("fewer anchors", '["it has no anchor"]', "[]"),
    ("weaker status", _STATUS, "item.status is not Status.PARTIAL"),
    ("weaker scope", _ADEQUATE, 'item.scope not in {*ADEQUATE, "docs_only"}'),
    ("weaker runs", "anchor.claim is not ClaimScope", "anchor.claim is ClaimScope"),
    ("fewer preconditions", "if each not in hold]", "if hold and each not in hold]"),
    (
        "fewer statements",
        "any(\n        seen.atom is atom and",
        "all(\n        seen.atom is atom and",
    ),
    ("less depth", *_DEEPER),
    ("all of these", *_DEEPER),
    ("no other rise", *_DEEPER),
    ("signals alone", "if not missing and not by", "if (related or not missing) and not by"),
    ("signals beside", "    if forbidden:", "    if forbidden or related and not missing:"),
    ("untried adapters", _ADEQUATE, 'item.scope not in {*ADEQUATE, "docs_only"}'),
    ("untried native", _ADEQUATE, 'item.scope not in {*ADEQUATE, "source_inspection"}'),
    ("traces are not native", _NATIVE, f"descriptor.native, {_SHOWN}"),
    (
        "traces need an adapter",
        _TABLE,
        f"{_FIRST}                return Supply(obligation, place, each)\n{_TABLE}",
    ),
    ("only what is shown", _STATUS, 'item.status not in {"supported", "partial"}'),
    ("pressure is observed", "if not all(", "if False and not all("),
    ("telemetry", _MAY, f"{_VICTIM} and {_MAY}"),
    ("scheduler alone", _MAY, f"place is not Depth.SCHEDULER_HOOK and {_MAY}"),
    ("allocator alone", _MAY, f"place is not Depth.ALLOCATOR_HOOK and {_MAY}"),
    ("forbidden", "    if forbidden:", "    if forbidden and missing:"),
    ("labels", "return 4, Label.UNKNOWN, None", "return 4, None, None"),
    ("subtypes", "else Subtype.HOOK", "else None"),
]
"""Each theorem with a mistake that refutes it."""

UNSEEN: Final[list[tuple[str, str, str]]] = [
    ("items", "_STATED = frozenset({Status.SUPPORTED,", "_STATED = frozenset({"),
    ("items", "item.obligation == obligation and ", ""),
    ("items", "item.obligation == obligation and ", 'obligation != "route_binding" and '),
    ("pairs of items", _NAMED, f'{_NAMED} and all(i.status != "partial" for i in declared)'),
    ("pairs of items", _NAMED, f"{_NAMED} and item is [*declared][0]"),
    ("preconditions", "if each.anchor is not None}", "}"),
    ("atoms", "seen.atom is atom and", "True and"),
    ("signals", "mode in TEMPTS[signal.signal] and", "True and"),
    ("forbidden mappings", "forbidden.mode is mode and ", ""),
    ("evidence", "or evidence.mode is not mode", ""),
    ("evidence", "shown.obligation == obligation and ", ""),
    ("sets of obligations", "REJECTED_WITHOUT[mode] & missing", "missing"),
    ("sets of obligations", "if not by_adapter and not related", "if not related"),
    ("subtypes", "key=LADDER.index)", "key=lambda each: -LADDER.index(each))"),
    ("obligations at one depth", " or unmet(adapter)", ""),
    (
        "obligations at one depth",
        "if counts(descriptor,",
        "if len(declared) < 3 and counts(descriptor,",
    ),
    (
        "whole rows",
        "related(counted, mode, depth, asked)",
        "related(counted, mode, LADDER[-1], asked)",
    ),
    ("whole rows", "if reaches(depth, place))", "if reaches(depth, place) or place > depth)"),
    ("whole rows", "next((by for by in found", "next((by for by in [*found][::-1]"),
    (
        "whole rows",
        "    asked, lost =",
        "    depth = Depth.NONE if descriptor.name == 'noise' else depth\n    asked, lost =",
    ),
]
"""Mistakes that need not refute a theorem, each with the part of the universe that differs."""


def plant(monkeypatch: pytest.MonkeyPatch, before: str, after: str) -> None:
    """Replace words in the source of the relation, which occur once, and load its functions."""
    sources = {module: inspect.getsource(module) for module in (counting, relation)}
    assert 1 == sum(source.count(before) for source in sources.values())
    for module, source in sources.items():
        namespace = dict(vars(module))
        exec(compile(source.replace(before, after), str(module.__file__), "exec"), namespace)
        for name, value in namespace.items():
            if isinstance(value, FunctionType):
                monkeypatch.setattr(module, name, value)
