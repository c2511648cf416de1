"""What several tests ask the solver, asked once for all of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from proofs.check import DEPTH, Check, check_mode
from proofs.engines.bounded.search import Found, find_refutation, find_witness
from proofs.engines.names import EngineName
from proofs.logic.encode import Bits
from proofs.model.of_mode import Model, model_of
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.language.machine import Observer
from spec.language.verdicts import Verdict
from tests.once import once

__all__ = ["checked", "predicted", "refutation", "witness"]


@cache
def witness(
    mode: Mode, bundle: Bundle = Bundle.CONTRACT, *, plain: bool = False
) -> tuple[Model, Found]:
    """A shortest witness of a mode's bundle."""
    model = model_of(mode, bundle, Bits(6), replay=True)
    search = partial(find_witness, model, 14, plain=plain)
    found = once(f"witness-{mode}-{bundle}-{plain}", lambda: search().found)
    assert found is not None
    return model, found


@cache
def refutation(mode: Mode, *, plain: bool = False) -> tuple[Model, Found]:
    """A shortest run that breaks a clause under the paper's bundle."""
    model = model_of(mode, Bundle.PAPER, Bits(6), replay=True)
    search = partial(find_refutation, model, 8, plain=plain)
    found = once(f"refutation-{mode}-{plain}", lambda: search().found)
    assert found is not None
    return model, found


def predicted(model: Model, found: Found) -> dict[str, str]:
    """The verdict of each obligation about the tracked claim at the end of the run."""
    prefix = next(iter(model.sides.values()))

    def verdict(o: Observer) -> Verdict:
        seen = [o.states[int(s[f"{prefix}state.{o.name}"])].verdict for s in found.states]
        once = Verdict.SATISFIED in seen and seen[-1] is Verdict.UNEXERCISED
        return Verdict.SATISFIED if once else seen[-1]

    return {o.name: str(verdict(o)) for o in model.observers}


def checked(
    mode: Mode,
    bundle: Bundle = Bundle.CONTRACT,
    depth: int = DEPTH,
    progress: Callable[[str], None] = lambda _: None,
    *,
    engine: EngineName = EngineName.AUTO,
    full: bool = False,
    plain: bool = False,
    worker: object = None,
    certificate: Path | None = None,
    trace: Path | None = None,
) -> Check:
    """What `check_mode` finds, for tests of what is made of it.

    Raises:
        TypeError: it would write a file.
    """
    if certificate is not None or trace is not None:
        raise TypeError("what writes a file is not shared: call check_mode")
    name = f"check-{mode}-{bundle}-{depth}-{engine}-{full}-{plain}"
    return once(
        name, lambda: check_mode(mode, bundle, depth, engine=engine, full=full, plain=plain)
    )
