"""Tests of spec.cli.roots: which files a client may read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spec.cli.roots import Roots
from spec.language.errors import SpecError


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A root with a file and a folder, and a folder beside it with a secret."""
    root, other = tmp_path / "root", tmp_path / "root-other"
    (root / "in").mkdir(parents=True)
    other.mkdir()
    (root / "in" / "trace").write_bytes(b"events")
    (other / "secret").write_bytes(b"secret")
    return root, other


def refused(roots: Roots, path: str) -> str:
    """What is said of a path that may not be read."""
    with pytest.raises(SpecError) as problem:
        roots.read(path)
    assert "secret bytes" not in str(problem.value)
    return problem.value.cause


class TestRead:
    """Roots.read"""

    def test_within(self, places: tuple[Path, Path]) -> None:
        """Relative and absolute paths, and links that stay within the roots, are read."""
        root, other = places
        (root / "link").symlink_to("in")
        (root / "over").symlink_to(other / "secret")
        roots = Roots([root])
        for path in ("in/trace", str(root / "in" / "trace"), "link/trace", "in/../in/./trace/"):
            assert b"events" == roots.read(path)
        assert b"secret" == Roots([root, other]).read("over")
        assert b"secret" == Roots([root, other]).read("secret")

    @pytest.mark.parametrize(
        "path",
        [
            "../root-other/secret",
            "in/../../root-other/secret",
            "{other}/secret",
            "/etc/hostname",
            "escape",
            "folder/secret",
            "loop",
            "none",
            "in",
            ".",
            "",
            "pipe",
            "a\0b",
            "\ud800",
            "x" * 5000,
        ],
    )
    def test_outside(self, path: str, places: tuple[Path, Path]) -> None:
        """Anything else is refused in the same words, whether or not it exists."""
        root, other = places
        (root / "escape").symlink_to(other / "secret")
        (root / "folder").symlink_to(other)
        (root / "loop").symlink_to("loop")
        os.mkfifo(root / "pipe")
        path = path.replace("{other}", str(other))
        assert refused(Roots([root]), path).endswith(" is not a file within the roots")

    def test_no_root(self, places: tuple[Path, Path]) -> None:
        """Without a root no file is read, not even in the working folder."""
        assert "is not a file within the roots" in refused(Roots([]), str(places[0] / "in/trace"))

    def test_swapped(self, places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
        """A folder that becomes a link after it was resolved is not followed."""
        root, other = places
        roots, resolve = Roots([root]), Path.resolve

        def swap(path: Path, strict: bool = False) -> Path:
            found = resolve(path, strict=strict)
            (root / "in" / "trace").rename(root / "trace")
            (root / "in").rmdir()
            (root / "in").symlink_to(other)
            (other / "trace").write_bytes(b"secret bytes")
            return found

        monkeypatch.setattr(Path, "resolve", swap)
        assert "in/trace is not a file within the roots" == refused(roots, "in/trace")

    def test_large(self, places: tuple[Path, Path]) -> None:
        """A file of the size that is allowed is read; a larger one is refused."""
        root, _ = places
        with (root / "large").open("wb") as file:
            file.truncate(1 << 40)  # sparse
        roots = Roots([root])
        assert "large has more than 67108864 bytes" == refused(roots, "large")
        assert b"events" == roots.read("in/trace", most=6)
        with pytest.raises(SpecError, match="trace has more than 5 bytes"):
            roots.read("in/trace", most=5)

    @pytest.mark.parametrize("name", ["none", "root/in/trace"])
    def test_no_folder(self, name: str, places: tuple[Path, Path]) -> None:
        """A root is a folder that exists."""
        with pytest.raises(SpecError, match="is not a folder"):
            Roots([places[0].parent / name])
