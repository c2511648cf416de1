"""Lists the functions that move a claim, for people who want to read what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from monitor.evaluate.inlined import inlined_source
from monitor.evaluate.python_terms import CLAIM_REGISTERS, REQUEST_REGISTERS
from spec.contract.modes import MODES
from spec.digest import spec_digest
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spec.claims.claim import Mode
    from spec.contract.modes import Bundle

__all__ = ["as_json", "as_source"]

_SCHEMA: Final = "resident-claims/compiled/1"


def as_json(mode: Mode, bundle: Bundle, kinds: Sequence[Kind] = tuple(Kind)) -> dict[str, Any]:
    """The functions by kind of event; `about` those for events about the claim."""
    return {
        "schema": _SCHEMA,
        "spec": spec_digest(),
        "mode": mode,
        "bundle": bundle,
        "kinds": {
            kind: {
                name: inlined_source(MODES[mode].bundle(bundle), kind, about=about)
                for name, about in (("about", True), ("beside", False))
            }
            for kind in kinds
        },
    }


def as_source(mode: Mode, bundle: Bundle, kinds: Sequence[Kind] = tuple(Kind)) -> str:
    """The same as Python, each kind after a comment that names it; first what registers are."""
    found = as_json(mode, bundle, kinds)["kinds"]
    places = (
        f"# {of}: {', '.join(f'[{i}] {name}' for i, name in enumerate(names))}"
        for of, names in (("was, now", CLAIM_REGISTERS), ("req_was, req", REQUEST_REGISTERS))
    )
    relations = {"about": "about the claim, and naming it", "beside": "neither"}
    parts = (
        f"# {kind}, {relations[name]}\n\n{text}"
        for kind, texts in found.items()
        for name, text in texts.items()
    )
    return "\n\n".join(("\n".join(places), *parts))
