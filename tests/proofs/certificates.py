"""A certificate to try things on."""

import hashlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import z3

from proofs.commands_certificate import register
from proofs.encode import Integers
from proofs.engines.spacer import Invariant, Proof, ProofResult, prove
from proofs.model import model_of
from spec.claims import Mode
from spec.cli import new_app, run
from spec.modes import Bundle

PAGES = ("invariant", "initiation", "consecution", "implication")
SMALL = Mode.BEST_EFFORT
BODY = "(not (>= state.claim_identity 99))"
"""A part of the invariant of `SMALL`."""


def no_proof() -> Proof:
    """What claims to be a proof: "anything" as the invariant."""
    return Proof(ProofResult.PROVED, True, invariant=Invariant(lambda _: z3.BoolVal(True)))


@cache
def small_proof() -> Proof:
    """The proof of the smallest mode, with `BODY` in it, whatever Spacer found."""
    found = prove(model_of(SMALL, Bundle.CONTRACT, Integers())).invariant
    assert found is not None

    def at(state: dict[str, Any]) -> Any:
        return z3.And(found.at(state), z3.Not(state["state.claim_identity"] >= 99))

    return Proof(ProofResult.PROVED, True, invariant=Invariant(at))


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
