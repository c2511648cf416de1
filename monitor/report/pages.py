"""Generates the published schemas of verdicts."""

from __future__ import annotations

from monitor.live.lines import live_schema
from monitor.report.verdict import verdict_schema
from spec.cli.common import json_page

__all__ = ["pages"]


def pages() -> dict[str, str]:
    """Each page by its path below the folder of the documentation."""
    return {
        "schema/live.json": json_page(live_schema()).decode(),
        "schema/verdict.json": json_page(verdict_schema()).decode(),
    }
