"""Generates the pages with samples, and the published schemas of verdicts and other documents."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from pydantic import BaseModel

from monitor.cli import sample_pages
from monitor.follow.verdict_line import VerdictLine
from monitor.live.lines import LiveLine
from monitor.page.report import Written
from monitor.pressure.judge import Experiment
from monitor.repeat.judge import Repetition
from monitor.repeat.runs import RunsList
from monitor.report.verdict import verdict_schema
from monitor.routes.judge import Routes
from monitor.samples.pairs import Listing
from monitor.watch.lines import WatchLine
from monitor.watch.registry import Registry
from spec.cli.common import json_page
from spec.language.schemas import framed_schema

__all__ = ["pages", "schema"]

_READ: Final[dict[str, type[BaseModel]]] = {"registry/1": Registry, "runs/1": RunsList}
_WRITTEN: Final[dict[str, Any]] = {
    "followed/2": VerdictLine,
    "live/2": LiveLine,
    "page/1": Written,
    "pressure/1": Experiment,
    "repeat/1": Repetition,
    "routes/1": Routes,
    "samples/1": Listing,
    "watched/1": WatchLine,
}
"""What is read, and what is written, by the name and the version of its schema."""


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of this name and version, such as `live/2`."""
    if (read := _READ.get(name)) is not None:
        made = read.model_json_schema()
    else:
        made = msgspec.json.schema(_WRITTEN[name])
    return framed_schema(f"resident-claims/{name}", "python -m monitor docs", made)


def pages() -> dict[str, str]:
    """Each page by its path below the folder of the documentation."""
    schemas = {name: schema(name) for name in sorted([*_READ, *_WRITTEN])}
    made = {**schemas, "verdict/2": verdict_schema()}
    return {
        **sample_pages.pages(),
        **{
            f"schema/{name.partition('/')[0]}.json": json_page(each).decode()
            for name, each in made.items()
        },
    }
