"""A parser of PromQL reads each expression of the dashboard and of the alerts, and what they ask
for is served.
"""

from __future__ import annotations

import re

import pytest

pytest.importorskip("prometheus_client")

from prometheus_client.parser import text_string_to_metric_families

from monitor.follow.metrics import METRICS, PROCESS
from tests.monitor.follow.promql import (
    DOCS,
    alerts,
    grouped,
    metrics_port,
    panels,
    rules,
    scrape_config,
    selected,
)
from tests.monitor.watch.scraped import exporting, free_port

OF_SCRAPE = {"job", "instance"}
LABELS: dict[str, set[str]] = {each.exported: {*each.labels} for each in METRICS} | {PROCESS: set()}
EXPRESSIONS = [*(text for text, _ in panels()), *alerts()]


class TestExpressions:
    def test_all(self) -> None:
        """So many there are."""
        assert (25, 15) == (len(panels()), len(alerts()))

    @pytest.mark.parametrize("text", EXPRESSIONS)
    def test_asks(self, text: str) -> None:
        """It is PromQL, and asks for metrics by labels that they have."""
        found = selected(text)
        assert found
        for metric, labels in found:
            assert labels <= LABELS[metric] | OF_SCRAPE
            assert grouped(text) <= LABELS[metric] | OF_SCRAPE

    def test_rules(self) -> None:
        """Each alert of the table is a rule, but the one that needs a metric of the engine; a rule
        asks for metrics that are exported, that each target has, or that another rule records.
        """
        of_engine = "rate(resident_claims_events_total[10m]) == 0"
        assert {*alerts()} - {each["expr"] for each in rules()} == {of_engine}
        recorded = {each["record"]: {"mode", "verdict"} for each in rules() if "record" in each}
        known = LABELS | recorded | {"up": set()}
        for each in rules():
            for metric, labels in selected(each["expr"]):
                assert labels <= known[metric] | OF_SCRAPE

    def test_rules_are_explained(self) -> None:
        """The page names each alert; the tests of promtool expect each of them at some time."""
        page = (DOCS / "operations.md").read_text()
        tried = (DOCS.parent / "tests_prometheus" / "rules_test.yml").read_text()
        for each in rules():
            name = each.get("alert")
            assert name is None or f"`{name}`" in page
            assert name is None or f"alertname: {name}\n        exp_alerts" in tried

    @pytest.mark.parametrize(("text", "legend"), panels())
    def test_legend(self, text: str, legend: str) -> None:
        """The legend names labels that the result has."""
        named = {*re.findall(r"\{\{(\w+)\}\}", legend)}
        ((metric, _),) = selected(text)
        assert named <= (grouped(text) or LABELS[metric] | OF_SCRAPE)

    def test_mistyped(self) -> None:
        """What is no PromQL is refused."""
        with pytest.raises(ValueError, match="parenthesis"):
            selected("sum by (mode (x)")


class TestServed:
    def test_watch(self) -> None:
        """Each metric is served by `watch`, and those on watched claims have series with the labels
        by which they are asked for.
        """
        with exporting(free_port()) as text:
            families = [*text_string_to_metric_families(text)]
        series: dict[str, set[str]] = {}
        for family in families:
            name = f"{family.name}_total" if family.type == "counter" else family.name
            series[name] = {label for sample in family.samples for label in sample.labels}
        of_others = {"webhook_posts", "otlp_records", "checkpoint"}  # options that are not given
        for expression in EXPRESSIONS:
            for metric, _ in selected(expression):
                if not any(name in metric for name in of_others):
                    assert metric in series
                if "_watched_" in metric:
                    assert series[metric] == LABELS[metric]

    def test_scraped(self) -> None:
        """The configuration scrapes the address that the command of the page serves."""
        (job,) = scrape_config()["scrape_configs"]
        assert job["job_name"] == "resident-claims"
        (targets,) = job["static_configs"]
        assert targets == {"targets": [f"127.0.0.1:{metrics_port()}"]}
