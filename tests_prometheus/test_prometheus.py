"""A real Prometheus scrapes `watch` by the configuration of the docs, and evaluates the expressions
of the dashboard and of the alerts.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.monitor.follow.promql import alerts, panels, scrape_config
from tests.monitor.watch.scraped import exporting, free_port

FOLDER = Path(os.environ.get("RESIDENT_CLAIMS_PROMETHEUS", "build/prometheus/usr/bin"))
START_S = 60.0
RULES = Path(__file__).parents[1] / "docs" / "prometheus" / "rules.yml"
WATCHED = [text for text, _ in panels() if "_watched_" in text]


class Prometheus:
    """A Prometheus with this configuration, that listens on a port."""

    def __init__(self, folder: Path, config: dict[str, Any], running: ExitStack) -> None:
        self._port = free_port()
        at = folder / "prometheus.yml"
        at.write_text(yaml.safe_dump(config))
        command = [str(FOLDER / "prometheus"), f"--config.file={at}"]
        command += [f"--storage.tsdb.path={folder / 'data'}", "--log.level=warn"]
        command += [f"--web.listen-address=127.0.0.1:{self._port}"]
        process = subprocess.Popen(command, cwd=folder)
        running.callback(process.wait)
        running.callback(process.kill)

    def ask(self, expression: str) -> list[dict[str, Any]]:
        """The series of an expression now; raises HTTPError if it cannot be evaluated."""
        query = urllib.parse.urlencode({"query": expression})
        url = f"http://127.0.0.1:{self._port}/api/v1/query?{query}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            found = json.load(answer)
        assert found["status"] == "success"
        result: list[dict[str, Any]] = found["data"]["result"]
        return result

    def until(self, expression: str) -> None:
        """Wait until an expression has series."""
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            with suppress(urllib.error.URLError, ConnectionError):
                if self.ask(expression):
                    return
            time.sleep(0.2)
        pytest.fail(f"no series of {expression}")


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """One that has scraped `watch` twice, as configured in the docs but for the port and the time
    between two scrapes.
    """
    folder, port, config = tmp_path_factory.mktemp("prometheus"), free_port(), scrape_config()
    config["scrape_configs"][0]["static_configs"][0]["targets"] = [f"127.0.0.1:{port}"]
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["rule_files"] = [str(RULES)]
    with ExitStack() as running:
        running.enter_context(exporting(port))
        found = Prometheus(folder, config, running)
        found.until("count_over_time(resident_claims_watched_claims[1m]) > 2")
        yield found


class TestConfiguration:
    def test_check(self, tmp_path: Path) -> None:
        """promtool takes the configuration as it is in the docs."""
        at = tmp_path / "prometheus.yml"
        at.write_text(yaml.safe_dump(scrape_config()))
        subprocess.run([FOLDER / "promtool", "check", "config", at], check=True)

    def test_rules(self) -> None:
        """promtool takes the rules, and finds no two alike."""
        subprocess.run([FOLDER / "promtool", "check", "rules", RULES], check=True)

    def test_rules_alert(self) -> None:
        """The alerts fire when they should, and not before, nor after a restart."""
        tests = Path(__file__).with_name("rules_test.yml")
        subprocess.run([FOLDER / "promtool", "test", "rules", tests], check=True)


class TestScraped:
    @pytest.mark.parametrize("text", [*(text for text, _ in panels()), *alerts()])
    def test_evaluates(self, prometheus: Prometheus, text: str) -> None:
        """Each expression is evaluated."""
        prometheus.ask(text)

    @pytest.mark.parametrize("text", WATCHED)
    def test_panels(self, prometheus: Prometheus, text: str) -> None:
        """The panels on watched claims have something to show."""
        assert prometheus.ask(text)

    def test_values(self, prometheus: Prometheus) -> None:
        """The sample: two claims, of which one is held."""
        found = prometheus.ask("sum by (state) (resident_claims_watched_claims)")
        states = {each["metric"]["state"]: int(each["value"][1]) for each in found}
        assert states == {"held": 1, "absent": 1, "unknown": 0}
        prometheus.until("job_mode:resident_claims_watched_held:ratio == 0.5")
        prometheus.until("job:resident_claims_live_claims:sum >= 0")
        (up,) = prometheus.ask('up{job="resident-claims"}')
        assert up["value"][1] == "1"
