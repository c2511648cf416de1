"""Metrics are served with bounded labels, to those who may read them."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from http.client import HTTPConnection
from pathlib import Path

import pytest

from monitor.follow.addresses import address_of, token_in
from monitor.follow.buffer import WhenFull
from monitor.follow.follower import Follower
from monitor.follow.growing_file import GrowingFile
from monitor.follow.http_server import Address
from monitor.follow.judge import Judge
from monitor.follow.metrics import METRICS, PROCESS, MetricsServer, registry_of
from monitor.follow.poster import OtlpLogs, Webhook
from monitor.follow.verdict_line import Counts
from spec.contract.modes import MODES
from spec.language.errors import SpecError
from tests.monitor.follow.ranks import engines
from tests.monitor.follow.traces import trace

DASHBOARD = Path(__file__).parents[3] / "docs" / "grafana-dashboard.json"
ALERTS = Path(__file__).parents[3] / "docs" / "operations.md"
TOKEN = "0123456789abcdef"


def followed(path: Path) -> Follower:
    """A follower that has read a stream to its end."""
    path.write_bytes(b"".join(trace(9)))
    counts = Counts()
    sources = {"s": GrowingFile(str(path), until_eof=True)}
    judges = {"s": Judge("s", None, counts)}
    follower = Follower(
        sources,
        judges,
        counts,
        WhenFull.BLOCK,
        engines(counts),
        report=pytest.fail,
        tell=lambda lines: None,
    )
    follower.run()
    return follower


class TestExported:
    @pytest.fixture
    def text(self, tmp_path: Path) -> str:
        prometheus = pytest.importorskip("prometheus_client")
        webhook = Webhook("http://127.0.0.1:9/", pytest.fail)
        otlp = OtlpLogs("http://127.0.0.1:9/", None, pytest.fail)
        registry = registry_of(followed(tmp_path / "a"), None, webhook, otlp)
        return str(prometheus.generate_latest(registry).decode())

    def test_values(self, text: str) -> None:
        """Each event, verdict and obligation is counted."""
        lines = text.splitlines()
        assert 'resident_claims_events_total{kind="claim_registered"} 9.0' in lines
        assert "resident_claims_live_claims 0.0" in lines
        assert 'resident_claims_source_up{source="s"} 0.0' in lines
        verdicts = [line for line in lines if line.startswith("resident_claims_verdicts_total{")]
        assert 9 == sum(float(line.split()[-1]) for line in verdicts)
        violated = [line for line in lines if line.startswith("resident_claims_violations_total{")]
        assert any(float(line.split()[-1]) for line in violated)
        assert any(line.startswith(PROCESS) for line in lines)

    def test_zero(self) -> None:
        """Before the first claim each verdict and each obligation of a mode is exported as 0."""
        prometheus = pytest.importorskip("prometheus_client")
        counts = Counts()
        follower = Follower(
            {}, {}, counts, WhenFull.BLOCK, engines(counts), report=pytest.fail, tell=pytest.fail
        )
        registry = registry_of(follower, None)
        text = str(prometheus.generate_latest(registry).decode())
        for mode, each in MODES.items():
            for name in each.names():
                labels = f'mode="{mode}",obligation="{name}"'
                assert f"resident_claims_violations_total{{{labels}}} 0.0\n" in text
            for verdict in ("kept", "violated", "inconclusive", "not_entered"):
                labels = f'mode="{mode}",verdict="{verdict}"'
                assert f"resident_claims_verdicts_total{{{labels}}} 0.0\n" in text

    def test_no_ids(self, text: str) -> None:
        """No label is the id of a claim, of an object or of a request."""
        for name in ("claim:", "prefix:", "request:", "owner"):
            assert name not in text

    def test_documented(self, text: str) -> None:
        """Every metric is exported under its name, but those of what is not used here."""
        found = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
        unused = ("_checkpoint_", "_watched_")
        due = {m.exported for m in METRICS if not any(part in m.name for part in unused)}
        assert due <= found


class TestDashboard:
    def test_names(self) -> None:
        """The dashboard asks for metrics that are exported, and for no others."""
        board = json.loads(DASHBOARD.read_text())
        asked = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
        exported = {*(metric.exported for metric in METRICS), PROCESS}
        names = {name for expression in asked for name in _names(expression)}
        assert names <= exported
        assert len(asked) >= 8
        assert {metric.exported for metric in METRICS} <= names

    def test_alerts(self) -> None:
        """So do the alerts that the page of operations lists."""
        text = ALERTS.read_text()
        exported = {*(metric.exported for metric in METRICS), PROCESS}
        assert _names(text) <= exported
        assert {metric.exported for metric in METRICS} <= _names(text)


def _names(text: str) -> set[str]:
    words = "".join(c if c.isalnum() or c in "_:" else " " for c in text).split()
    return {word for word in words if word.startswith(("resident_claims_", "process_"))} - {
        "resident_claims_commands"
    }


class TestServer:
    def get(self, server: MetricsServer, path: str, token: str = "") -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def test_pages(self) -> None:
        """Health and readiness say why not; what is not there is not found."""
        prometheus = pytest.importorskip("prometheus_client")
        why = ["", "the disk is full"]
        registry = prometheus.CollectorRegistry()
        server = MetricsServer(
            Address("127.0.0.1", 0), None, registry, lambda: why[0], lambda: why[1]
        )
        assert (200, "ok\n") == self.get(server, "/healthz")
        assert (503, "the disk is full\n") == self.get(server, "/readyz")
        assert 200 == self.get(server, "/metrics")[0]
        assert 404 == self.get(server, "/other")[0]
        server.close()

    def test_token(self) -> None:
        """Where there is a token, metrics are for those who have it."""
        prometheus = pytest.importorskip("prometheus_client")
        registry = prometheus.CollectorRegistry()
        server = MetricsServer(Address("127.0.0.1", 0), TOKEN, registry, str, str)
        assert 401 == self.get(server, "/metrics")[0]
        assert 401 == self.get(server, "/metrics", TOKEN + "x")[0]
        assert 200 == self.get(server, "/metrics", TOKEN)[0]
        assert 200 == self.get(server, "/healthz")[0]
        server.close()

    @pytest.mark.parametrize("path", ["/metrics", "/healthz"])
    @pytest.mark.parametrize(
        ("method", "code", "sent"),
        [("GET", 200, True), ("HEAD", 200, False), ("POST", 405, True), ("NONE", 405, True)],
    )
    def test_methods(self, path: str, method: str, code: int, sent: bool) -> None:
        """What is asked for beside the path changes nothing; two methods are served."""
        pytest.importorskip("prometheus_client")
        from prometheus_client import CollectorRegistry, Gauge

        registry = CollectorRegistry()
        Gauge("resident_claims_tried", "Tried.", registry=registry)
        server = MetricsServer(Address("127.0.0.1", 0), None, registry, str, str)
        link = HTTPConnection("127.0.0.1", server.port, timeout=5)
        link.request(method, f"{path}?name[]=x", headers={"Accept": "text/plain; version=1.x.0"})
        answer = link.getresponse()
        assert (code, "resident-claims") == (answer.status, answer.headers["Server"])
        assert sent == bool(answer.read())
        link.close()
        server.close()


class TestAddress:
    @pytest.mark.parametrize("text", ["", "x", "127.0.0.1:", "127.0.0.1:70000", ":x", "1.5"])
    def test_none(self, text: str) -> None:
        """What is no address is refused."""
        with pytest.raises(SpecError, match="no port"):
            address_of(text, None)

    @pytest.mark.parametrize("text", ["0.0.0.0:9464", "[::]:9464", "example.org:9464"])
    def test_beyond_this_machine(self, text: str) -> None:
        """An address that others reach needs a token."""
        with pytest.raises(SpecError, match="--metrics-token"):
            address_of(text, None)

    @pytest.mark.parametrize(
        ("text", "due"),
        [("9464", ("127.0.0.1", 9464)), ("[::1]:1", ("::1", 1)), ("localhost:2", ("localhost", 2))],
    )
    def test_loopback(self, text: str, due: tuple[str, int]) -> None:
        """A port is one of this machine."""
        pytest.importorskip("prometheus_client")
        assert due == address_of(text, None)
        assert ("0.0.0.0", 3) == address_of("0.0.0.0:3", TOKEN)

    def test_not_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without prometheus_client it is said how to install it."""
        monkeypatch.setattr("monitor.follow.addresses.find_spec", lambda name: None)
        with pytest.raises(SpecError, match="metrics"):
            address_of("9464", None)

    def test_token_file(self, tmp_path: Path) -> None:
        """A token is read from a file; one that is short, or not there, is refused."""
        path = tmp_path / "token"
        with pytest.raises(SpecError, match="No such file"):
            token_in(path)
        path.write_text("short")
        with pytest.raises(SpecError, match="under 16"):
            token_in(path)
        path.write_bytes(b"\xff" * 20)
        with pytest.raises(SpecError, match="no ASCII"):
            token_in(path)
        path.write_text(f" {TOKEN}\n")
        assert TOKEN == token_in(path)
