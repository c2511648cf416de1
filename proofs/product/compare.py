"""Compares the labels that follow from models with those of the curated descriptors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from models.catalog import descriptor
from models.registry import runtime
from proofs.product.check import check_runtime
from proofs.product.subject import subjects
from spec.lowering.relation import lower

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from spec.claims.states import Mode

__all__ = ["SCHEMA", "Compared", "compare"]

SCHEMA: Final = "resident-claims/compare/1"


class Compared(msgspec.Struct, frozen=True):
    """The two labels of a runtime in a mode, and what each rests on: without an adapter, or at the
    depth of the one by which it takes claims.

    `lacks` are obligations that the descriptor does not supply, `broken` those that the model
    breaks, with the actions of a shortest run of the first.
    """

    runtime: str
    mode: str
    inference: str | None
    descriptor: str
    derived: str
    curated: str
    agree: bool
    lacks: tuple[str, ...]
    broken: tuple[str, ...]
    run: tuple[str, ...]


def compare(
    names: Iterable[str], progress: Callable[[str, int, int, int], None] | None = None
) -> Iterator[Compared]:
    """The labels of these runtimes, one by one, in each mode that their features tempt to."""
    for name in names:
        found = runtime(name)
        if found.descriptor is None:
            continue
        for mode in _modes(name):
            for subject in subjects(name, mode):
                checked, _ = check_runtime(subject, progress=progress)
                if not checked.complete:
                    raise KeyboardInterrupt
                row = lower(descriptor(found.descriptor), mode, subject.model.depth)
                broken = [each for each in checked.obligations if each.answer == "broken"]
                yield Compared(
                    name,
                    str(mode),
                    subject.inference,
                    found.descriptor,
                    checked.label,
                    str(row.label),
                    checked.label == str(row.label),
                    row.missing,
                    tuple(each.obligation for each in broken),
                    broken[0].run if broken else (),
                )


def _modes(name: str) -> list[Mode]:
    found = runtime(name)
    return list(found.takes or dict.fromkeys(each.mode for each in found.inferences))
