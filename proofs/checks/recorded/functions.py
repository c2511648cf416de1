"""Makes functions of terms for all kinds of events, by the expressions that the judge generates.

The events of recorded runs are dictionaries of all fields with their kind, and one function serves
every kind.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.vocabulary import CONSTANTS
from spec.language.terms import Scope, Term, Var, variables
from spec.stream.generate import CLAIM, REQUEST, own_places, source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from spec.language.machine import Observer

__all__ = [
    "ARGUMENTS",
    "CLAIM_REGISTERS",
    "REQUEST_REGISTERS",
    "expression",
    "function",
    "ledgers",
    "step_of",
]

ARGUMENTS: Final = "e, c, w, n, r, q"
"""An event, the constants, the claim's registers before and after it, and the request's."""
CLAIM_REGISTERS: Final = tuple(register.name for register in CLAIM)
REQUEST_REGISTERS: Final = tuple(register.name for register in REQUEST)
_NAMES: Final = {
    (Scope.EVENT, "here"): "e['here']",
    **{(Scope.CLAIM, name): f"c[{name!r}]" for name in CONSTANTS},
}


def expression(term: Term, names: Mapping[tuple[Scope, str], str] | None = None) -> str:
    """A term as a Python expression over `ARGUMENTS`, and over what other variables are named."""
    return source(term, {**_NAMES, **(names or {})})


def function(arguments: str, body: str) -> Callable[..., Any]:
    """A function that evaluates an expression."""
    made: Callable[..., Any] = eval(f"lambda {arguments}: {body}")
    return made


def _following(
    registers: Iterable[str],
    terms: Mapping[str, Term],
    after: Scope,
    arguments: str,
) -> Callable[..., tuple[Any, ...]]:
    """The registers of a scope after an event, with the registers that they read substituted.

    Raises:
        ValueError: a register depends on itself.
    """
    known: dict[tuple[Scope, str], str] = {}

    def work_in(name: str, within: tuple[str, ...] = ()) -> str:
        if name in within:
            raise ValueError(f"{name} depends on itself")
        for var in set(variables(terms[name])):
            if var.scope is after and (after, var.name) not in known:
                known[after, var.name] = work_in(var.name, (*within, name))
        return expression(terms[name], known)

    return function(arguments, f"({', '.join(work_in(name) for name in registers)},)")


@cache
def ledgers() -> tuple[Callable[..., tuple[Any, ...]], Callable[..., tuple[Any, ...]]]:
    """The registers of a claim after an event, by `e, c, w`, and those of a request, by
    `e, c, w, n, r`.
    """
    claim = {**CLAIM_FACTS.following, **DECLARED.following}
    return (
        _following(CLAIM_REGISTERS, claim, Scope.NOW, "e, c, w"),
        _following(REQUEST_REGISTERS, REQUEST_FACTS.following, Scope.REQ, "e, c, w, n, r"),
    )


def step_of(observer: Observer) -> Callable[..., tuple[int, tuple[Any, ...]]]:
    """A function from the state and the registers of an observer to those after an event."""
    states, own = {s.name: n for n, s in enumerate(observer.states)}, own_places(observer)
    lines = [f"def step(s, o, {ARGUMENTS}):"]
    for rule in observer.rules:
        sources = {states[name] for name in observer.sources(rule)}
        kept = (Var(Scope.OWN, r.name, r.sort) for r in observer.registers)
        sets = [expression(rule.sets.get(var.name, var), own) for var in kept]
        lines.append(f"    if s in {sources} and {expression(rule.when, own)}:")
        lines.append(f"        return {states[rule.to]}, ({''.join(f'{term}, ' for term in sets)})")
    made: dict[str, Any] = {}
    exec("\n".join([*lines, "    return s, o"]), made)
    found: Callable[..., tuple[int, tuple[Any, ...]]] = made["step"]
    return found
