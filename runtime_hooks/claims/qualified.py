"""Names claims in the engine and in its trace, where two owners may use the same id.

Where callers are authenticated an id is its owner's own. There the engine's id of a claim is the
owner, a slash, and the owner's id: an owner learns nothing of the ids of others, and every claim of
the trace has an id of its own (docs/decisions/0021). A claim that ended before its owner knew of it
leaves its id free; the next one of that id has the number of the try appended.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from spec.claims.claim import MAX_ID
from spec.language.errors import ClaimError

if TYPE_CHECKING:
    from spec.claims.claim import ResidentClaim

__all__ = ["RESERVED", "ClaimNames", "own_id", "rejected_name", "untried"]

RESERVED: Final = re.compile(r" \((?:rejected|try) \d+\)$")
"""What the names of rejected claims and of further tries end with, and no id of an owner."""

_TRY: Final = re.compile(r" \(try \d+\)$")

_ESCAPES: Final = {"%": "%25", "/": "%2F"}
"""What an owner scope is written with, so that the first slash of an id ends its owner."""


class ClaimNames:
    """The ids of the claims of one engine; `qualified` says whether they begin with the owner."""

    def __init__(self, *, qualified: bool) -> None:
        self.qualified = qualified
        self._tries: dict[str, int] = {}  # of ids with more than one

    def engine_id(self, claim_id: str, owner: str) -> str:
        """The engine's id of an owner's claim."""
        name = f"{_prefix(owner)}{claim_id}" if self.qualified else claim_id
        return f"{name} (try {self._tries[name]})" if name in self._tries else name

    def owners_id(self, engine_id: str, owner: str) -> str:
        """The owner's own id of a claim of the engine."""
        return own_id(engine_id, owner) if self.qualified else _TRY.sub("", engine_id)

    def free(self, engine_id: str) -> None:
        """A claim ended before its owner knew of it: the owner may use the id again."""
        name = _TRY.sub("", engine_id)
        self._tries[name] = self._tries.get(name, 1) + 1

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
    """The engine's id of a claim without the number of its try, which the owner does not know."""
    return _TRY.sub("", engine_id)


def own_id(engine_id: str, owner: str) -> str:
    """The owner's own id of a claim whose id begins with the owner."""
    return _TRY.sub("", engine_id).removeprefix(_prefix(owner))


def rejected_name(claim_id: str, number: int) -> str:
    """The name in the trace of a rejected claim, which leaves its id free for another try.

    Args:
        number: counts the rejections of an engine, so that no name occurs twice.
    """
    end = f" (rejected {number})"
    return claim_id[: MAX_ID - len(end)] + end


def _prefix(owner: str) -> str:
    return "".join(_ESCAPES.get(each, each) for each in owner) + "/"
