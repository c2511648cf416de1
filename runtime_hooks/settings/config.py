"""What the plugin is asked to do: the environment, and a file that it may name.

`RESIDENT_CLAIMS` turns the plugin on: `1`, or the path of a JSON file with the fields of
`Settings`. Unset, empty or `0` it is off.
"""

from __future__ import annotations

import os
from io import BufferedReader
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar, get_args

import msgspec
from msgspec import Meta

from runtime_hooks.settings.switch import SWITCH
from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.files.plain import open_plain
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ENFORCED",
    "TAKEN",
    "Drill",
    "Settings",
    "SettingsError",
    "Waiting",
    "load",
    "load_ahead",
]

ENFORCED: Final = (
    Mode.HARD_PROTECTED,
    Mode.DEMOTABLE,
    Mode.EXPIRING,
    Mode.OFFLOADABLE,
    Mode.SOFT_PRIORITY,
)
"""The modes whose promise the plugin can keep, offloadable with an offload tier."""

TAKEN: Final = (*ENFORCED, Mode.BEST_EFFORT)
"""The modes whose claims are taken; for the last nothing is done but to tell."""

MONITOR: Final = "RESIDENT_CLAIMS_MONITOR"
"""Names the setting `monitor` in the environment."""

_Monitor = Literal["off", "observe", "enforce"]
_MONITORS: Final = get_args(_Monitor)
_ON: Final = frozenset({"1", "on", "true", "yes"})
_LIMIT: Final = 1 << 20  # bytes of a settings file
_LIMIT_AHEAD: Final = 64 << 20  # bytes of a file of claims

T = TypeVar("T")
Count = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Key = Annotated[str, Meta(min_length=1, max_length=1024)]
TokenId = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Seconds = Annotated[float, Meta(ge=0, le=3600)]


class SettingsError(SpecError):
    """The settings cannot be used; the plugin then stays off."""


class Drill(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Failures asked for, for tests and drills; none by default.

    `suppress` are kinds of reports that are not written; `misattribute` maps a kind of report to
    the claim id that it names instead; `fail_loads` and `fail_stores` are how many loads of a claim
    from the offload tier fail, and how many copies to it, by its id, or of blocks that nobody
    claimed, by the empty id.
    """

    suppress: tuple[Kind, ...] = ()
    misattribute: dict[Kind, str] = {}
    fail_loads: dict[str, Count] = {}
    fail_stores: dict[str, Count] = {}


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the plugin does.

    `trace` is the file of events, `{pid}` in it the process; an existing file is not overwritten.
    `monitor` is off, or judges in the process: observe tells, enforce also accepts no more claims
    once one is violated. Its verdicts go to `trace` with `.verdicts.jsonl` after it, and to
    listeners on the Unix socket `socket`, by default `trace` with `.sock` after it.
    `enforce` are the modes that are kept; a claim of another mode in `TAKEN` is accepted and
    watched, and nothing is done to keep it.
    `defer_s` is how long a request that does not fit beside the claims waits, in seconds.
    `queue` bounds the events that wait to be written; what is over it is dropped and counted.
    `scopes` are the owner scopes of API keys; where there are any, a request without one claims
    nothing. `ahead` is a file of claims that wait for a request with their prefix.
    `claims` bounds the live claims of one owner, `owner_lives` those that are decided on in one
    run, and `lives` those of all owners. `digests` compares what is loaded back from an offload
    tier with what was stored, byte for byte.
    """

    trace: str = "resident-claims.{pid}.jsonl"
    monitor: _Monitor = "off"
    socket: str = ""
    enforce: tuple[Mode, ...] = ENFORCED
    defer_s: Seconds = 0.0
    queue: Count = 65_536
    scopes: dict[Key, Key] = {}
    ahead: str = ""
    claims: Count = 1_000
    owner_lives: Count = 250_000
    lives: Count = 1_000_000
    digests: bool = True
    drill: Drill = Drill()


class Waiting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A claim of the file `ahead`, and the prefix that it is for unless it names its object."""

    claim: dict[str, Any]
    prompt_token_ids: list[TokenId] | None = None
    cache_salt: Annotated[str, Meta(max_length=1024)] = ""


def load(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings that the environment names.

    Raises:
        SettingsError: the file cannot be read, or a field of it cannot be used.
    """
    value = environ.get(SWITCH, "").strip()
    fields: Any = {} if value.lower() in _ON else _read(value, SWITCH, _LIMIT)
    if isinstance(fields, dict) and environ.get(MONITOR):
        monitor = environ[MONITOR].strip().lower()
        if monitor not in _MONITORS:
            raise SettingsError(f"{MONITOR} is {monitor!r}", f"give one of {', '.join(_MONITORS)}")
        fields = {**fields, "monitor": monitor}
    return _convert(fields, Settings, value)


def load_ahead(path: str) -> list[Waiting]:
    """The claims of a file `ahead`.

    Raises:
        SettingsError: it cannot be read, or is no list of claims.
    """
    return _convert(_read(path, "ahead", _LIMIT_AHEAD), list[Waiting], path)


def _convert(value: Any, to: type[T], path: str) -> T:
    try:
        return msgspec.convert(value, to)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{path}: {error}", "docs/vllm.md lists the settings") from None


def _read(path: str, named_by: str, limit: int) -> Any:
    try:
        with BufferedReader(open_plain(path)) as file:
            content = file.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SettingsError(
            f"{named_by} names {path!r}, which cannot be read: {reason}",
            "give 1, or the path of a JSON file" if named_by == SWITCH else "name a JSON file",
        ) from None
    if len(content) > limit:
        raise SettingsError(f"{path} is over {limit} bytes", "name a smaller file")
    try:
        return msgspec.json.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(
            f"{path} is no JSON: {error}", "write it as docs/vllm.md does"
        ) from None
