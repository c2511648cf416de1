"""`python -m monitor`: judge traces by a mode."""

from __future__ import annotations

import sys

from spec.cli.command_modules import later
from spec.cli.common import add_docs, add_schema, new_app, run

__all__ = ["app", "main"]

app = new_app(
    "monitor",
    "Check recorded events against the modes of the claims that the runtime accepted.",
    modules={
        "check": "monitor.cli.check",
        "report": "monitor.cli.page",
        "evidence": "monitor.cli.evidence",
        "follow": "monitor.follow.cli",
        "watch": "monitor.watch.cli",
        "fleet": "monitor.fleet.cli",
        "routes": "monitor.routes.cli",
        "pressure": "monitor.pressure.cli",
        "repeat": "monitor.repeat.cli",
        "samples": "monitor.cli.samples",
    },
    epilog="Example: python -m monitor check monitor/samples/hard_protected_refusal.jsonl",
)
add_docs(app, later("monitor.cli.pages", "pages"), of="verdicts")
add_schema(
    app,
    later("monitor.report.verdict", "verdict_schema"),
    of="a verdict",
    example="-o docs/schema/verdict.json",
)


def main(argv: list[str] | None = None) -> int:
    """Run the command line on `argv` and return its exit code."""
    return run(app, argv)


if __name__ == "__main__":
    sys.exit(main())
