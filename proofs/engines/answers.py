"""Defines the question that engines decide, and their answers.

The question: does every clause of a mode's theorem hold in every run that keeps the obligations?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from proofs.engines.invariants.recheck import ProofResult
from proofs.model.of_mode import model_of
from spec.contract.modes import Bundle
from spec.contract.obligations import OBLIGATIONS

if TYPE_CHECKING:
    from proofs.engines.bounded.unrolling import Found
    from proofs.engines.invariants.recheck import Proof
    from proofs.engines.names import EngineName
    from proofs.logic.encode import Numbers
    from proofs.model.of_mode import Model
    from spec.claims.states import Mode

__all__ = ["Answer", "Engine", "Question", "Shown"]


@dataclass(frozen=True)
class Question:
    """A bundle of a mode without the obligations or rules in `without`; about `clause` only, if
    set.
    """

    mode: Mode
    bundle: Bundle = Bundle.CONTRACT
    without: frozenset[str] = frozenset()
    clause: str = ""

    @property
    def name(self) -> str:
        """A name of the question, with the obligations by code."""
        lacks = " ".join(["", "without", *sorted(map(_code, self.without))] if self.without else [])
        return f"{self.mode} {self.bundle} {self.clause}".strip() + lacks

    def model(self, numbers: Numbers, *, replay: bool = False) -> Model:
        """The system that the question is about; `replay` as in `proofs.model.of_mode.model_of`."""
        only = frozenset({self.clause}) if self.clause else None
        return model_of(
            self.mode, self.bundle, numbers, without=self.without, only=only, replay=replay
        )


def _code(name: str) -> str:
    obligation, *rule = name.split(".")
    return ".".join((OBLIGATIONS[obligation].code, *rule))


@dataclass(frozen=True)
class Shown:
    """A run that breaks a clause of `model`; `readable` if it can be written as events."""

    model: Model
    found: Found
    readable: bool


@dataclass(frozen=True)
class Answer:
    """The answer of an engine.

    The answer covers runs of up to `bound` events with counts of up to `blocks`; None is any
    number. A refutation has the length of its shortest run as `bound`, or None where no run was
    found. `proved` requires that the invariant, `proof`, was checked again.
    """

    result: ProofResult
    engine: EngineName
    bound: int | None = None
    blocks: int | None = None
    reason: str = ""
    proof: Proof | None = None
    shown: Shown | None = None


class Engine(Protocol):
    """Decides a question with bounded work; at the limit the answer is unknown."""

    def answer(self, question: Question) -> Answer:
        """Decide a question."""
