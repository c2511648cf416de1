"""Runs `watch`: follows KV events, shows what becomes of the claims of a registry, and says how it
ended.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import msgspec
import typer

from monitor.check.files import EXIT_CODES
from monitor.follow.command import Display, followed
from monitor.follow.verdict_line import ClaimLine, ViolationLine, line_text
from monitor.input.errors import InputError
from monitor.input.lines import is_packed
from monitor.watch.compare import Comparison
from monitor.watch.lines import (
    DisagreementLine,
    EndLine,
    EngineLine,
    change_line,
    known,
    loss_line,
)
from monitor.watch.peer_addresses import is_replayed, peers_of
from monitor.watch.peers import StreamPeer
from monitor.watch.preconditions import Met, preconditions
from monitor.watch.reader import Joins
from monitor.watch.standing import State
from monitor.watch.table import change_text, comparisons, disagreement_text, summary, table
from spec.cli.common import Code, console, print_text
from spec.cli.layout import Page, paper, rendered
from spec.language.errors import SpecError
from spec.language.prose import counted, printable
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.follow.command import Asked, Followed
    from monitor.follow.metrics import Samples
    from monitor.follow.verdict_line import VerdictLine
    from monitor.input.dialects import Reader
    from monitor.watch.compare import Disagreement
    from monitor.watch.join import Change, Join
    from monitor.watch.peer_addresses import Peer
    from monitor.watch.preconditions import Evaluated
    from monitor.watch.registry import Watching
    from spec.cli.layout import Paper

__all__ = ["MOST_NAMED", "MOST_STANDINGS", "Watch", "watch_events"]

MOST_NAMED: Final = 1_000
"""Claims on each engine that have metrics of their own, of all engines together."""

MOST_STANDINGS: Final = 1_000_000
"""Claims on each engine that are watched at once, of all engines together."""

_REFRESH_S: Final = 0.5
_QUIET_S: Final = 10.0  # without any batch, before a note on that
_FRAME: Final = 4  # lines of the live table beside its rows
_SHOWN_DIFFERENCES: Final = 3  # of each comparison, below the live table


def watch_events(
    watching: Watching,
    asked: Asked,
    *,
    verbose: bool,
    by_claim: bool,
    compare: Sequence[str] = (),
) -> int:
    """Watch the claims of a registry on the engines of these sources; the exit code.

    Args:
        compare: other observers of these engines, which are compared with them.
        verbose: print the preconditions that are met, too.
        by_claim: export metrics of each claim.

    Raises:
        InputError: a source is not there, or cannot be followed.
        SpecError: an option cannot be served.
    """
    if by_claim and asked.metrics is None:
        raise SpecError("--metrics-by-claim without --metrics", "name the address, too")
    if by_claim and len(watching.claims) > MOST_NAMED:
        cause = f"--metrics-by-claim with {len(watching.claims)} claims"
        raise SpecError(cause, f"at most {MOST_NAMED} have metrics: leave it out")
    watch = Watch(watching, asked, peers_of(compare, asked), by_claim=by_claim)
    for name in asked.sources:
        if not asked.until_eof and os.path.isfile(name) and not is_packed(name):
            text = f"{name}: followed as it grows; --until-eof ends where it ends now"
            typer.echo(printable(text), err=True)
    with watch:
        found = followed(watch.sources, watch)
    return watch.conclude(found, verbose=verbose)


class Watch(Display):
    """The claims of a registry on several engines, and what is shown of them.

    On a terminal it is a table that is drawn again and again; elsewhere a line for each change.

    Args:
        peers: other observers of these engines, which are compared with them.
    """

    def __init__(
        self,
        watching: Watching,
        asked: Asked,
        peers: Sequence[Peer] = (),
        *,
        by_claim: bool = False,
    ) -> None:
        super().__init__(asked)
        self._watching, self._peers, self._by_claim = watching, peers, by_claim
        self._streams = {each.name: each for each in peers if isinstance(each, StreamPeer)}
        self._comparison = Comparison(peers, watching.block_size, self._differed)
        self._live: Any = None
        self._drawn, self._began, self._noted = 0.0, time.monotonic(), False
        self._inconclusive: dict[str, str] = {}  # claims, each with the first reason
        self._joins = Joins(watching, self._changed, self._check_count)
        self.joins = self._joins.made

    def __enter__(self) -> None:
        if not self._asked.json and sys.stdout.isatty():
            from rich.live import Live

            self._live = Live(console=console(), auto_refresh=False, transient=True)
            self._live.start()

    def __exit__(self, *_: object) -> None:
        for peer in self._peers:
            peer.close()
        if self._live is not None:
            self._live.stop()

    @property
    def sources(self) -> Asked:
        """What was asked for, with the sources of peers beside those of engines."""
        return replace(self._asked, sources=[*self._asked.sources, *self._streams])

    def reader(self, source: str) -> Reader:
        """A reader of KV events that joins them with the claims, or compares them."""
        peer = self._streams.get(source)
        return self._joins.reader(source) if peer is None else peer.reader()

    def _check_count(self, source: str) -> None:
        if (len(self.joins) + 1) * len(self._watching.claims) > MOST_STANDINGS:
            raise InputError(source, f"over {MOST_STANDINGS} claims on all engines together")
        if self._by_claim and len(self.joins) == self._named:
            text = f"{source}: claims on further engines have no metrics of their own"
            typer.echo(printable(f"{text}, {MOST_NAMED} have"), err=True)

    @property
    def _named(self) -> int:
        """The number of engines on which claims have metrics of their own."""
        return MOST_NAMED // len(self._watching.claims)

    def _changed(self, change: Change) -> None:
        if change.lost:
            self.post([loss_line(change)])
        if self._asked.json:
            typer.echo(msgspec.json.encode(change_line(change)))
        elif self._live is None:
            print_text(change_text(change))

    def _differed(self, join: Join, peer: Peer, each: Disagreement, over: str) -> None:
        if self._asked.json:
            line = DisagreementLine(join.stream, peer.name, join.now_ns, each, over)
            typer.echo(msgspec.json.encode(line))
        elif self._live is None:
            print_text(disagreement_text(join, peer.name, each, over))

    def _engines(self) -> list[tuple[Join, bool]]:
        """The engines, and whether a silent one is known to have sent no more."""
        pairs = zip(self.joins, self._joins.sources, strict=True)
        named = self._asked.sources  # sockets that a server listed may have none that replays
        return [
            (join, source in named and is_replayed(source, self._asked)) for join, source in pairs
        ]

    def show(self, lines: Sequence[VerdictLine]) -> None:
        """Show what was decided: violations; the verdicts come at the end."""
        for line in lines:
            if isinstance(line, ClaimLine) and line.verdict is ModeVerdict.INCONCLUSIVE:
                reason = next(iter(line.reasons.values()), None)
                why = line.why if reason is None else reason.why
                self._inconclusive.setdefault(line.claim_id, why)
            if self._asked.json:
                typer.echo(msgspec.json.encode(line))
            elif isinstance(line, ViolationLine):
                if self._live is not None:
                    self._live.console.print(line_text(line), end="")
                else:
                    print_text(line_text(line))

    def look(self) -> None:
        """Draw the table, if it is time."""
        now = time.monotonic()
        self._comparison.look(self._engines())
        if not self.joins and not self._noted and now - self._began > _QUIET_S:
            self._noted = True
            sources = ", ".join(self._asked.sources)
            typer.echo(
                printable(f"no batch of KV events was received yet from {sources}"), err=True
            )
        if self._live is None:
            sys.stdout.flush()
        elif now - self._drawn > _REFRESH_S:
            from rich.text import Text

            self._drawn = now
            self._live.update(Text.assemble(*self._drawing().parts), refresh=True)

    def _drawing(self) -> Page:
        """The table as it is drawn on the terminal."""
        size = self._live.console.size
        page = Page(size.width).put(f"{self._claims()}: {summary(self.joins)}")
        compared = comparisons(self._comparison.results(), size.width, _SHOWN_DIFFERENCES)
        rows = size.height - _FRAME - str(compared).count("\n")
        return page.append(table(self.joins, size.width, max(rows, 1))).append(compared)

    def _claims(self) -> str:
        claims = counted(len(self._watching.claims), "claim")
        return claims if len(self.joins) < 2 else f"{claims} on {len(self.joins)} engines"

    def samples(self) -> Samples:
        """Metrics by stream and mode; before the first batch every claim is unknown."""
        claims, losses = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
        seconds = dict[tuple[str, ...], float]()
        for source in self._asked.sources if not self.joins else ():
            for claim in self._watching.claims.values():
                claims[source, str(claim.mode), str(State.UNKNOWN)] += 1
        for join in [*self.joins]:
            for each in join.standings.values():
                labels = join.stream, str(each.claim.mode)
                for state in State:
                    claims[*labels, str(state)] += each.state is state
                losses[labels] += each.losses
                seconds[labels] = seconds.get(labels, 0.0) + each.resident_ns(join.now_ns) / 1e9
        found: Samples = {
            "watched_claims": claims.items(),
            "watched_losses": losses.items(),
            "watched_resident_seconds": seconds.items(),
        }
        return found | self._samples_by_claim() if self._by_claim else found

    def _samples_by_claim(self) -> Samples:
        """Metrics by stream and claim, of the first engines."""
        blocks, losses = dict[tuple[str, ...], float](), dict[tuple[str, ...], float]()
        for join in self.joins[: self._named]:
            for name, each in join.standings.items():
                held, unknown = join.counts(each)
                for what, count in (("needed", each.needed), ("held", held), ("unknown", unknown)):
                    blocks[join.stream, name, what] = count
                losses[join.stream, name] = each.losses
        return {"watched_claim_blocks": blocks.items(), "watched_claim_losses": losses.items()}

    def conclude(self, found: Followed, *, verbose: bool) -> int:
        """Say how it ended; the exit code, which no comparison changes."""
        found = found._replace(
            reports=[each for each in found.reports if each.inputs[0].file not in self._streams],
            judges={n: each for n, each in found.judges.items() if n not in self._streams},
            unreplayed=[name for name in found.unreplayed if name not in self._streams],
        )
        self._comparison.compare(self._engines())
        compared = self._comparison.results()
        silent = [r.inputs[0].file for r in found.reports if not r.events.read]
        ends = [f"no batch was read from {source}" for source in silent]
        ends += [f"no replay of {source} shows its last batch" for source in found.unreplayed]
        conditions = preconditions(self._watching, self.joins, open_ends=ends)
        verdict, why = self._verdict(found, conditions)
        read = sum(report.events.read for report in found.reports)
        if self._asked.json:
            end = EndLine(
                verdict,
                why,
                read,
                [
                    EngineLine(j.stream, [known(j, each) for each in j.standings.values()])
                    for j in self.joins
                ],
                conditions,
                found.breaks(),
                {each.file: each.form for report in found.reports for each in report.inputs},
                compared,
            )
            typer.echo(msgspec.json.encode(end))
        else:
            out = paper()
            shown = [each for each in conditions if verbose or each.met is not Met.MET]
            page = self._page(out, f"{verdict}: {why}", shown, found)
            if compared:
                page.put().append(comparisons(compared, out.width))
            print_text(rendered(page, out))
        if not read and any(report.inputs[0].rejected for report in found.reports):
            return Code.BAD_INPUT
        return EXIT_CODES[verdict]

    def _page(
        self, out: Paper, said: str, conditions: Sequence[Evaluated], found: Followed
    ) -> Page:
        page = Page(out.width)
        page.put().put(printable(said)).put()
        page.append(table(self.joins, out.width)).put()
        rows = [(each.precondition, each.met, printable(each.evidence)) for each in conditions]
        if rows:
            page.grid(rows, head=("precondition", "", "evidence"), gap=2).put()
        else:
            page.put("preconditions of a join: 9 of 9 met")
        for report in found.reports:
            if form := report.inputs[0].form:
                page.put(printable(f"{report.inputs[0].file}: {form}"))
        for text in found.breaks():
            page.put(printable(text))
        return page

    def _verdict(self, found: Followed, conditions: Sequence[Evaluated]) -> tuple[ModeVerdict, str]:
        """The verdict over all claims, and why; they are kept only if all preconditions are met."""
        names = self._watching.claims
        standings = [each for join in self.joins for each in join.standings.values()]
        if found.verdict is ModeVerdict.VIOLATED:
            return found.verdict, "what was reported of a claim contradicts the facts"
        if missing := self._unjudged():
            shown = ", ".join([*missing][:3]) + (", ..." if len(missing) > 3 else "")
            which = f"{len(missing)} of {counted(len(names), 'claim')}"
            why = next(iter(missing.values()))
            return ModeVerdict.INCONCLUSIVE, f"{which} could not be judged, {shown}: {why}"
        unmet = [e for e in conditions if e.met is not Met.MET]
        whys = [f"{each.precondition} is {each.met}: {each.evidence}" for each in unmet]
        if found.verdict is ModeVerdict.INCONCLUSIVE:
            return found.verdict, next(iter([*found.breaks(), *self._doubtful(), *whys]), "")
        if whys:
            return ModeVerdict.INCONCLUSIVE, whys[0]
        losses = sum(each.losses for each in standings)
        lost = f"{losses} {'loss' if losses == 1 else 'losses'}"
        why = f"every change of {self._claims()} was observed: {summary(self.joins)}, {lost}"
        return found.verdict, why

    def _doubtful(self) -> list[str]:
        """Which claims are inconclusive, and why the first of them is; empty if none is."""
        if not self._inconclusive:
            return []
        which = f"{len(self._inconclusive)} of {counted(len(self._watching.claims), 'claim')}"
        name, why = next(iter(self._inconclusive.items()))
        return [f"{which}; {name}: {why}"]

    def _unjudged(self) -> dict[str, str]:
        """Claims that were not judged on an engine although they may have been held there, or that
        were judged on none, each with the reason.
        """
        judged, found = set[str](), dict[str, str]()
        for join in self.joins:
            for name, each in join.standings.items():
                if each.periods:
                    judged.add(name)
                elif each.state is not State.ABSENT or not join.is_whole:
                    found[name] = join.why_unjudged(each)
        never = "not all of their blocks were stored" if self.joins else "no batch was read"
        return found | {n: never for n in self._watching.claims if n not in judged | found.keys()}
