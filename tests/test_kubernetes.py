"""docs/kubernetes: what the manifests promise, and that their sidecars start as they say.

`make test-places` compares them with the schemas of Kubernetes. No cluster ran them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest
import yaml

from runtime_hooks.settings.config import Settings
from tests.installation import ROOT, environment
from tests.monitor.follow.processes import wait_for
from tests.monitor.watch.scraped import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER: Final = ROOT / "docs" / "kubernetes"
TOKEN: Final = "0123456789abcdef"


def objects(name: str) -> dict[str, Any]:
    """The objects of a manifest by kind."""
    return {each["kind"]: each for each in yaml.safe_load_all((FOLDER / name).read_text())}


def pod(name: str) -> dict[str, Any]:
    """The pod of a manifest."""
    found = objects(name)
    made: dict[str, Any] = (found.get("StatefulSet") or found["Deployment"])["spec"]["template"]
    return {**made["spec"], "labels": made["metadata"]["labels"]}


def containers(name: str) -> list[dict[str, Any]]:
    """The sidecar of a manifest, and the engine."""
    return [*pod(name)["initContainers"], *pod(name)["containers"]]


@contextmanager
def running(name: str, folder: Path) -> Iterator[str]:
    """The sidecar of a manifest, with its volumes in a folder; the address of its metrics."""
    sidecar, port = containers(name)[0], free_port()
    pytest.importorskip("prometheus_client")
    words = [_moved(word, sidecar, folder) for word in sidecar["args"]]
    words = [word.replace("0.0.0.0:9464", f"127.0.0.1:{port}") for word in words]
    code = "import sys; from spec.cli.console import main; sys.exit(main())"
    line = [sys.executable, "-c", code, *words]
    with subprocess.Popen(line, env=environment(), cwd="/", stdout=subprocess.DEVNULL) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def _moved(word: str, sidecar: dict[str, Any], folder: Path) -> str:
    """A word of the command line, with paths in volumes below a folder."""
    for each in sidecar["volumeMounts"]:
        made = folder / each["mountPath"].strip("/")
        made.mkdir(parents=True, exist_ok=True)
        word = re.sub(rf"(?<![\w/]){each['mountPath']}/", f"{made}/", word)
    return word


def status(url: str) -> int:
    """The status that is answered; 0 where no answer comes."""
    with suppress(OSError):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as problem:
            return problem.code
    return 0


@pytest.mark.parametrize("name", ["claims.yaml", "watch.yaml"])
class TestManifests:
    """Every manifest"""

    def test_all(self, name: str) -> None:
        """The page links it, and there is no other."""
        assert {"claims.yaml", "watch.yaml"} == {each.name for each in FOLDER.iterdir()}
        assert f"(kubernetes/{name})" in (ROOT / "docs/operations.md").read_text()

    def test_confined(self, name: str) -> None:
        """No container runs as root, writes to its image, or gains privileges."""
        of_pod = pod(name)["securityContext"]
        assert of_pod["runAsNonRoot"] is True
        assert of_pod["runAsUser"] > 0
        assert of_pod["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod(name)["automountServiceAccountToken"] is False
        for each in containers(name):
            assert each["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }

    def test_bounded(self, name: str) -> None:
        """Each container has requests and limits, and a probe at a port that it has."""
        for each in containers(name):
            assert {"cpu", "memory"} <= each["resources"]["requests"].keys()
            assert "memory" in each["resources"]["limits"]
            ports = {port["name"] for port in each["ports"]}
            assert each["livenessProbe"]["httpGet"]["port"] in ports
        assert "Always" == containers(name)[0]["restartPolicy"]

    def test_volumes(self, name: str) -> None:
        """Each volume is mounted, and what is mounted is there."""
        found = objects(name)
        claims = found.get("StatefulSet", {"spec": {}})["spec"].get("volumeClaimTemplates", [])
        there = [each["name"] for each in pod(name)["volumes"]]
        there += [each["metadata"]["name"] for each in claims]
        mounted = {each["name"] for c in containers(name) for each in c["volumeMounts"]}
        assert sorted(mounted) == sorted(there)

    def test_selected(self, name: str) -> None:
        """What selects the pod names its labels."""
        found = objects(name)
        spec = (found.get("StatefulSet") or found["Deployment"])["spec"]
        assert spec["selector"]["matchLabels"] == pod(name)["labels"]
        if "Service" in found:
            assert found["Service"]["spec"]["selector"] == pod(name)["labels"]


class TestClaims:
    """claims.yaml"""

    def test_settings(self) -> None:
        """The plugin takes its settings, whose trace is the file that the sidecar follows."""
        text = objects("claims.yaml")["ConfigMap"]["data"]["claims.json"]
        settings = msgspec.json.decode(text, type=Settings)
        sidecar, engine = containers("claims.yaml")
        assert f"file:{settings.trace}" in sidecar["args"]
        assert f"[ ! -e {settings.trace} ]" in engine["args"][0]
        (switch,) = (each for each in engine["env"] if each["name"] == "RESIDENT_CLAIMS")
        assert "/etc/claims/claims.json" == switch["value"]

    def test_runs(self, tmp_path: Path) -> None:
        """The sidecar is alive before the engine, is ready with its trace, and writes verdicts."""
        for part in ("token", "state", "events"):
            (tmp_path / part).mkdir()
        (tmp_path / "token" / "metrics").write_text(TOKEN)
        probe = containers("claims.yaml")[0]["livenessProbe"]["httpGet"]["path"]
        with running("claims.yaml", tmp_path) as url:
            wait_for(lambda: status(url + probe) == 200)
            assert (503, 401) == (status(url + "/readyz"), status(url + "/metrics"))
            sample = ROOT / "monitor/samples/hard_protected_victim.jsonl"
            (tmp_path / "events" / "claims.jsonl").write_text(sample.read_text())
            verdicts = tmp_path / "state" / "verdicts.jsonl"
            wait_for(lambda: verdicts.exists() and "victim_exclusion" in verdicts.read_text())
            assert 200 == status(url + "/readyz")


class TestWatch:
    """watch.yaml"""

    def test_sockets(self) -> None:
        """The engine publishes, on the loopback interface, where the sidecar reads."""
        sidecar, engine = containers("watch.yaml")
        events = yaml.safe_load(engine["args"][-1].removeprefix("--kv-events-config="))
        assert events["endpoint"] in sidecar["args"]
        assert f"--replay={events['replay_endpoint']}" in sidecar["args"]
        assert "tcp://127.0.0.1:" in events["endpoint"]

    def test_runs(self, tmp_path: Path) -> None:
        """The sidecar takes the registry, and is alive before the engine publishes."""
        pytest.importorskip("zmq")
        for part in ("token", "etc/claims"):
            (tmp_path / part).mkdir(parents=True)
        (tmp_path / "token" / "metrics").write_text(TOKEN)
        registry = objects("watch.yaml")["ConfigMap"]["data"]["registry.yaml"]
        (tmp_path / "etc" / "claims" / "registry.yaml").write_text(registry)
        with running("watch.yaml", tmp_path) as url:
            wait_for(lambda: status(url + "/healthz") == 200)
