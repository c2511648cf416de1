"""Tests of runtime_hooks.settings.quotas: how quotas are written, merged and described."""

from pathlib import Path

import pytest

from runtime_hooks.settings.config import Settings, SettingsError, load, quotas_line
from runtime_hooks.settings.quotas import Quota, Quotas, quota_of

DEFAULT = Quota(blocks=40, claims=1_000)


def test_merged() -> None:
    """An owner's own field comes first, then that of every owner, then the default."""
    quotas = Quotas(each=Quota(blocks=30, priority=5), owners={"a": Quota(priority=9, claims=0)})
    assert Quota(blocks=30, claims=0, priority=9) == quota_of("a", quotas, DEFAULT)
    assert Quota(blocks=30, claims=1_000, priority=5) == quota_of("b", quotas, DEFAULT)


def test_file(tmp_path: Path) -> None:
    """The file of settings states them."""
    path = tmp_path / "settings.json"
    path.write_text('{"quotas": {"each": {"blocks": 30, "duration": "60 s"}, "floor": 8}}')
    quotas = load({"RESIDENT_CLAIMS": str(path)}).quotas
    assert Quotas(each=Quota(blocks=30, duration="60 s"), floor=8) == quotas


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"quotas": {"each": {"block": 1}}}', "unknown field `block`"),
        ('{"quotas": {"each": {"blocks": -1}}}', "$.quotas.each.blocks"),
        ('{"quotas": {"owners": {"a": {"duration": "soon"}}}}', "the duration 'soon': "),
        ('{"quotas": {"owners": {"a": {"duration": "0 s"}}}}', "a duration of zero"),
        ('{"quotas": {"floor": "8"}}', "$.quotas.floor"),
        ('{"quotas": {"each": {"priority": 4294967296}}}', "$.quotas.each.priority"),
    ],
)
def test_wrong(tmp_path: Path, content: str, said: str) -> None:
    """What is no quota keeps the plugin off."""
    path = tmp_path / "settings.json"
    path.write_text(content)
    with pytest.raises(SettingsError) as caught:
        load({"RESIDENT_CLAIMS": str(path)})
    assert said in str(caught.value)


def test_described() -> None:
    """One line says what an owner may claim, also by default."""
    assert "an owner has at most 1000 claims" == quotas_line(Settings())
    quotas = Quotas(
        each=Quota(duration="60 s"),
        owners={"b": Quota(), "a": Quota(blocks=60, priority=3)},
        floor=8,
    )
    assert (
        "an owner has at most half of the pool, 1000 claims, 60 s a claim, "
        "and a has at most 60 blocks, priority 3, and b has at most the same, "
        "and no claim takes the last 8 blocks"
    ) == quotas_line(Settings(scopes={"key": "a"}, quotas=quotas))
