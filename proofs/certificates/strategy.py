"""Writes the receptiveness proof (`proofs.receptiveness.check`) as a part of a certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proofs.certificates.page import Page, comment, one_by_one, title
from proofs.receptiveness.check import receptive_questions
from spec.contract.modes import Bundle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spec.claims.states import Mode

__all__ = ["Strategy"]

_ASKED = "receptive.smt2"
_SAYS = (
    "No event of the environment breaks an obligation; every run satisfies the invariant; wherever "
    "something is left to do there is a next move that is possible, keeps every obligation, stays "
    "in the invariant and decreases the ranking function, in every scope."
)


class Strategy:
    """The questions of receptiveness, generated from the specification alone."""

    folder = ""

    def names(self, mode: Mode) -> tuple[str, ...]:
        """The names of the files, in order."""
        return (_ASKED,)

    def data(self, mode: Mode) -> tuple[str, ...]:
        """The names of the files that hold data."""
        return ()

    def pages(self, mode: Mode, bundle: Bundle, given: Mapping[str, bytes]) -> dict[str, Page]:
        """Every file, made from this specification and the given data."""
        head = [*title(mode, Bundle.CONTRACT, "receptive"), *comment(_SAYS)]
        return {_ASKED: one_by_one(head, receptive_questions(mode))}
