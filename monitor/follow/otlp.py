"""Posts verdicts to an OpenTelemetry collector, as log records in the JSON form of OTLP/HTTP."""

from __future__ import annotations

import ipaddress
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from monitor.follow.poster import Poster, check_url
from monitor.follow.verdict_line import LimitLine, ViolationLine
from spec import __version__
from spec.language.errors import SpecError
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from monitor.follow.verdict_line import VerdictLine

__all__ = ["OtlpLogs", "check_endpoint", "log_record"]

CLAIM, VIOLATION = "resident_claims.claim", "resident_claims.violation"
LIMIT: Final = "resident_claims.limit"
"""The names of log records: the verdict on a claim, a violation, and a limit that was reached."""

_PATH: Final = "/v1/logs"
_MAY_HELP: Final = (429, 502, 503, 504)  # the specification of OTLP lists these
_SEVERITIES: Final = {
    ModeVerdict.KEPT: (9, "INFO"),
    ModeVerdict.INCONCLUSIVE: (13, "WARN"),
    ModeVerdict.VIOLATED: (17, "ERROR"),
}
_ATTRIBUTES: Final = (
    *("id", "source", "stream", "claim_id", "mode", "obligation", "verdict", "limit"),
)


class OtlpLogs(Poster):
    """Posts each line of the file of verdicts as a log record.

    Its body is the line. What is posted again, after a restart or because an answer was lost, has
    the same attribute `resident_claims.id`.

    Args:
        token: is sent as `Authorization: Bearer`; None for none.
    """

    NAME, POSTS, MOST = "otlp", "log records", 100

    def __init__(self, url: str, token: str | None, report: Callable[[str], None]) -> None:
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        super().__init__(url, report)

    def wants(self, line: VerdictLine) -> bool:
        """Whether it is posted: every line is."""
        return True

    def content(self, lines: Sequence[VerdictLine]) -> tuple[Mapping[str, str], bytes]:
        """A request to export these."""
        now = time.time_ns()
        scope = {"name": "resident-claims", "version": __version__}
        records = [log_record(line, now) for line in lines]
        logs = {
            "resource": {"attributes": _attributes({"service.name": "resident-claims"})},
            "scopeLogs": [{"scope": scope, "logRecords": records}],
        }
        return self._headers, msgspec.json.encode({"resourceLogs": [logs]})

    def retries(self, code: int) -> bool:
        """Whether the answer may change."""
        return code in _MAY_HELP

    def refused(self, answer: bytes, lines: int) -> int:
        """How many records the collector says that it rejected."""
        try:
            said = msgspec.json.decode(answer)["partialSuccess"]["rejectedLogRecords"]
            return max(0, min(int(said), lines))
        except (ValueError, LookupError, TypeError, RecursionError):
            return 0  # usually there is nothing to say


def log_record(line: VerdictLine, now_ns: int) -> dict[str, Any]:
    """A line as a log record. When its event happened is unknown: events have no wall clock.

    Args:
        now_ns: when it is written, in ns since 1970.
    """
    kind, verdict, severity = _said(line)
    number, name = _SEVERITIES[severity]
    about = {
        f"resident_claims.{field}": str(value)
        for field in _ATTRIBUTES
        if (value := verdict if field == "verdict" else getattr(line, field, None)) is not None
    }
    return {
        "observedTimeUnixNano": str(now_ns),
        "severityNumber": number,
        "severityText": name,
        "eventName": kind,
        "body": {"stringValue": msgspec.json.encode(line).decode()},
        "attributes": _attributes(about),
    }


def _said(line: VerdictLine) -> tuple[str, ModeVerdict | None, ModeVerdict]:
    """What a line is called, its verdict if it has one, and the verdict that weighs as much."""
    if isinstance(line, ViolationLine):
        return VIOLATION, ModeVerdict.VIOLATED, ModeVerdict.VIOLATED
    if isinstance(line, LimitLine):
        return LIMIT, None, ModeVerdict.INCONCLUSIVE
    return CLAIM, line.verdict, line.verdict if line.entered else ModeVerdict.KEPT


def check_endpoint(url: str, token: str | None) -> str:
    """The address to which log records are posted: with the usual path if it has none.

    Raises:
        SpecError: it is none, or the token would be sent to another machine in the clear.
    """
    check_url(url, "--otlp")
    parts = urlsplit(url)
    if token is not None and parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
        raise SpecError(
            f"--otlp {url}: the token would be sent to another machine in the clear",
            "give an https address, or leave out --otlp-token",
        )
    return url if parts.path not in ("", "/") else parts._replace(path=_PATH).geturl()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _attributes(pairs: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in pairs.items()]
