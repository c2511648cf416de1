"""Generates the published schemas of all verdicts, those of followers included."""

from __future__ import annotations

from monitor.follow.verdict_line import followed_schema
from monitor.report import pages as reports
from spec.cli.common import json_page

__all__ = ["pages"]


def pages() -> dict[str, str]:
    """Each page by its path below the folder of the documentation."""
    followed = {"schema/followed.json": json_page(followed_schema()).decode()}
    return reports.pages() | followed
