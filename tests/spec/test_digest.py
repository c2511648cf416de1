"""Tests of spec.digest."""

import os
import re
import subprocess
import sys

import pytest
from msgspec.structs import replace

from spec import digest
from spec.contract.ledgers import kind
from spec.contract.obligations import OBLIGATIONS
from spec.contract.vocabulary import e
from spec.events.alphabet import Kind
from spec.language.terms import FALSE, Const


class TestDigest:
    """The digest of the whole."""

    def test_form(self) -> None:
        """It is a SHA-256 in hex, and people see its first twelve characters."""
        assert re.fullmatch("[0-9a-f]{64}", digest.spec_digest())
        assert digest.spec_digest()[:12] == digest.short_digest()

    @pytest.mark.parametrize("seed", ["1", "2"])
    def test_processes(self, seed: str) -> None:
        """Another process with another hash seed finds the same digest."""
        done = subprocess.run(
            [sys.executable, "-c", "from spec.digest import spec_digest; print(spec_digest())"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert digest.spec_digest() == done.stdout.strip()

    def test_sensitive(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One guard that differs gives another digest."""
        before = digest.spec_digest()
        name, observer = next(iter(OBLIGATIONS.items()))
        first, *others = observer.rules
        changed = replace(observer, rules=(replace(first, when=FALSE), *others))
        monkeypatch.setitem(OBLIGATIONS, name, changed)
        assert before != digest.spec_digest.__wrapped__()


class TestCanonical:
    """The canonical form of values."""

    def test_sets(self) -> None:
        """Sets and mappings have one order."""
        many = tuple(Kind)
        assert digest.canonical(kind(*many)) == digest.canonical(kind(*reversed(many)))
        assert digest.canonical({"a": 1, "b": 2}) == digest.canonical({"b": 2, "a": 1})

    def test_structure(self) -> None:
        """Terms that read alike and are built differently differ, as true and 1 do."""
        assert digest.canonical(e.mine & e.named) != digest.canonical(e.named & e.mine)
        assert repr(digest.canonical(Const(True))) != repr(digest.canonical(Const(1)))

    def test_refused(self) -> None:
        """What has no canonical form is refused."""
        with pytest.raises(TypeError, match="float"):
            digest.canonical(1.5)
