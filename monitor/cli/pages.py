"""Generates the pages with samples, and the published schemas of verdicts and other documents."""

from __future__ import annotations

from monitor.cli import sample_pages
from monitor.follow.verdict_line import followed_schema
from monitor.live.lines import live_schema
from monitor.page.report import page_schema
from monitor.pressure.judge import pressure_schema
from monitor.repeat.judge import repeat_schema
from monitor.repeat.runs import runs_schema
from monitor.report.verdict import verdict_schema
from monitor.routes.judge import routes_schema
from monitor.samples.pairs import samples_schema
from monitor.watch.lines import watched_schema
from monitor.watch.registry import registry_schema
from spec.cli.common import json_page

__all__ = ["pages"]


def pages() -> dict[str, str]:
    """Each page by its path below the folder of the documentation."""
    schemas = {
        "followed": followed_schema,
        "live": live_schema,
        "page": page_schema,
        "pressure": pressure_schema,
        "registry": registry_schema,
        "repeat": repeat_schema,
        "routes": routes_schema,
        "runs": runs_schema,
        "samples": samples_schema,
        "verdict": verdict_schema,
        "watched": watched_schema,
    }
    return {
        **sample_pages.pages(),
        **{f"schema/{name}.json": json_page(make()).decode() for name, make in schemas.items()},
    }
