"""Renames claims, requests and objects that are interchangeable, in states and in what is emitted.

A model states rows of names: whatever order the rows of a group are put in, the model is the same.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from itertools import permutations, product
from typing import Any

from models.framework.model import Emitted, Fact, Model, fact, given_of, signal
from models.framework.shims import claim_of

__all__ = [
    "alike",
    "alike_for",
    "relabelled",
    "relabelled_emission",
    "relabelled_state",
    "renamings",
]


def alike(
    rows: Iterable[tuple[Hashable, tuple[str, ...]]],
) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """The groups of rows of names that have the same shape, where there is more than one.

    Args:
        rows: each with its shape, which is all that the model does with these names.
    """
    groups: dict[Hashable, list[tuple[str, ...]]] = {}
    for shape, row in rows:
        groups.setdefault(shape, []).append(row)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def alike_for(
    sizes: Mapping[str, int], prompts: Mapping[str, str]
) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """The groups of requests for one object, and of objects of one size with the requests for them.

    Args:
        sizes: of each object, with an owner.
        prompts: the object of each request.
    """
    of = {name: [request for request, its in prompts.items() if its == name] for name in sizes}
    requests = (((name,), (request,)) for request, name in prompts.items())
    objects = (((sizes[name], len(its)), (name, f"owner:{name}", *its)) for name, its in of.items())
    return alike((*requests, *objects))


def renamings(model: Model[Any], fixed: Collection[str] = ()) -> Iterator[dict[str, str]]:
    """Every other way to name what is interchangeable, by the names that change.

    Args:
        fixed: names that stay.
    """
    groups = [
        [row for row in group if not set(row) & set(fixed)] for group in model.interchangeable
    ]
    first, *others = product(*(permutations(group) for group in groups))
    for orders in others:
        names: dict[str, str] = {}
        for group, order in zip(first, orders, strict=True):
            step = {
                one: other
                for row, by in zip(group, order, strict=True)
                for one, other in zip(row, by, strict=True)
            }
            composed = {name: step.get(to, to) for name, to in names.items()}
            names = {**step, **composed}
        yield {
            kind(one): kind(other)
            for one, other in names.items()
            if one != other
            for kind in (str, claim_of)
        }


def relabelled(value: Any, names: Mapping[str, str]) -> Any:
    """A value of nested tuples and sets in which names are others."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, frozenset):
        return frozenset(relabelled(each, names) for each in value)
    if isinstance(value, tuple):
        parts = [relabelled(each, names) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def relabelled_state(model: Model[Any], state: Any, names: Mapping[str, str]) -> Any:
    """A state (a named tuple) of a model in which names are others."""
    after = relabelled(state, names)
    return after._replace(**{each: tuple(sorted(getattr(after, each))) for each in model.by_name})


def relabelled_emission(emitted: Emitted, names: Mapping[str, str]) -> Emitted:
    """What is emitted where names are others."""
    if not names:
        return emitted
    if isinstance(emitted, Fact):
        given = {key: relabelled(value, names) for key, value in given_of(emitted.event).items()}
        return fact(emitted.event.kind, **given)
    given = {key: relabelled(value, names) for key, value in emitted.fields.items()}
    return signal(emitted.name, relabelled(emitted.holder, names), **given)
