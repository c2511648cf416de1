"""The file of claims that outlive an engine: private, written whole, taken once, never trusted."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime_hooks.claims import outliving
from runtime_hooks.claims.outliving import (
    MOST_CLAIMS,
    SCHEMA,
    Outliving,
    Stored,
    lock,
    save,
    take,
)
from spec.language.errors import SpecError

STORED = Stored(
    {"claim_id": "claim:a", "resume": "recompute"}, [1, 2, 3], "prefix:0", "claim:a", "e0", 1
)
CONTENT = Outliving(SCHEMA, 1000.5, {"model_id": "tiny"}, [STORED])


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where the file is."""
    return str(tmp_path / "outliving.json")


def put(path: str, content: bytes, mode: int = 0o600) -> None:
    """Write a file."""
    Path(path).write_bytes(content)
    Path(path).chmod(mode)


def encoded(**changed: Any) -> bytes:
    """A good file with other fields."""
    return msgspec.json.encode({**msgspec.to_builtins(CONTENT), **changed})


def stored(**changed: Any) -> bytes:
    """A good file whose claim has other fields."""
    return encoded(claims=[{**msgspec.to_builtins(STORED), **changed}])


def names(path: str) -> list[str]:
    """What is in its folder, without random parts of names."""
    found = os.listdir(os.path.dirname(path))
    return sorted(".".join(p for p in name.split(".") if len(p) != 8) for name in found)


class TestLocked:
    def test_one(self, path: str) -> None:
        """One engine at a time has the file, also across a save and a take."""
        first = lock(path)
        for act in (lambda: save(path, CONTENT), lambda: take(path), lambda: None):
            act()
            with pytest.raises(SpecError, match=f"another engine uses {path}; name another"):
                lock(path)
        first.close()
        lock(path).close()

    def test_killed(self, path: str) -> None:
        """A killed engine has it no more."""
        code = "import sys; from runtime_hooks.claims.outliving import lock; held = lock("
        code += "sys.argv[1]); print(flush=True); sys.stdin.read()"
        command = [sys.executable, "-c", code, path]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, **pipes) as other:
            assert other.stdout is not None
            other.stdout.readline()
            with pytest.raises(SpecError, match="another engine uses"):
                lock(path)
            other.kill()
            other.wait()
            lock(path).close()

    @pytest.mark.parametrize("name", ["there", "linked"])
    def test_cannot(self, path: str, name: str) -> None:
        """It is refused where the lock cannot be made: the name is a folder's, or a link."""
        beside = Path(f"{path}.lock")
        if name == "there":
            beside.mkdir()
        else:
            beside.symlink_to(f"{path}.other")
        with pytest.raises(SpecError, match=r"outliving\.json\.lock cannot be locked: "):
            lock(path)
        assert not Path(f"{path}.other").exists()


