"""Writes claims that outlive their engine to a file, and takes them from it, once.

The file has prompts, which are private: only its owner may read it. What is read is checked as any
input from outside. It is moved away before it is read, so that no second engine resumes its claims.
One engine at a time uses it: the lock is on a file beside it, which is never removed, because the
file itself is replaced.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from contextlib import suppress
from typing import IO, Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from runtime_hooks.settings.config import TokenId
from spec.files.json_text import decode_json
from spec.language.errors import SpecError

__all__ = ["MOST_CLAIMS", "MOST_TOKENS", "SCHEMA", "Outliving", "Stored", "lock", "save", "take"]

SCHEMA: Final = "resident-claims/outliving/1"
MOST_CLAIMS: Final = 1_000
MOST_TOKENS: Final = 1 << 22
"""The most tokens of the prompts of all claims of a file."""

_LIMIT: Final = 96 << 20  # bytes of a file: more than so many claims and tokens take
_STOPS: Final = 1_000_000

Text = Annotated[str, Meta(max_length=1024)]


class Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A claim that outlives its engine, as its owner would state it.

    Its duration is what was left of it. The prompt has the tokens of its blocks and no others.
    `object_id` is the engine's name of this prefix, and says whether the next engine hashes blocks
    likewise. `stops` counts the engines that it outlived. It was last accepted as `follows`, in
    the life `epoch` of an engine.
    """

    claim: dict[str, Any]
    prompt_token_ids: list[TokenId]
    object_id: Text
    follows: Text
    epoch: Text
    stops: Annotated[int, Meta(ge=1, le=_STOPS)]
    cache_salt: Text = ""


class Outliving(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file: when it was written, in seconds of the wall clock, for which cache, and the claims.

    `cache` has what must be the same in the engine that resumes the claims.
    """

    schema: Literal["resident-claims/outliving/1"]
    saved_at: float
    cache: Annotated[dict[Text, Text], Meta(max_length=32)]
    claims: Annotated[list[Stored], Meta(max_length=MOST_CLAIMS)]


def lock(path: str) -> IO[bytes]:
    """Lock the file for one engine, until what this returns is closed or the process ends.

    Raises:
        SpecError: another engine uses the file, or it cannot be locked.
    """
    beside = f"{path}.lock"
    try:
        file = os.fdopen(os.open(beside, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            file.close()
            raise
    except BlockingIOError:
        raise SpecError(f"another engine uses {path}", _REMEDY) from None
    except (OSError, ValueError) as error:
        raise SpecError(f"{beside} cannot be locked: {_reason(error)}", _REMEDY) from None
    return file


def save(path: str, content: Outliving) -> None:
    """Write the file whole, in place of what is there, so that only its owner may read it.

    Raises:
        SpecError: it is too large, or cannot be written.
    """
    encoded = msgspec.json.encode(content)
    if len(encoded) > _LIMIT:
        raise SpecError(f"{path} would have {len(encoded)} bytes", f"at most {_LIMIT} are read")
    new = f"{path}.{secrets.token_hex(4)}.new"
    try:
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            try:
                file.write(encoded)
                file.flush()
                os.fsync(file.fileno())
                os.replace(new, path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(new)
                raise
    except (OSError, ValueError) as error:
        raise SpecError(f"{path} cannot be written: {_reason(error)}", _REMEDY) from None


def take(path: str) -> Outliving | None:
    """Take the file away and read it; None where there is none.

    A file that cannot be used stays beside its place, with `.refused` at the end of its name.

    Raises:
        SpecError: it is no such file, or others than its owner may have read or written it.
    """
    moved = f"{path}.{secrets.token_hex(4)}.refused"
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise SpecError(f"{path} is no plain file", _REMEDY)
        os.rename(path, moved)  # of two engines one fails
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise SpecError(f"{path} cannot be taken: {_reason(error)}", _REMEDY) from None
    try:
        found = decode_json(_read(moved), object)
        content = msgspec.convert(found, Outliving)
        if sum(len(each.prompt_token_ids) for each in content.claims) > MOST_TOKENS:
            raise ValueError(f"its prompts have more than {MOST_TOKENS} tokens")
        os.unlink(moved)
    except (OSError, ValueError) as error:
        why = f"{moved} is not resumed: {_reason(error)}"
        raise SpecError(why, "look at it, or remove it") from None
    return content


def _read(path: str) -> bytes:
    """The content of a plain file that belongs to this user, and that nobody else may use."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    with open(os.open(path, flags), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise ValueError("it is no plain file with one name")
        if found.st_uid != os.geteuid():
            raise ValueError(f"it belongs to the user {found.st_uid}")
        if stat.S_IMODE(found.st_mode) & 0o077:
            raise ValueError("others may read or write it; it needs mode 0600")
        content = file.read(_LIMIT + 1)
    if len(content) > _LIMIT:
        raise ValueError(f"it is over {_LIMIT} bytes")
    return content


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


_REMEDY: Final = "name another file as `resume`"
