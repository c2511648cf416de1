"""Defines what the operator asks of an engine, one JSON object on a line, and the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from runtime_hooks.controller.views import (
    ChangePage,
    ClaimsPage,
    DrainPage,
    FiguresPage,
    QuotasPage,
    ReleasePage,
    ShowPage,
)
from runtime_hooks.settings.quotas import Most, Quota
from spec.claims.claim import MAX_ID
from spec.files.json_text import decode_json

if TYPE_CHECKING:
    from runtime_hooks.controller.operator import Operator

__all__ = [
    "MOST_ASKED",
    "Answer",
    "ChangeOwn",
    "Drain",
    "Failure",
    "Figures",
    "List",
    "Page",
    "Release",
    "ReleaseOwn",
    "Request",
    "SetQuotas",
    "Show",
    "read_request",
]

MOST_ASKED: Final = 1 << 16
"""The most bytes of a request."""

Id = Annotated[str, Meta(max_length=MAX_ID)]
Page: TypeAlias = (
    ClaimsPage | ShowPage | FiguresPage | ReleasePage | ChangePage | DrainPage | QuotasPage
)


class _Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do"):
    """A request; `do` names its kind. `of_one` says that it is about one claim."""

    of_one: ClassVar = False


class List(_Request, frozen=True, tag="list"):
    """List the claims, of one owner or of all."""

    answer: ClassVar = ClaimsPage
    owner: Id = ""

    def call(self, operator: Operator) -> ClaimsPage:
        """Carry it out, on the engine's thread."""
        return operator.claims(self.owner)


class Show(_Request, frozen=True, tag="show"):
    """Show one claim, of any owner or of this one."""

    answer: ClassVar = ShowPage
    of_one: ClassVar = True
    claim_id: Id
    owner: Id = ""

    def call(self, operator: Operator) -> ShowPage:
        """Carry it out, on the engine's thread."""
        return operator.show(self.claim_id, self.owner)


class Figures(_Request, frozen=True, tag="figures"):
    """Count what there is and what happened."""

    answer: ClassVar = FiguresPage

    def call(self, operator: Operator) -> FiguresPage:
        """Carry it out, on the engine's thread."""
        return operator.figures()


class Release(_Request, frozen=True, tag="release"):
    """End a claim as the runtime."""

    answer: ClassVar = ReleasePage
    of_one: ClassVar = True
    claim_id: Id

    def call(self, operator: Operator) -> ReleasePage:
        """Carry it out, on the engine's thread."""
        return operator.release(self.claim_id)


class ReleaseOwn(_Request, frozen=True, tag="release_own"):
    """Release a claim in its owner's name; `caller` has the proof that the owner asks."""

    answer: ClassVar = ReleasePage
    of_one: ClassVar = True
    claim_id: Id
    caller: dict[str, Any]

    def call(self, operator: Operator) -> ReleasePage:
        """Carry it out, on the engine's thread."""
        return operator.release_own(self.claim_id, self.caller)


class ChangeOwn(_Request, frozen=True, tag="change_own"):
    """Have a claim of another mode follow an owner's; `caller` has the proof that the owner asks
    for this `change`.
    """

    answer: ClassVar = ChangePage
    of_one: ClassVar = True
    change: dict[str, Any]
    caller: dict[str, Any]

    def call(self, operator: Operator) -> ChangePage:
        """Carry it out, on the engine's thread."""
        return operator.change_own(self.change, self.caller)


class Drain(_Request, frozen=True, tag="drain"):
    """Accept no more claims; or accept them again."""

    answer: ClassVar = DrainPage
    undo: bool = False

    def call(self, operator: Operator) -> DrainPage:
        """Carry it out, on the engine's thread."""
        return operator.drain(undo=self.undo)


class SetQuotas(_Request, frozen=True, tag="quotas"):
    """Show the quotas, after those of an owner, or of every owner, were changed.

    `change` has the fields to set, and `lift` names those without a limit from now on.
    """

    answer: ClassVar = QuotasPage
    owner: Id = ""
    change: Quota = Quota()
    lift: tuple[Literal["blocks", "claims", "duration", "priority"], ...] = ()
    floor: Most | None = None

    def call(self, operator: Operator) -> QuotasPage:
        """Carry it out, on the engine's thread."""
        change: dict[str, Any] = dict.fromkeys(self.lift)
        stated = msgspec.structs.asdict(self.change)
        change.update((name, value) for name, value in stated.items() if value is not None)
        return operator.quotas(self.owner, change, self.floor)


Request: TypeAlias = List | Show | Figures | Release | ReleaseOwn | ChangeOwn | Drain | SetQuotas
"""What may be asked."""


class Failure(msgspec.Struct, frozen=True):
    """Why a request was not carried out, with the exit code of the command.

    `unknown` says that there is no such claim.
    """

    message: str
    hint: str
    code: int
    unknown: bool = False


class Answer(msgspec.Struct, frozen=True):
    """An answer: a page, or a failure."""

    page: msgspec.Raw = msgspec.Raw(b"null")
    failure: Failure | None = None


def read_request(line: bytes) -> Request:
    """The request of a line.

    Raises:
        ValueError: it is none.
    """
    kind: Any = Request
    found: Request = decode_json(line, kind)
    return found
