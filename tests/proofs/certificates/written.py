"""A certificate to try things on."""

import hashlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import z3

from proofs.certificates.write import FRAME, LEMMAS, THEOREM, WITNESS, write_certificate
from proofs.checks.lemmas import lemmas_of
from proofs.cli.recheck import register
from proofs.engines.bounded.search import Found, find_witness
from proofs.engines.invariants.recheck import Invariant
from proofs.engines.invariants.recorded import prove
from proofs.logic.encode import Bits, Integers
from proofs.model.of_mode import model_of
from spec.claims.states import Mode
from spec.cli.common import new_app, run
from spec.contract.modes import MODES, Bundle

SMALL = Mode.BEST_EFFORT
DATA = ("invariant.smt2", "witness.json", "frame/invariants.json")
"""What is written for `SMALL`."""
QUESTIONS = (
    "initiation.smt2",
    "consecution.smt2",
    "implication.smt2",
    "witness.smt2",
    "receptive.smt2",
    "frame/ledgers.smt2",
    *(f"frame/{name}.smt2" for name in MODES[SMALL].names()),
    "frame/generated.smt2",
)
"""What is asked about it."""
BODY = "(not (>= state.claim_identity 99))"
"""A part of the invariant of `SMALL`."""


def anything(value: bool = True) -> Invariant:
    """What claims to be an invariant."""
    return Invariant(lambda _: z3.BoolVal(value))


@cache
def small_invariant() -> Invariant:
    """The invariant of the smallest mode, with `BODY` in it, whatever Spacer found."""
    found = invariant_of(SMALL)

    def at(state: dict[str, Any]) -> Any:
        return z3.And(found.at(state), z3.Not(state["state.claim_identity"] >= 99))

    return Invariant(at)


@cache
def invariant_of(mode: Mode) -> Invariant:
    """The invariant that proves a mode's contract."""
    found = prove(f"{mode} contract", model_of(mode, Bundle.CONTRACT, Integers())).invariant
    assert found is not None
    return found


@cache
def witness_of(mode: Mode) -> Found:
    """A shortest run that exercises every obligation of a mode."""
    model = model_of(mode, Bundle.CONTRACT, Bits(6), replay=True)
    found = find_witness(model, 12, plain=mode is SMALL).found
    assert found is not None
    return found


def written(mode: Mode = SMALL, invariant: Invariant | None = None) -> dict[str, bytes]:
    """The data of a mode's certificate."""
    proof = invariant or (small_invariant() if mode is SMALL else invariant_of(mode))
    return (
        THEOREM.written(mode, Bundle.CONTRACT, proof)
        | LEMMAS.written(mode, {lemma.name: lemma.prove() for lemma in lemmas_of(mode)})
        | WITNESS.written(mode, Bundle.CONTRACT, witness_of(mode))
        | frame_of(mode)
    )


@cache
def frame_of(mode: Mode) -> dict[str, bytes]:
    """What is written of the frame theorem."""
    return FRAME.written(mode)


def at(folder: Path, name: str, mode: str = SMALL) -> Path:
    """Where a file of a mode's certificate is."""
    head, slash, last = name.rpartition("/")
    return folder / f"{head}{slash}{mode}.{last}"


def certify(folder: Path, mode: Mode = SMALL, invariant: Invariant | None = None) -> Path:
    """Write a certificate; returns its manifest."""
    return write_certificate(folder, mode, Bundle.CONTRACT, written(mode, invariant))


def called(folder: Path | str, *options: str) -> int:
    """The exit code of `recheck` on a folder."""
    app = new_app("proofs", "Prove.")
    register(app)
    return run(app, ["recheck", str(folder), *options])


def edit(folder: Path, change: Callable[[Any], None]) -> None:
    """Change the manifest."""
    path = folder / "manifest.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def seal(folder: Path) -> None:
    """Write the digests of the files as they are into the manifest."""

    def change(document: Any) -> None:
        for entry in document["modes"]:
            for file in entry["files"].values():
                content = (folder / file["name"]).read_bytes()
                file["sha256"] = hashlib.sha256(content).hexdigest()

    edit(folder, change)


def refused(folder: Path | str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, one line that says why, and nothing else."""
    code = called(folder)
    out, err = capsys.readouterr()
    assert (2, "") == (code, out)
    assert 1 == len(err.splitlines())
    assert err.startswith("error: ")
    assert said in err
