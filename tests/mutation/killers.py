"""What notices a mistake: the checks of `python -m proofs check`, the pinned probes, and tests.

Each killer imports what it asks when it is asked, since a mistake is planted by loading every
module again. It returns what noticed the mistake, or nothing.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

__all__ = ["KILLERS", "TARGETS", "modes_of"]

Modes: TypeAlias = tuple[str, ...]
"""The modes that are asked."""

_CONTRACT: Final = ("recorded", "unchanged", "statement")
_OBLIGATIONS: Final = (
    *("ends", "harm", "identity", "offload", "pressure", "restoration", "routing", "telemetry"),
    *("_build", "_restore"),
)
_TESTS: Final = {
    "lemmas": "tests/proofs/checks/test_lemmas.py",
    "evaluation": "tests/spec/language/test_evaluation.py",
}
"""Tests that notice a mistake, where no check of a theorem reads the module."""
TARGETS: Final[dict[str, tuple[str, ...]]] = {
    **{
        f"spec.contract.obligations.{name}": ("recorded", "probes", "unchanged", "statement")
        for name in _OBLIGATIONS
    },
    **dict.fromkeys(
        (
            *("spec.contract.ledgers", "spec.contract.facts", "spec.contract.modes"),
            *("proofs.model.environment", "proofs.model.theorems", "proofs.model.auditor"),
            *("proofs.model.system", "proofs.model.pair"),
            *("proofs.logic.encode", "proofs.logic.connectives"),
        ),
        _CONTRACT,
    ),
    "spec.stream.scopes": ("frame",),
    "spec.language.partial_evaluation": ("tests of evaluation", "generated", "compared"),
    "proofs.checks.lemmas": ("tests of lemmas",),
    "proofs.checks.control": ("tests of lemmas",),
    "proofs.certificates.theorem": ("theorem", "compared"),
    "proofs.certificates.lemmas": ("lemmas", "compared"),
    "proofs.certificates.strategy": ("receptive", "compared"),
    "proofs.certificates.runs": ("witness", "compared"),
    "proofs.certificates.page": ("theorem", "lemmas", "receptive", "witness", "compared"),
    **dict.fromkeys(
        (f"spec.lowering.{name}" for name in ("depths", "obligations", "signals", "vocabulary")),
        ("lowering", "probes"),
    ),
}
"""The modules that hold mistakes, and what is asked of them, in this order.

`unchanged` compares the systems of the modes (`tests.mutation.comparison`); after `compared`, all
that a module makes was found to be the same.
"""


def modes_of(module: str) -> tuple[str, ...]:
    """The modes whose statement a module is a part of, those first that have most of it."""
    return ("soft_priority",) if module == "proofs.model.pair" else _MODES


_MODES: Final = (
    *("hard_protected", "offloadable", "routed_reuse", "soft_priority"),
    *("best_effort", "demotable", "expiring"),
)


def recorded(modes: Modes) -> str:
    """A recorded run is judged otherwise than pinned."""
    from proofs.checks.recorded.judge import differs
    from spec.claims.states import Mode

    for mode in modes:
        if differs(Mode(mode)):
            return f"recorded runs: {mode}"
    return ""


def statement(modes: Modes) -> str:
    """The system of a mode is not its statement."""
    from proofs.checks.statement.check import each_check
    from spec.claims.states import Mode

    for mode in modes:
        for check in each_check(Mode(mode)):
            if check.result != "proved":
                return f"statement: {mode}, {check.name} {check.result}"
    return ""


def frame(_: Modes) -> str:
    """A lemma of the frame theorem is not proved."""
    from proofs.checks.frame.check import check_frame

    for lemma in check_frame().lemmas:
        if lemma.result != "proved":
            return f"frame: {lemma.name} {lemma.result}"
    return ""


def generated(_: Modes) -> str:
    """What runs is not proved to be the terms."""
    from proofs.checks.frame.generated import prove_connectives, prove_generated
    from proofs.checks.frame.statements import Lemma
    from proofs.checks.frame.translation import Translation
    from proofs.checks.frame.verification_conditions import Prover
    from spec.claims.states import Mode

    prover = Prover()
    translation = Translation(prover)
    prove_connectives(translation)
    prove_generated(translation, [*Mode])
    of = [each for each in Lemma if each.part == "translation" and each is not Lemma.TABLES]
    for lemma in map(prover.answer, of):
        if lemma.result != "proved":
            return f"frame: {lemma.name} {lemma.result}"
    return ""


def _tests(path: str, _: Modes) -> str:
    """A test fails."""
    import pytest

    asked = ("-x", "-m", "not slow and not deep", "-p", "no:cacheprovider")
    asked += ("--assert=plain",)  # rewriting would load the module from its file
    with redirect_stdout(io.StringIO()):
        failed = pytest.main([*asked, str(Path(__file__).parents[2] / path)])
    return f"tests: {path}" if failed else ""


def _certificate(name: str) -> Callable[[Modes], str]:
    """A part of a certificate does not ask what it has to ask."""

    def ask(_: Modes) -> str:
        from tests.mutation import certificates

        return str(getattr(certificates, name)())

    return ask


def lowering(_: Modes) -> str:
    """A theorem of the lowering relation is not proved."""
    from proofs.lowering.theorems import prove, theorems
    from proofs.lowering.universe import Universe

    universe = Universe()
    for theorem in theorems(universe):
        if (proof := prove(theorem, universe)).result != "proved":
            return f"lowering: {proof.name} {proof.result}"
    return ""


def probes(_: Modes) -> str:
    """A descriptor that tests one entry of the tables gets another answer."""
    import tests.mutation.probes as asked

    found, pinned = asked.probes(), asked.rows()
    other = [each for each in {**pinned, **found} if found.get(each) != pinned.get(each)]
    return f"probes: {other[0]}" if other else ""


KILLERS: Final[dict[str, Callable[[Modes], str]]] = {
    **{each.__name__: each for each in (recorded, statement, frame, generated, lowering, probes)},
    **{f"tests of {name}": partial(_tests, path) for name, path in _TESTS.items()},
    **{name: _certificate(name) for name in ("theorem", "lemmas", "receptive", "witness")},
}
