"""Reads the settings: the environment, and the file that it may name.

`RESIDENT_CLAIMS` turns the plugin on: `1`, or the path of a JSON file with the fields of
`Settings`. Unset, empty or `0` it is off.
"""

from __future__ import annotations

import os
from io import BufferedReader
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar, get_args

import msgspec
from msgspec import Meta

from runtime_hooks.settings.quotas import Quotas, described
from runtime_hooks.settings.switch import SWITCH
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.files.json_text import decode_json
from spec.files.plain import open_plain
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ENFORCED",
    "RESUME_BY_RANK",
    "TAKEN",
    "ArmingError",
    "Drill",
    "Routing",
    "Settings",
    "SettingsError",
    "Waiting",
    "load",
    "load_ahead",
    "quotas_line",
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
"""The modes whose claims are accepted. Nothing is enforced for the last, only reported."""

MONITOR: Final = "RESIDENT_CLAIMS_MONITOR"
"""The environment variable for the setting `monitor`."""

RESUME_BY_RANK: Final = (
    "the setting `resume` names one file, and the server has data-parallel ranks"
)
"""Why the plugin does not arm with this setting in a rank."""

_Monitor = Literal["off", "observe", "enforce"]
_MONITORS: Final = get_args(_Monitor)
_ON: Final = frozenset({"1", "on", "true", "yes"})
_LIMIT: Final = 1 << 20  # bytes of a settings file
_LIMIT_AHEAD: Final = 64 << 20  # bytes of a file of preregistered claims

T = TypeVar("T")
Count = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Key = Annotated[str, Meta(min_length=1, max_length=1024)]
TokenId = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Seconds = Annotated[float, Meta(ge=0, le=3600)]
Interval = Annotated[float, Meta(ge=0, le=86_400)]


class SettingsError(SpecError):
    """The settings cannot be used; the plugin then stays off."""


class ArmingError(SettingsError):
    """The engine cannot be hooked, or there is no hooked engine; nothing has changed."""


class Drill(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Fault injection, for tests and drills; none by default.

    `suppress` are kinds of reports that are not written. `misattribute` maps a kind of report to
    the claim id that it names instead. `fail_loads` and `fail_stores` map a claim id to the number
    of loads from the offload tier and of copies to it that fail; the empty id stands for blocks
    that no claim owns.
    """

    suppress: tuple[Kind, ...] = ()
    misattribute: dict[Kind, str] = {}
    fail_loads: dict[str, Count] = {}
    fail_stores: dict[str, Count] = {}


class Routing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where requests go that begin with a claimed prefix, among a server's data-parallel ranks.

    A rank with `queue` waiting requests or more is full. `full` says what becomes of a request that
    only begins with a prefix of a full rank: `fallback`, to the rank that vLLM chooses, or
    `refuse`. `by_claims` turns all routing on.
    """

    by_claims: bool = True
    full: Literal["fallback", "refuse"] = "fallback"
    queue: Count = 64


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of the plugin.

    `trace` is the file of events; `{pid}` in it stands for the process. An existing file is not
    overwritten.
    `monitor` is `off`, `observe` or `enforce`. `observe` judges in the process. `enforce` also
    accepts no more claims once one is violated. Verdicts go to `trace` with `.verdicts.jsonl`
    appended, and to listeners on the Unix socket `socket`, by default `trace` with `.sock`
    appended.
    `control` is the folder of the socket for the commands `claims`; nobody else may enter it. It is
    made, by default in the user's runtime folder, or else in that for temporary files.
    `enforce` are the modes whose promises are enforced. A claim of another mode in `TAKEN` is
    accepted and only reported on.
    `defer_s` is how long a request that does not fit beside the claims waits, in seconds.
    `materialize_within_s` is how long a demotable claim may be live before it is first there, in
    seconds; then it is demoted. 0 sets no limit.
    `unlimited` says what becomes of one whose output has no limit of its own: `bound`, to what fits
    beside the claims, or `refuse`, as any other.
    `never_fits` says what becomes of a request whose tokens need more blocks than the pool has:
    `refuse`, or `wait`, which is what vLLM does, for ever.
    `without_trace` says what becomes of live claims once the trace cannot be written: `keep`, or
    `end`, which disarms the plugin. Either way no more claims are accepted.
    `restate_seconds` is the time after which the trace states again what stands, for readers that
    come late; 0 has it stated only after events were lost.
    `queue` is the most events that may wait to be written; an event over it is dropped and counted.
    `scopes` maps API keys to owner scopes; if there are any, a request without such a key cannot
    claim. `ahead` is a file of preregistered claims, which wait for a request with their prefix.
    `resume` is the file of claims that outlive the engine: written when it stops in order, taken
    when the next one starts; empty where none does.
    `claims` is the most live claims of an owner whose quota states no other number. `quotas` limit
    what the claims of each owner take; with `scopes` an owner has half of the pool by default.
    `owner_lives` is the most claims of one owner that are decided on in one run, and `lives` the
    most of all owners together. `digests` compares what is loaded from an offload tier with what
    was stored. `routing` is for servers with several data-parallel ranks.
    """

    trace: str = "resident-claims.{pid}.jsonl"
    monitor: _Monitor = "off"
    socket: str = ""
    control: str = ""
    enforce: tuple[Mode, ...] = ENFORCED
    defer_s: Seconds = 0.0
    materialize_within_s: Seconds = 0.0
    unlimited: Literal["bound", "refuse"] = "bound"
    never_fits: Literal["refuse", "wait"] = "refuse"
    without_trace: Literal["keep", "end"] = "keep"
    restate_seconds: Interval = 60.0
    queue: Count = 65_536
    scopes: dict[Key, Key] = {}
    ahead: str = ""
    resume: str = ""
    claims: Count = 1_000
    quotas: Quotas = Quotas()
    owner_lives: Count = 250_000
    lives: Count = 1_000_000
    digests: bool = True
    drill: Drill = Drill()
    routing: Routing = Routing()


class Waiting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A claim of the file `ahead`, with its prompt unless it names its object id."""

    claim: dict[str, Any]
    prompt_token_ids: list[TokenId] | None = None
    cache_salt: Annotated[str, Meta(max_length=1024)] = ""


def quotas_line(settings: Settings) -> str:
    """What an owner may claim, in one line."""
    return described(settings.quotas, claims=settings.claims, half=bool(settings.scopes))


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
        raise SettingsError(
            f"{path}: {error}", "docs/vllm-operating.md lists the settings"
        ) from None


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
        return decode_json(content, object)
    except ValueError as error:
        raise SettingsError(
            f"{path} is no JSON: {error}", "write it as docs/vllm-operating.md does"
        ) from None