class TestWritten:
    def test_back(self, path: str) -> None:
        """What is written is taken once: it is gone then."""
        save(path, CONTENT)
        assert CONTENT == take(path)
        assert ([], None) == (names(path), take(path))

    def test_private(self, path: str) -> None:
        """Only its owner may read it, whatever the umask, and whatever was there before."""
        put(path, b"old", 0o644)
        before = os.umask(0)
        try:
            save(path, CONTENT)
        finally:
            os.umask(before)
        assert 0o600 == stat.S_IMODE(os.stat(path).st_mode)
        assert CONTENT == take(path)

    def test_link(self, path: str, tmp_path: Path) -> None:
        """A link in its place is replaced, and what it names stays as it was."""
        target = tmp_path / "target"
        target.write_text("private")
        os.symlink(target, path)
        save(path, CONTENT)
        assert "private" == target.read_text()
        assert CONTENT == take(path)

    def test_fails(self, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where it cannot be written, no part of it stays, and the old file is whole."""
        save(path, CONTENT)

        def fail(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(SpecError, match="cannot be written: No space left on device"):
            save(path, msgspec.structs.replace(CONTENT, claims=[]))
        assert ["outliving.json"] == names(path)
        assert CONTENT == take(path)

    def test_large(self, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """What could not be read is not written."""
        monkeypatch.setattr(outliving, "_LIMIT", 100)
        with pytest.raises(SpecError, match="at most 100 are read"):
            save(path, CONTENT)
        assert [] == names(path)

    def test_no_folder(self, path: str) -> None:
        """A folder that is not there is said."""
        with pytest.raises(SpecError, match="cannot be written: No such file"):
            save(f"{path}/none/file", CONTENT)


DEEP = b"[" * 100_000 + b"]" * 100_000
CUT = encoded()[:-20]
BAD = {
    "cut": (CUT, "Input data was truncated"),
    "empty": (b"", "Input data was truncated"),
    "binary": (b"\x80\x04\x95", "JSON is malformed"),
    "list": (b"[]", "Expected `object`"),
    "nested": (b"[" * 200_000, "nested too deep"),
    "nested claim": (stored(claim={"a": 0}).replace(b":0}", b":" + DEEP + b"}"), "nested too deep"),
    "version": (encoded(schema="resident-claims/outliving/2"), "Invalid enum value"),
    "unknown field": (encoded(owner="root"), "unknown field `owner`"),
    "foreign owner field": (stored(owner_uid=0), "unknown field `owner_uid`"),
    "a key twice": (encoded()[:-1] + b',"claims":[]}', "the key 'claims' occurs twice"),
    "time as text": (encoded(saved_at="now"), "Expected `float`"),
    "no number": (encoded().replace(b"1000.5", b"NaN"), "malformed"),
    "negative token": (stored(prompt_token_ids=[-1]), ">= 0"),
    "huge token": (stored(prompt_token_ids=[2**31]), "<= 2147483647"),
    "no stops": (stored(stops=0), ">= 1"),
    "many stops": (stored(stops=10**9), "<= 1000000"),
    "long salt": (stored(cache_salt="x" * 1025), "length <= 1024"),
    "no claim": (stored(claim="claim:a"), "Expected `object`"),
    "many claims": (
        encoded(claims=[msgspec.to_builtins(STORED)] * (MOST_CLAIMS + 1)),
        "length <= 1000",
    ),
    "many caches": (encoded(cache=dict.fromkeys(map(str, range(33)), "")), "length <= 32"),
}


class TestHostile:
    @pytest.mark.parametrize(("content", "why"), BAD.values(), ids=BAD)
    def test_content(self, path: str, content: bytes, why: str) -> None:
        """It is refused with the reason, once, and stays beside its place to be looked at."""
        put(path, content)
        with pytest.raises(SpecError, match="is not resumed") as error:
            take(path)
        assert why in str(error.value)
        assert (["outliving.json.refused"], None) == (names(path), take(path))

    def test_huge(self, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file over the limit is not read to its end."""
        monkeypatch.setattr(outliving, "_LIMIT", 1000)
        put(path, encoded() + b" " * 10_000)
        with pytest.raises(SpecError, match="it is over 1000 bytes"):
            take(path)

    def test_many_tokens(self, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The tokens of all prompts are limited together."""
        monkeypatch.setattr(outliving, "MOST_TOKENS", 5)
        put(path, encoded(claims=[msgspec.to_builtins(STORED)] * 2))
        with pytest.raises(SpecError, match="more than 5 tokens"):
            take(path)

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o602, 0o620, 0o660, 0o666, 0o601])
    def test_modes(self, path: str, mode: int) -> None:
        """A file that others may use is refused: its prompts are private, and it may be forged."""
        put(path, encoded(), mode)
        with pytest.raises(SpecError, match="others may read or write it"):
            take(path)

    def test_owner(self, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file of another user is refused."""
        put(path, encoded())
        other = os.geteuid() + 1
        monkeypatch.setattr(os, "geteuid", lambda: other)
        with pytest.raises(SpecError, match=f"it belongs to the user {other - 1}"):
            take(path)

    def test_second_name(self, path: str) -> None:
        """A file with another name is refused: it could be resumed again by that."""
        put(path, encoded())
        os.link(path, f"{path}.other")
        with pytest.raises(SpecError, match="it is no plain file with one name"):
            take(path)

    @pytest.mark.parametrize(
        "make",
        [
            lambda path: os.symlink("/etc/passwd", path),
            lambda path: os.symlink("missing", path),
            os.mkdir,
            os.mkfifo,
        ],
        ids=["link", "dangling", "folder", "pipe"],
    )
    def test_no_file(self, path: str, make: Callable[[str], None]) -> None:
        """What is no plain file is refused, not waited for, and stays where it is."""
        make(path)
        with pytest.raises(SpecError, match="is no plain file"):
            take(path)
        assert os.path.lexists(path)

    def test_exchanged(self, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A link that takes the place of the file while it is taken is not followed."""
        put(path, encoded())
        rename = os.rename

        def exchange(old: str, new: str) -> None:
            rename(old, f"{new}.kept")
            os.symlink(f"{new}.kept", new)

        monkeypatch.setattr(os, "rename", exchange)
        with pytest.raises(SpecError, match="is not resumed"):
            take(path)

    @pytest.mark.parametrize("name", ["a\0b", "x" * 300], ids=["zero", "long"])
    def test_name(self, tmp_path: Path, name: str) -> None:
        """A name that no file has ends in an error that says so."""
        with pytest.raises(SpecError):
            take(str(tmp_path / name))
        with pytest.raises(SpecError):
            save(str(tmp_path / name), CONTENT)

    @given(st.binary(max_size=200), st.integers(0, 400), st.integers(0, 50))
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_any(self, path: str, noise: bytes, at: int, cut: int) -> None:
        """Whatever is in a file, the reader returns checked content or says what is wrong."""
        good = encoded()
        put(path, good[:at] + noise + good[at + cut :])
        try:
            found = take(path)
        except SpecError:
            return
        assert isinstance(found, Outliving)


def test_once(path: str) -> None:
    """Of many engines that start with one file, one takes it."""
    save(path, CONTENT)
    start, found = threading.Barrier(8), list[Any]()

    def engine() -> None:
        start.wait()
        found.append(take(path))

    threads = [threading.Thread(target=engine) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (1, 7) == (found.count(CONTENT), found.count(None))
