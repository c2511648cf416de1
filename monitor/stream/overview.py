"""Says what several streams hold, counted together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monitor.evaluate.claim import ClaimRun
    from monitor.input.records import At
    from monitor.stream.projection import Stream

__all__ = ["Overview"]


class Overview:
    """Streams by their files and names, and what they hold."""

    _streams: dict[tuple[str, str], Stream]

    def left(self) -> Iterable[tuple[str, tuple[At | None, str]]]:
        """The files in which a stream leaves what the theorem assumes, each with where and how."""
        for (file, _), stream in self._streams.items():
            if stream.left is not None:
                yield file, stream.left
            elif stream.past.forgotten:
                yield file, (None, stream.limits["ids"])

    def contradicted(self) -> Iterable[tuple[str, str]]:
        """The files in which facts contradict each other, each with how."""
        for (file, _), stream in self._streams.items():
            if stream.contradicted is not None:
                yield file, stream.contradicted[1]

    def claims(self) -> Iterable[ClaimRun]:
        """Every claim of every stream, as it stands."""
        return (claim for stream in self._streams.values() for claim in stream.claims.values())

    def altered(self) -> Iterable[ClaimRun]:
        """One for each kind of forgotten claims of which less can be concluded since."""
        pasts = (stream.past for stream in self._streams.values())
        return (alike.run for past in pasts for alike in past if alike.altered and alike.count)

    def knows(self, claim_id: str) -> bool:
        """Whether a claim of this id is judged here, or was, in any stream."""
        return any(stream.knows(claim_id) for stream in self._streams.values())

    @property
    def left_out(self) -> int:
        """Events about claims and requests beyond those that are followed (`Keep`)."""
        return sum(stream.left_out for stream in self._streams.values())

    def limits(self, file: str, name: str) -> dict[str, str]:
        """The limits that a stream reached, and what came of each."""
        stream = self._streams.get((file, name))
        return {} if stream is None else stream.limits

    @property
    def given_up(self) -> tuple[int, int]:
        """Claims and requests that ended and of which no more than a digest is kept, or nothing."""
        streams = self._streams.values()
        return sum(s.past.given_up for s in streams), sum(s.requests.given_up for s in streams)

    @property
    def live(self) -> int:
        """Claims in hand that have not ended, of every stream."""
        return sum(stream.live for stream in self._streams.values())

    @property
    def requests(self) -> int:
        """Requests of which something is known, of every stream."""
        return sum(len(stream.requests) for stream in self._streams.values())

    def has(self, claim_id: str) -> bool:
        """Whether a claim of this id was met, and is not forgotten for good, in any stream."""
        streams = self._streams.values()
        return any(claim_id in each.claims or each.past.has(claim_id) for each in streams)

    @property
    def streams(self) -> frozenset[str]:
        """The names of the streams, of every file."""
        return frozenset(name for _, name in self._streams)
