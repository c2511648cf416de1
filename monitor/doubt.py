"""What an observer still tells apart where some fields of the events cannot be known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from monitor.compile import compile_observer
from spec.obligations import OBLIGATIONS
from spec.observed import fields_behind
from spec.terms import FALSE, Scope, variables
from spec.verdicts import Verdict

if TYPE_CHECKING:
    from spec.machine import Rule

__all__ = [
    "AUTHORITY",
    "BLOCKS",
    "CACHED_BY",
    "FAILURES",
    "NAMES",
    "NEED",
    "OTHERS",
    "POOL",
    "RIVALS",
    "Step",
    "without",
]

Step: TypeAlias = Callable[..., tuple[int, Any, int]]
"""A compiled observer: see `monitor.compile.Compiled`."""

POOL: Final = frozenset(
    {"rest", "stood", "shared", "others", "tied", "blamed_rest", "blamed_least", "stranger"}
)
"""The fields that rest on all claims of the pool."""
FAILURES: Final = frozenset({"smear"})
"""The field that rests on all failures of a request."""
AUTHORITY: Final = frozenset({"authorised"})
"""The field that rests on who owns the claim and when its duration is over."""
NAMES: Final = frozenset({"named"})
"""The field that rests on who was registered."""
BLOCKS: Final = frozenset({"lead"})
"""The field that rests on which blocks a claim holds."""
RIVALS: Final = frozenset({"passed"})
"""The field that rests on which blocks of other claims could be taken."""
NEED: Final = frozenset({"needed", "usable"})
"""The fields that rest on what the request itself needs."""
OTHERS: Final = frozenset({"others"})
"""The field that rests on what all requests in hand need."""
CACHED_BY: Final = frozenset({"found", "away"})
"""The fields that rest on which request computed the blocks of the claim."""


@cache
def without(name: str, fields: frozenset[str]) -> Step | None:
    """The observer of this name, compiled without the rules that read any of these fields.

    Where one of those leads elsewhere than to a breach, nobody knows in which state the observer
    is: of the rules that find a breach those are left that do so in any, and come before it.

    None where it reads none of them: it judges as well as before.
    """
    observer, fields = OBLIGATIONS[name], fields_behind(fields)
    broken = {state.name for state in observer.states if state.verdict is Verdict.VIOLATED}
    read = [_reads(rule, fields) for rule in observer.rules]
    if not any(read):
        return None
    turns = [n for n, rule in enumerate(observer.rules) if read[n] and rule.to not in broken]
    first = turns[0] if turns else len(read)

    def stays(number: int, rule: Rule) -> bool:
        if read[number]:
            return False
        anywhere = not rule.source and not any(v.scope is Scope.OWN for v in variables(rule.when))
        return not turns or rule.to not in broken or (number < first and anywhere)

    rules = [r if stays(n, r) else replace(r, when=FALSE) for n, r in enumerate(observer.rules)]
    return compile_observer(replace(observer, rules=tuple(rules)))


def _reads(rule: Rule, fields: frozenset[str]) -> bool:
    return any(variable.name in fields for variable in variables(rule.when))
