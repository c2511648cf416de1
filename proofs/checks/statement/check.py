"""Asks Z3 whether the transition system of a mode is the statement that its page makes.

A system that allows fewer events, starts in fewer states or compares less would prove a weaker
theorem by the same name. So the specification's terms are read once more (`Reading`), without
`proofs.model.system`, and the system must not differ from that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, Final

import z3

from proofs.checks.recorded.judge import differs
from proofs.checks.results import Leaned
from proofs.checks.statement.freedom import UndecidedError, free
from proofs.checks.statement.reading import Reading, whole
from proofs.checks.statement.runs import DEPTH, contradiction, unreached
from proofs.checks.statement.samples import sampled
from proofs.checks.statement.two_claims import TwoClaims
from proofs.engines.answers import Question
from proofs.logic.encode import Integers
from proofs.model.pair import Pair
from proofs.model.system import System
from spec.contract.modes import Bundle

if TYPE_CHECKING:
    from proofs.checks.statement.reading import Questions
    from spec.claims.states import Mode

__all__ = ["each_check", "statement_of"]

RLIMIT: Final = 40_000_000
"""Work for one question; some hundred times what the hardest one takes."""


@cache
def statement_of(mode: Mode, bundle: Bundle = Bundle.CONTRACT) -> list[Leaned]:
    """What each check of the statement of a mode's theorem came to."""
    return [*each_check(mode, bundle)]


def each_check(mode: Mode, bundle: Bundle = Bundle.CONTRACT) -> Iterator[Leaned]:
    """The same, one after another; those that take long come last."""
    model = Question(mode, bundle).model(Integers())
    system = model.one if isinstance(model, Pair) else model
    assert isinstance(system, System)
    one = Reading.of(system, bundle)
    checks: dict[str, tuple[str, Callable[[], Questions]]] = {
        "initial": ("no event has happened, and any threshold is possible", one.initial),
        "alphabet": ("the kinds of events are those that the page states", one.alphabet),
        "events": ("an event is possible exactly where it is faithful", one.events),
        "registers": ("facts, declarations and beliefs follow their terms", one.registers),
        "observers": ("each observer takes its first rule that applies", one.observers),
        "verdicts": ("kept, owing and satisfied are the states that say so", one.verdicts),
    }
    if not isinstance(model, Pair):
        checks |= {
            "clauses": ("each clause is compared unless what it waits for is owed", one.clauses),
            "whole": (
                "kept and sound are about every obligation and clause",
                partial(whole, one.step),
            ),
        }
    else:
        two = TwoClaims.of(model, bundle)
        checks |= {
            "two claims": ("each claim is as one that is alone, and events are faithful", two.each),
            "ranks": ("first losses are followed and compared, and ranks decide", two.ranks),
            "exchange": ("with the claims exchanged everything is the same", two.exchanged),
        }
    checks |= {
        "numbers": ("numbers are free on events, but for the stated orders", partial(free, one)),
        "terms": ("Z3 computes each term as the interpreter does", partial(sampled, one)),
        "recorded": ("recorded runs are judged as recorded", partial(_recorded, mode)),
    }
    for name, (says, asked) in checks.items():
        yield Leaned(name, says, _none(asked()), [])
    yield _runs(mode, bundle)


def _recorded(mode: Mode) -> Questions:
    yield z3.BoolVal(differs(mode))


def _runs(mode: Mode, bundle: Bundle) -> Leaned:
    """There are runs for the theorem to speak of."""
    left, decided = unreached(mode, bundle)
    if not left:
        says = "every kind of event occurs, every clause is compared, events follow a commitment"
        return Leaned("runs", says, "proved", [])
    why = contradiction(mode, bundle)
    says = f"no run of {DEPTH} events has {', '.join(left)}"
    if why:
        says = f"vacuous: no run exists, because these contradict each other: {'; '.join(why)}"
    return Leaned("runs", says, "failed" if decided or why else "unknown", left)


def _none(questions: Questions) -> str:
    """`proved` where no formula is satisfiable, and there is one; `failed` where one is."""
    solver = z3.SimpleSolver()
    solver.set("rlimit", RLIMIT)
    answers = set()
    try:
        for question in questions:
            solver.push()
            solver.add(question)
            answers.add(str(solver.check()))
            solver.pop()
    except UndecidedError:
        answers.add("unknown")
    if "sat" in answers:
        return "failed"
    return "proved" if answers == {"unsat"} else "unknown"
