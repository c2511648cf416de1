"""Tests of spec.files.writing: whether a target can be written, before it is."""

import os
from pathlib import Path

import pytest

from spec.files.writing import check_apart, check_target, replacing, write_bytes
from spec.language.errors import OutputError


class TestCheckApart:
    """Outputs that would write over each other."""

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("a", "a"),
            ("a", "./b/../a"),
            ("a", "link"),
            ("f", "f/a"),
            ("f/a/b", "f"),
            ("loop", "loop"),
        ],
    )
    def test_not(
        self, one: str, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One file by two names, and a file in a folder that another output fills."""
        monkeypatch.chdir(tmp_path)
        Path("link").symlink_to("a")
        Path("loop").symlink_to("loop")
        with pytest.raises(OutputError, match="--certificate and -o both write"):
            check_apart(certificate=Path(one), o=Path(other))

    def test_fine(self) -> None:
        """Several files in one folder, and what is not given."""
        check_apart(certificate=Path("f/a"), o=Path("f/b"), junit=Path("f/ab"))
        check_apart(certificate=None, o=Path("a"), junit=None)


class TestCheckTarget:
    """What can be known beforehand."""

    @pytest.mark.parametrize("name", ["old", "new", "deep/er/new", "dangling"])
    def test_fine(self, name: str, tmp_path: Path) -> None:
        """A file, old or new, in folders, old or new, passes; nothing is made and nothing lost."""
        (tmp_path / "old").write_text("kept")
        (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
        check_target(tmp_path / name)
        assert {"old", "dangling"} == set(os.listdir(tmp_path))
        assert "kept" == (tmp_path / "old").read_text()
        write_bytes(tmp_path / name, b"new")

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("folder", "folder is a folder"),
            ("file/below", "file is not a folder"),
            ("loop", "symbolic links"),
            ("a" * 300, "too long"),
        ],
    )
    def test_not(self, name: str, said: str, tmp_path: Path) -> None:
        """What will fail fails now, and says why."""
        (tmp_path / "folder").mkdir()
        (tmp_path / "file").touch()
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        with pytest.raises(OutputError, match=said):
            check_target(tmp_path / name)
        with pytest.raises(OutputError):
            write_bytes(tmp_path / name, b"")

    def test_nothing_may_be_made(self) -> None:
        """A folder in which not even root makes files."""
        with pytest.raises(OutputError, match="cannot write /proc/new"):
            check_target(Path("/proc/new"))

    def test_folder(self, tmp_path: Path) -> None:
        """A folder to write into may be new, and may not be a file."""
        (tmp_path / "file").touch()
        check_target(tmp_path, folder=True)
        check_target(tmp_path / "new", folder=True)
        with pytest.raises(OutputError, match="file is not a folder"):
            check_target(tmp_path / "file", folder=True)

    @pytest.mark.parametrize("name", ["read", "link", "hard"])
    def test_read(self, name: str, tmp_path: Path) -> None:
        """What is read is not written over, under no name; what is not there is no such file."""
        (tmp_path / "read").touch()
        (tmp_path / "link").symlink_to("read")
        (tmp_path / "hard").hardlink_to(tmp_path / "read")
        with pytest.raises(OutputError, match="it is also an input"):
            check_target(tmp_path / name, reads=[None, "a\0b", str(tmp_path / "read")])
        check_target(tmp_path / "other", reads=[tmp_path / "other", tmp_path / "read"])


class TestReplacing:
    """A long output, of which no part is seen before the rest."""

    @pytest.mark.parametrize("name", ["new", "deep/er/new", "old", "link"])
    def test_whole(self, name: str, tmp_path: Path) -> None:
        """What is there stays until all is written; a link stays a link, and rights stay."""
        (tmp_path / "old").write_text("before")
        (tmp_path / "old").chmod(0o640)
        (tmp_path / "link").symlink_to("old")
        with replacing(tmp_path / name) as file:
            file.write(b"after")
            file.flush()
            assert "before" == (tmp_path / "old").read_text()
        assert b"after" == (tmp_path / name).read_bytes()
        assert (tmp_path / "link").is_symlink()
        assert 0o640 == (tmp_path / "old").stat().st_mode & 0o777
        assert not list(tmp_path.rglob(".*"))

    @pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
    def test_nothing(self, error: type[BaseException], tmp_path: Path) -> None:
        """Where the writer stops, the old file is as it was, and nothing is left beside it."""

        def write() -> None:
            with replacing(tmp_path / "old") as file:
                file.write(b"after")
                raise error

        (tmp_path / "old").write_text("before")
        with pytest.raises(error):
            write()
        assert ["old"] == os.listdir(tmp_path)
        assert "before" == (tmp_path / "old").read_text()

    def test_full(self, tmp_path: Path) -> None:
        """An error of the disk names the file."""
        with (
            pytest.raises(OutputError, match=r"cannot write .*/new: No space"),
            replacing(tmp_path / "new"),
        ):
            raise OSError(28, "No space left on device")
        assert [] == os.listdir(tmp_path)

    @pytest.mark.parametrize("name", ["folder", "file/below", "loop", "a" * 300])
    def test_not(self, name: str, tmp_path: Path) -> None:
        """What cannot be written says so before anything is."""
        (tmp_path / "folder").mkdir()
        (tmp_path / "file").touch()
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        with pytest.raises(OutputError, match="cannot write"), replacing(tmp_path / name):
            pytest.fail("it is written")

    def test_pipe(self, tmp_path: Path) -> None:
        """A device is written, and stays one."""
        with replacing(Path("/dev/null")) as file:
            file.write(b"gone")
        assert Path("/dev/null").is_char_device()
