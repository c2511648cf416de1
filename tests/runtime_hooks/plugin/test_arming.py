"""Tests of plugin.arming that need no engine: the line that says how the plugin is armed."""

from pathlib import Path

import pytest

from runtime_hooks.plugin.arming import described
from runtime_hooks.settings.config import Drill, Settings
from spec.claims.claim import Mode


class TestDescribed:
    def test_default(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Paths are absolute; what is off is named as off."""
        monkeypatch.chdir(tmp_path)
        assert (
            f"events go to {tmp_path}/claims.1.jsonl; monitor off; "
            "control: /c/1.sock; epoch e0; "
            "enforced: hard_protected, demotable, expiring, offloadable, soft_priority; "
            "only reported on: best_effort; scopes: none, a request names its owner; "
            "quotas: an owner has at most 1000 claims"
        ) == described(Settings(), "claims.1.jsonl", "", "/c/1.sock", "e0")

    def test_all(self) -> None:
        """The monitor's files, the owners and a drill are named; API keys are not."""
        settings = Settings(
            monitor="enforce",
            enforce=(Mode.EXPIRING,),
            scopes={"key-a": "tenant-b", "key-b": "tenant-a", "key-c": "tenant-a"},
            claims=7,
            drill=Drill(fail_loads={"": 1}),
        )
        line = described(settings, "/a/claims.jsonl", "/b/claims.sock", "/c/1.sock", "e0")
        assert (
            "events go to /a/claims.jsonl; "
            "monitor enforce, with verdicts in /a/claims.jsonl.verdicts.jsonl; "
            "listeners at /b/claims.sock; control: /c/1.sock; epoch e0; enforced: expiring; "
            "only reported on: hard_protected, demotable, offloadable, soft_priority, "
            "best_effort; scopes: tenant-a, tenant-b; quotas: an owner has at most "
            "half of the pool, 7 claims; "
            "faults are injected (drill)"
        ) == line
        assert "key-" not in line
        assert "\n" not in line
