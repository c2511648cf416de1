"""Collects the compiled observers with their source texts."""

from __future__ import annotations
import __future__

from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any

from proofs.checks.frame.sources import Source
from proofs.checks.frame.space import CLAIM_FIRST, REQUEST_FIRST
from proofs.logic.compiled import (
    CLAIM_REGISTERS,
    REQUEST_REGISTERS,
    compile_mode,
    delivery_source,
)
from spec.contract.modes import MODES, Bundle
from spec.stream.scopes import DELIVERY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from proofs.logic.compiled import Compiled
    from spec.claims.states import Mode
    from spec.language.machine import Observer

__all__ = ["bundles", "mismatches", "runs_text"]


def bundles(modes: Iterable[Mode]) -> Iterator[tuple[Source, Compiled, tuple[Observer, ...]]]:
    """The source texts of the bundles of some modes, with their functions and observers."""
    for mode in modes:
        for bundle in Bundle:
            compiled, observers = compile_mode(mode, bundle), MODES[mode].bundle(bundle)
            yield Source(f"{mode} {bundle}", compiled.source, observers), compiled, observers


def mismatches(
    source: Source, compiled: Compiled, observers: tuple[Observer, ...]
) -> Iterator[tuple[str, bool]]:
    """Each table and function of a compiled bundle, and whether it differs from its
    specification.
    """
    yield "observers", compiled.observers != observers
    yield "claim registers", tuple(CLAIM_FIRST) != CLAIM_REGISTERS
    yield "request registers", tuple(REQUEST_FIRST) != REQUEST_REGISTERS
    yield "first values of a claim", not _alike(CLAIM_FIRST.values(), compiled.claim_initial)
    yield "first values of a request", not _alike(REQUEST_FIRST.values(), compiled.request_initial)
    own = [[r.initial for r in o.registers] for o in observers]
    yield (
        "first values of observers",
        len(own) != len(compiled.own_initial)
        or not all(_alike(a, b) for a, b in zip(own, compiled.own_initial, strict=True)),
    )
    scoped = tuple(place for place, o in enumerate(observers) if o.per_request)
    yield "observers of requests", compiled.scoped != scoped
    runs = dict(
        zip(
            source.names,
            (compiled.claim, compiled.request, *compiled.steps, compiled.contradicts),
            strict=False,
        )
    )
    yield "number of functions", len(runs) != len(source.names)
    for name, function in runs.items():
        yield f"code of {name}", not runs_text(function, source.text, name)
    for scope in DELIVERY.reasons:
        delivers = compiled.delivers.get(scope)
        same = delivers is not None and runs_text(delivers, delivery_source(), scope)
        yield f"delivery: {scope}", not same


def runs_text(function: Callable[..., Any], text: str, name: str) -> bool:
    """Whether a function is the one that a text defines under this name."""
    try:
        parts = compile(text, "<source>", "exec").co_consts
    except SyntaxError:
        return False
    found = [part for part in parts if isinstance(part, CodeType) and part.co_name == name]
    code = getattr(function, "__code__", None)
    if len(found) != 1 or not isinstance(code, CodeType):
        return False
    plain = function.__defaults__ is None and function.__closure__ is None
    future = __future__.annotations.compiler_flag
    flags = (found[0].co_flags & ~future) | (code.co_flags & future)
    return plain and found[0].replace(co_flags=flags) == code


def _alike(expected: Iterable[object], found: Iterable[object]) -> bool:
    """Equality of values and sorts: True is not 1."""
    return [(type(v), v) for v in expected] == [(type(v), v) for v in found]
