"""Names claims in the engine and in its trace, where two owners may use the same id.

Where callers are authenticated an id is its owner's own. There the engine's id of a claim is the
owner, a slash, and the owner's id: an owner learns nothing of the ids of others, and every claim of
the trace has an id of its own (docs/decisions/0021). A claim that ended before its owner knew of it
leaves its id free; the next one of that id has the number of the try appended. A claim that
outlived engines has their number appended (docs/decisions/0037).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from spec.claims.claim import MAX_ID
from spec.language.errors import ClaimError

if TYPE_CHECKING:
    from spec.claims.claim import ResidentClaim

__all__ = ["RESERVED", "ClaimNames", "outlived", "own_id", "rejected_name", "untried"]

RESERVED: Final = re.compile(r" \((?:rejected|resumed|try) \d+\)$")
"""What names end with of rejected claims, of resumed claims and of further tries, and no id of an
owner.
"""

_OWN: Final = re.compile(r" \((resumed|try) (\d+)\)$")

_ESCAPES: Final = {"%": "%25", "/": "%2F"}
"""What an owner scope is written with, so that the first slash of an id ends its owner."""


class ClaimNames:
    """The ids of the claims of one engine; `qualified` says whether they begin with the owner."""

    def __init__(self, *, qualified: bool) -> None:
        self.qualified = qualified
        self._ends: dict[str, tuple[str, int]] = {}  # of ids with a number appended

    def engine_id(self, claim_id: str, owner: str) -> str:
        """The engine's id of an owner's claim."""
        name = f"{_prefix(owner)}{claim_id}" if self.qualified else claim_id
        kind, number = self._ends.get(name, ("", 0))
        return f"{name} ({kind} {number})" if kind else name

    def owners_id(self, engine_id: str, owner: str) -> str:
        """The owner's own id of a claim of the engine."""
        return own_id(engine_id, owner) if self.qualified else _OWN.sub("", engine_id)

    def free(self, engine_id: str) -> None:
        """A claim ended before its owner knew of it: the owner may use the id again."""
        name = _OWN.sub("", engine_id)
        kind, number = self._ends.get(name, ("try", 1))
        self._ends[name] = "try", number + 1 if kind == "try" else 2

    def resume(self, engine_id: str, stops: int) -> str:
        """A claim of this id outlived so many engines; returns its id in this one.

        Raises:
            ClaimError: another one of this id did, too.
        """
        name = _OWN.sub("", engine_id)
        if name in self._ends:
            raise ClaimError("its id occurs twice", "keep one of them")
        self._ends[name] = "resumed", stops
        return f"{name} (resumed {stops})"

    def of_engine(self, claim: ResidentClaim) -> ResidentClaim:
        """A claim as the engine knows it.

        Raises:
            ClaimError: its id and its owner scope are too long together.
        """
        engine_id = self.engine_id(claim.claim_id, claim.owner_scope)
        if len(engine_id) > MAX_ID:
            raise ClaimError(
                f"claim_id and owner_scope have {len(engine_id)} characters together",
                f"use at most {MAX_ID}",
            )
        return claim.model_copy(update={"claim_id": engine_id})


def untried(engine_id: str) -> str:
    """The engine's id of a claim without an appended number, which the owner does not know."""
    return _OWN.sub("", engine_id)


def outlived(engine_id: str) -> int:
    """How many engines a claim outlived, by the number that its id has appended."""
    found = _OWN.search(engine_id)
    return int(found[2]) if found and found[1] == "resumed" else 0


def own_id(engine_id: str, owner: str) -> str:
    """The owner's own id of a claim whose id begins with the owner."""
    return _OWN.sub("", engine_id).removeprefix(_prefix(owner))


def rejected_name(claim_id: str, number: int) -> str:
    """The name in the trace of a rejected claim, which leaves its id free for another try.

    Args:
        number: counts the rejections of an engine, so that no name occurs twice.
    """
    end = f" (rejected {number})"
    return claim_id[: MAX_ID - len(end)] + end


def _prefix(owner: str) -> str:
    return "".join(_ESCAPES.get(each, each) for each in owner) + "/"
