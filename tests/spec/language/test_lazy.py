"""A package that imports what it offers when it is asked for."""

import sys
from pathlib import Path

import pytest


class TestLazy:
    def test_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The module of a name is imported at the first use of the name, and only once."""
        package = tmp_path / "lazypackage"
        package.mkdir()
        (package / "__init__.py").write_text(
            "from spec.language.lazy import lazy\n"
            "__getattr__, __dir__ = lazy(__name__, {'lazypackage.inner': ('value',)})\n"
        )
        (package / "inner.py").write_text("value = [1]\nother = 2\n")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "lazypackage", raising=False)
        import lazypackage  # type: ignore[import-not-found]

        assert "lazypackage.inner" not in sys.modules
        assert "value" in dir(lazypackage)
        first = lazypackage.value
        assert [1] == first
        assert first is vars(lazypackage)["value"]
        with pytest.raises(AttributeError, match="no attribute 'other'"):
            _ = lazypackage.other
        for name in ("lazypackage", "lazypackage.inner"):
            monkeypatch.delitem(sys.modules, name)
