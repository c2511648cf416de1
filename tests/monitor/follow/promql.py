"""The expressions of the dashboard and of the alerts in the docs, and what they ask for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import promql_parser as promql
import yaml

__all__ = [
    "DOCS",
    "Selected",
    "alerts",
    "grouped",
    "metrics_port",
    "panels",
    "rules",
    "scrape_config",
    "selected",
]

DOCS = Path(__file__).parents[3] / "docs"
_VARIABLES = {"$__rate_interval": "5m", "$job": ".*", "$instance": ".*"}
_PARTS = ("lhs", "rhs", "expr", "param", "vector_selector")


class Selected(NamedTuple):
    """A metric that an expression asks for, and the labels by which it does."""

    metric: str
    labels: frozenset[str]


def panels() -> list[tuple[str, str]]:
    """The expressions of the dashboard as Grafana sends them, each with its legend."""
    board = json.loads((DOCS / "grafana-dashboard.json").read_text())
    found = []
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            text = target["expr"]
            for name, value in _VARIABLES.items():
                text = text.replace(name, value)
            found.append((text, target.get("legendFormat", "")))
    return found


def alerts() -> list[str]:
    """The conditions in the table of alerts."""
    text = (DOCS / "operations.md").read_text().split("### What to alert on")[1]
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]
    found = [each for row in rows for each in re.findall(r"`([^`]+)`", row[1])]
    return [each for each in found if re.search(r"[><=]", each)]


def rules() -> list[dict[str, Any]]:
    """The rules of docs/prometheus/rules.yml, in order."""
    groups = yaml.safe_load((DOCS / "prometheus" / "rules.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def scrape_config() -> dict[str, Any]:
    """The configuration of Prometheus in the page on watching."""
    (text,) = re.findall(r"```yaml\n( *scrape_configs:.*?)```", _watching(), re.DOTALL)
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def metrics_port() -> int:
    """The port of the metrics, in the command of the same page."""
    (port,) = set(
        re.findall(r"watch registry\.yaml .* --metrics (\d+)$", _watching(), re.MULTILINE)
    )
    return int(port)


def _watching() -> str:
    return (DOCS / "watching.md").read_text()


def selected(expression: str) -> list[Selected]:
    """What an expression asks for; raises ValueError if it is none."""
    return [
        Selected(each.name, frozenset(m.name for m in each.matchers.matchers))
        for each in _nodes(promql.parse(expression))
        if isinstance(each, promql.VectorSelector)
    ]


def grouped(expression: str) -> set[str]:
    """The labels by which an expression adds."""
    return {
        label
        for each in _nodes(promql.parse(expression))
        if isinstance(each, promql.AggregateExpr) and each.modifier is not None
        for label in each.modifier.labels
    }


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    inner = [getattr(node, name, None) for name in _PARTS] + [*getattr(node, "args", ())]
    for each in inner:
        if each is not None:
            yield from _nodes(each)
