"""Judges recorded or live streams of events against the specification, without a solver.

What is listed in `__all__` is the Python API (docs/python-api.md); it is imported when it is first
asked for.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING

# A package of another project may have the name of one of resident-claims: see spec/installed.py.
runpy.run_path(
    str(Path(__file__).parents[1] / "spec" / "installed.py"),
    {"ASKED": __name__, "ARGV": sys.argv[:1]},
)

if TYPE_CHECKING:
    from monitor.check.events import EventMonitor, Violation
    from monitor.check.files import EXIT_CODES, check_files
    from monitor.input.errors import InputError
    from monitor.report.verdict import ClaimReport, ObligationReport, Place, Report
    from monitor.trace_writer import TraceWriter
    from spec.stream.outcome import ModeVerdict
else:
    from spec.language.lazy import lazy

    __getattr__, __dir__ = lazy(
        __name__,
        {
            "monitor.check.events": ("EventMonitor", "Violation"),
            "monitor.check.files": ("EXIT_CODES", "check_files"),
            "spec.stream.outcome": ("ModeVerdict",),
            "monitor.input.errors": ("InputError",),
            "monitor.report.verdict": ("ClaimReport", "ObligationReport", "Place", "Report"),
            "monitor.trace_writer": ("TraceWriter",),
        },
    )
    del lazy

__all__ = [
    "EXIT_CODES",
    "ClaimReport",
    "EventMonitor",
    "InputError",
    "ModeVerdict",
    "ObligationReport",
    "Place",
    "Report",
    "TraceWriter",
    "Violation",
    "check_files",
]
