"""`python -m spec`: list, show, draw and document the specification."""

from __future__ import annotations

import sys

from spec.installed import interrupts_end

if __name__ == "__main__":
    interrupts_end()

from spec.cli.command_modules import later
from spec.cli.common import add_docs, add_schema, new_app, run

__all__ = ["app", "main"]

app = new_app(
    "spec",
    "The specification: what a runtime owes for a KV-cache claim that it accepted.",
    modules={
        "list": "spec.cli.show",
        "show": "spec.cli.show",
        "search": "spec.cli.show",
        "diagram": "spec.cli.diagram",
        "mcp": "spec.cli.mcp_command",
    },
    epilog="Example: python -m spec show hard_protected",
)
add_docs(app, later("spec.docs.pages", "pages"), of="the specification")
add_schema(
    app,
    later("spec.docs.pages", "event_schema"),
    of="a line of a trace in canonical form",
    example="-o docs/schema/event.json",
)


def main(argv: list[str] | None = None) -> int:
    """Run the command line on `argv` and return its exit code."""
    return run(app, argv)


if __name__ == "__main__":
    sys.exit(main())
