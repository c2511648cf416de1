"""What notices a mistake: the checks of `python -m proofs check`, and the pinned probes.

Each killer imports what it asks when it is asked, since a mistake is planted by loading every
module again. It returns what noticed the mistake, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

__all__ = ["KILLERS", "TARGETS", "modes_of"]

Modes: TypeAlias = tuple[str, ...]
"""The modes that are asked."""

_CONTRACT: Final = ("recorded", "unchanged", "statement")
TARGETS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        (
            *(
                f"spec.contract.obligations.{name}"
                for name in (
                    *("ends", "harm", "identity", "offload", "pressure", "restoration"),
                    *("routing", "telemetry", "_build", "_restore"),
                )
            ),
            *("spec.contract.ledgers", "spec.contract.facts", "spec.contract.modes"),
            *("proofs.model.environment", "proofs.model.theorems", "proofs.model.auditor"),
            *("proofs.model.system", "proofs.model.pair"),
            *("proofs.logic.encode", "proofs.logic.connectives"),
        ),
        _CONTRACT,
    ),
    "spec.stream.scopes": ("frame",),
    "proofs.certificates.theorem": ("certificate", "compared"),
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


def certificate(_: Modes) -> str:
    """The questions of a certificate are not those that an invariant has to answer."""
    import z3

    from proofs.certificates.theorem import Theorem
    from proofs.engines.invariants.recheck import Invariant
    from proofs.logic.encode import Integers
    from proofs.model.of_mode import model_of
    from spec.claims.states import Mode
    from spec.contract.modes import Bundle

    mode, bundle, part = Mode.EXPIRING, Bundle.CONTRACT, Theorem()
    model = model_of(mode, bundle, Integers())
    state = model.state("")
    step = model.step(state, model.event(""))
    claimed = Invariant(lambda at: z3.Or(at["was.registered"], at["was.lead"] < at["c.threshold"]))
    after = {name: step.following.get(name, value) for name, value in state.items()}
    happens = z3.And(claimed.at(state), step.possible, *step.keeps.values())
    asked = {
        "initiation.smt2": z3.And(model.initial(state), z3.Not(claimed.at(state))),
        "consecution.smt2": z3.And(happens, z3.Not(claimed.at(after))),
        "implication.smt2": z3.And(happens, z3.Not(z3.And(*step.clauses.values()))),
    }
    written = part.written(mode, bundle, claimed)
    pages = part.pages(mode, bundle, written)
    if [*pages] != ["invariant.smt2", *asked] or [*written] != ["invariant.smt2"]:
        return f"certificate: the pages are {', '.join(pages)}"
    for name, formula in asked.items():
        text, questions = pages[name].content.decode(), [name.removesuffix(".smt2")]
        if [*pages[name].questions] != questions or text.count("(check-sat)") != 1:
            return f"certificate: the questions of {name} are {', '.join(pages[name].questions)}"
        solver = z3.Solver()
        solver.add(z3.And(z3.parse_smt2_string(text)) != formula)
        if solver.check() != z3.unsat:
            return f"certificate: {name} asks something else"
    return ""


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
    each.__name__: each for each in (recorded, statement, frame, certificate, lowering, probes)
}
