"""`python -m proofs`: checks the modes of the contract, for every run."""

from __future__ import annotations

import sys

from spec.cli.command_modules import later
from spec.cli.common import add_docs, add_schema, new_app, run

__all__ = ["app", "main"]

app = new_app(
    "proofs",
    "Prove properties of the contract and of what runs, for every run.",
    modules={
        "check": "proofs.cli.check",
        "explain": "proofs.cli.explain",
        "recheck": "proofs.cli.recheck",
        "cores": "proofs.cli.cores",
        "counterexamples": "proofs.cli.counterexamples",
        "compare": "proofs.cli.runtimes",
        "accepts": "proofs.cli.accepts",
        "lower": "proofs.labels.command",
    },
    epilog="Example: python -m proofs check hard_protected",
)
add_docs(app, later("proofs.cli.pages", "pages"), of="proofs")
add_schema(
    app,
    later("proofs.check", "proof_schema"),
    of="`check --format json`",
    example="-o docs/schema/proof.json",
)


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    return run(app, argv)


if __name__ == "__main__":
    sys.exit(main())
