"""Files of every sort: what is read, what is refused, and what it costs."""

import bz2
import gzip
import hashlib
import io
import json
import os
import tracemalloc
from pathlib import Path

import pytest

from monitor.input import lines
from monitor.input.errors import InputError, did_you_mean, shown
from monitor.input.lines import LINE_LIMIT
from monitor.input.records import Record
from monitor.input.sources import Source

GOOD = b'{"kind":"request_finished","request_id":"r","sequence":3,"time_ns":5}\n'


def records(path: Path, *, lenient: bool = False) -> tuple[list[Record], Source]:
    source = Source([str(path)], lenient=lenient)
    return list(source), source


def refused(path: Path, content: bytes) -> InputError:
    """The error for a file of this content."""
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        records(path)
    assert str(path) == caught.value.file
    return caught.value


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return tmp_path / "trace.jsonl"


class Endless(io.RawIOBase):
    """A stream of so many bytes, all alike, then a newline and a good line."""

    def __init__(self, size: int, fill: bytes = b"x") -> None:
        self.size, self.fill, self.given, self.tail = size, fill, 0, b"\n" + GOOD

    def read1(self, wanted: int) -> bytes:
        if self.given < self.size:
            wanted = min(wanted, self.size - self.given)
            self.given += wanted
            return self.fill * wanted
        tail, self.tail = self.tail[:wanted], self.tail[wanted:]
        return tail


class TestReading:
    def test_records_carry_place_and_order(self, trace: Path) -> None:
        """A record says where its line stands and how it is ordered in its stream."""
        trace.write_bytes(b"\n" + GOOD)
        [record], source = records(trace)
        assert (str(trace), 2, 3) == (record.at.file, record.at.line, record.at.sequence)
        assert (str(trace), 3, 5) == (
            record.stamp.stream,
            record.stamp.sequence,
            record.stamp.time_ns,
        )
        assert not record.stamp.form.skips
        assert 1 == source.accounts[0].lines

    def test_digest_is_of_the_bytes_on_disk(self, tmp_path: Path) -> None:
        """The digest of a compressed file is that of the compressed bytes."""
        for name, content in (("a.jsonl", GOOD), ("a.jsonl.gz", gzip.compress(GOOD, mtime=0))):
            path = tmp_path / name
            path.write_bytes(content)
            got, source = records(path)
            assert 1 == len(got)
            assert hashlib.sha256(content).hexdigest() == source.accounts[0].sha256

    def test_digest_of_what_was_read_before(self, trace: Path) -> None:
        """A file is hashed when that is asked for, unless it was changed since it was read."""
        trace.write_bytes(GOOD)
        read = lines.Lines(str(trace), hashed=False)
        assert ([(1, GOOD[:-1])], "") == ([*read], read.sha256)
        assert hashlib.sha256(GOOD).hexdigest() == read.hash_again()
        trace.write_bytes(GOOD + GOOD)
        assert read.hash_again() == ""
        trace.unlink()
        assert read.hash_again() == ""

    def test_standard_input_is_no_file(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file by the name of standard input is not read to hash that."""
        opened: list[str] = []
        monkeypatch.setattr(lines, "open_plain", opened.append)
        read = lines.Lines("-", stdin=io.BytesIO(GOOD), hashed=False)
        assert ([(1, GOOD[:-1])], "", []) == ([*read], read.hash_again(), opened)

    def test_gzip_is_told_by_content(self, trace: Path) -> None:
        """Compressed data need no suffix, and may come in several members."""
        trace.write_bytes(gzip.compress(GOOD, mtime=0) + gzip.compress(GOOD, mtime=0))
        assert 2 == len(records(trace)[0])

    def test_standard_input(self) -> None:
        """`-` is standard input, compressed or not."""
        for content in (GOOD, gzip.compress(GOOD, mtime=0)):
            source = Source(["-"], stdin=io.BytesIO(content))
            assert ["-"] == [record.at.file for record in source]
            assert hashlib.sha256(content).hexdigest() == source.accounts[0].sha256

    def test_a_path_given_twice_is_read_once(self, trace: Path) -> None:
        """The same lines are no second evidence."""
        trace.write_bytes(GOOD)
        assert 1 == len(list(Source([str(trace), str(trace)])))

    @pytest.mark.parametrize(
        "content",
        [
            GOOD.rstrip(),
            GOOD.replace(b"\n", b"\r\n"),
            b"\xef\xbb\xbf" + GOOD,
            b"\n \t\r\n" + GOOD + b"\n\n",
            '{"kind":"request_finished","request_id":"Grüße 🙂"}'.encode(),
            b'{"kind":"request_finished","request_id":"a\\":b"}',
            b'{ "kind" : "request_finished" , "request_id" : ":" }',
        ],
    )
    def test_what_ordinary_tools_write_is_read(self, trace: Path, content: bytes) -> None:
        """No last newline, CRLF, a byte-order mark, blank lines, spaces and UTF-8 are no faults."""
        trace.write_bytes(content)
        assert 1 == len(records(trace)[0])

    def test_lines_across_chunks(self, trace: Path) -> None:
        """Lines are whole wherever the pieces that are read happen to end."""
        line = GOOD.replace(b'"r"', b'"' + b"r" * 1000 + b'"')
        trace.write_bytes(line * 1000)
        got, source = records(trace)
        assert list(range(1, 1001)) == [record.at.line for record in got]
        assert 1000 == source.accounts[0].lines

    def test_an_unknown_event_is_a_record(self, trace: Path) -> None:
        """An unknown event of a recorded dialect is named, keeps its place, and carries nothing."""
        trace.write_bytes(b'{"event":"claim_frobbed","run_id":"s","event_sequence":4,"new":[1]}\n')
        [record], _ = records(trace)
        assert ("claim_frobbed", (), 4, "s") == (
            record.unknown,
            record.events,
            record.stamp.sequence,
            record.stamp.stream,
        )


class TestBadFiles:
    def test_missing(self, tmp_path: Path) -> None:
        """A missing file is named, with the file that was probably meant."""
        (tmp_path / "success_path.jsonl").write_bytes(GOOD)
        with pytest.raises(InputError) as caught:
            records(tmp_path / "succes_path.jsonl")
        assert "no such file" == caught.value.reason
        assert "did you mean success_path.jsonl?" == caught.value.hint

    def test_link_to_nothing(self, tmp_path: Path) -> None:
        """A link to a file that is missing is called that; its own name is no suggestion."""
        (tmp_path / "trace.jsonl").symlink_to(tmp_path / "gone.jsonl")
        with pytest.raises(InputError, match="no such file; it is a link, and what it points to"):
            records(tmp_path / "trace.jsonl")

    def test_directory(self, tmp_path: Path) -> None:
        """A directory is no trace."""
        with pytest.raises(InputError, match="this is a directory; name the files in it"):
            records(tmp_path)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_permission(self, trace: Path) -> None:
        """A file that may not be read is told from one that is missing."""
        trace.write_bytes(GOOD)
        trace.chmod(0)
        with pytest.raises(InputError, match="permission denied"):
            records(trace)

    def test_permission_as_anyone(self, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A refusal by the system is an input error, whoever runs the test."""

        def refuse(path: str) -> io.FileIO:
            raise PermissionError(13, "Permission denied", path)

        trace.write_bytes(GOOD)
        monkeypatch.setattr(lines, "open_plain", refuse)
        with pytest.raises(InputError, match="permission denied"):
            records(trace)

    @pytest.mark.parametrize("name", ["", "a\0b", "x" * 5000])
    def test_impossible_names(self, name: str) -> None:
        """A name that no file can have is an input error."""
        with pytest.raises(InputError):
            list(Source([name]))

    @pytest.mark.parametrize("content", [b"", gzip.compress(b"", mtime=0)])
    def test_empty(self, trace: Path, content: bytes) -> None:
        """An empty file is no evidence, and says so."""
        assert refused(trace, content).reason in (
            "the file is empty",
            "the file holds only blank lines",
        )

    def test_only_blank_lines(self, trace: Path) -> None:
        """Neither are blank lines."""
        assert "the file holds only blank lines" == refused(trace, b" \n\r\n\t\n").reason

    @pytest.mark.parametrize(
        "content",
        [
            b"\x7fELF\x02\x01\x01\0\0\0",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
            bytes(range(128, 256)) * 4,
            bz2.compress(GOOD),
            GOOD.decode().encode("utf-16"),
            b"\0" * 100_000,
            gzip.compress(b"\0" * 1_000_000, mtime=0),
        ],
    )
    @pytest.mark.parametrize("lenient", [False, True])
    def test_binary(self, trace: Path, content: bytes, lenient: bool) -> None:
        """A file that is no text is refused as a whole, lenient or not."""
        trace.write_bytes(content)
        with pytest.raises(InputError, match="not text"):
            records(trace, lenient=lenient)

    def test_named_gz_and_is_not(self, tmp_path: Path) -> None:
        """A suffix that lies is pointed out."""
        error = refused(tmp_path / "a.gz", GOOD)
        assert "named .gz, and not gzip data" == error.reason

    def test_truncated_gzip(self, trace: Path) -> None:
        """Compressed data that end too early are refused where they end."""
        content = gzip.compress(b"".join(GOOD.replace(b"5", b"%d" % n) for n in range(9000)))
        error = refused(trace, content[: len(content) // 2])
        assert "the gzip data is truncated" == error.reason
        assert error.line is not None
        got, source = records(trace, lenient=True)
        assert (len(got), 1) == (source.accounts[0].lines - 1, source.accounts[0].rejected)

    def test_damaged_gzip(self, trace: Path) -> None:
        """So are those with a flipped byte."""
        content = bytearray(gzip.compress(os.urandom(3000).hex().encode()))
        content[len(content) // 2] ^= 0xFF
        assert "gzip" in refused(trace, bytes(content)).reason

    def test_lenient_still_wants_a_file(self, tmp_path: Path) -> None:
        """Leniency is about lines: a missing or empty file is refused all the same."""
        empty = tmp_path / "empty"
        empty.write_bytes(b"")
        for path in (empty, tmp_path / "missing"):
            with pytest.raises(InputError):
                records(path, lenient=True)


BAD_LINES = [
    (b"nonsense", None, "not JSON: invalid character"),
    (b'{"kind":', None, "not JSON: it ends too early"),
    (rb'{"kind":"x\ud83d', None, "not JSON: it ends too early"),
    (rb'{"kind":"x\\ud800y', None, "not JSON: it ends too early"),
    (rb'{"kind":"x\\\ud800"}', None, r"not JSON: \ud800 is half of a surrogate"),
    (b'{"kind":"claim_accepted","footprint":NaN}', None, "not JSON: invalid character"),
    (b'{"kind":"claim_accepted"} {}', None, "not JSON: trailing characters"),
    (b"[1, 2]", None, "expected a JSON object, got [1, 2]"),
    (b"null", None, "expected a JSON object, got None"),
    (b'{"knd":"claim_accepted"}', "kind", "an event without a kind"),
    (b'{"kind":""}', "kind", "an event without a kind"),
    (b'{"kind":null}', "kind", "an event without a kind"),
    (b'{"kind":7}', "kind", "7 is no kind"),
    (b'{"kind":"\\u001b[2J"}', "kind", "is no kind"),
    (b'{"kind":"%s"}' % (b"k" * 300), "kind", "is no kind"),
    (b'{"kind":"claim_accepted","claim_id":"\xff"}', None, "not text: no UTF-8 at byte 38"),
    (b'{"kind":"request_finished","request_id":"a","request_id":"b"}', "request_id", "twice"),
    (b'{"kind" :"request_finished","kind":"claim_accepted"}', "kind", "the key occurs twice"),
    (b'{"kind":"claim_accepted","proof":{"usable":1,"usable":2}}', "usable", "twice"),
    (b'{"kind":"claim_accepted","clam_id":"c"}', "clam_id", "no such field"),
    (b'{"kind":"claim_accepted","proof":{"residnt":1}}', "proof.residnt", "no such field"),
    (b'{"kind":"claim_accepted","proof":{"resident":1}}', "proof.active", "missing"),
    (b'{"kind":"claim_accepted","footprint":-1}', "footprint", "-1 is below 0"),
    (b'{"kind":"block_lost","block_ids":[1,-2]}', "block_ids[1]", "-2 is below 0"),
    (b'{"kind":"claim_accepted","footprint":1%s}' % (b"0" * 40), "footprint", "20 digits is above"),
    (b'{"kind":"claim_accepted","time_ns":1%s}' % (b"0" * 40), "time_ns", "out of range"),
    (b'{"kind":"claim_accepted","priority":-1%s}' % (b"0" * 40), "priority", "out of range"),
    (b'{"kind":"stream_opened","sequence":1%s}' % (b"0" * 40), "sequence", "out of range"),
    (b'{"kind":"nope","sequence":1}', "kind", "there is no kind 'nope'"),
    (b'{"kind":"stream_opened","observes":"load_failed"}', "observes", "expected array"),
    (b'{"kind":"stream_opened","observes":["load"]}', "observes[0]", "'load' is no kind"),
    (b'{"kind":"stream_opened","observes":["claim_harmed"]}', "observes[0]", "is no fact"),
    (b'{"kind":"stream_closed","observes":[]}', "observes", "does not say what is observed"),
    (b'{"kind":"claim_accepted","priority":%s}' % (b"9" * 9000), None, "out of range"),
    (b'{"kind":"claim_accepted","sequence":"x"}', "sequence", "expected int | null, got str"),
    (b'{"kind":"claim_accepted","claim_id":""}', "claim_id", "the text is empty"),
    (b'{"kind":"claim_accepted","claim_id":"c","cache_identity":""}', "cache_identity", "empty"),
    (b'{"kind":"claim_accepted"}', "claim_id", "claim_accepted names no claim"),
    (b'{"kind":"request_refused"}', "request_id", "request_refused names no request"),
    (
        b'{"kind":"claim_accepted","claim_id":"c","predicate":"leading(3)"}',
        "predicate",
        "'leading'",
    ),
    (b'{"kind":"claim_accepted","claim_id":"c","duration":"15"}', "duration", ""),
    (
        b'{"kind":"block_cached","block_ids":[1,2],"positions":[0]}',
        "positions",
        "1 positions for 2",
    ),
    (b'{"kind":"block_cached","block_ids":[1,1],"positions":[0,1]}', "block_ids", "occurs twice"),
    (b'{"a":' * 100_000, None, "nested too deep"),
    (b"[" * 100_000, None, "nested too deep"),
    (b'{"kind":"claim_accepted","claim_id":"\\ud800"}', None, "not JSON"),
    (b'{"kind":"claim_accepted","claim_id":"a\x01"}', None, "not JSON"),
]


class TestBadLines:
    @pytest.mark.parametrize(("line", "field", "reason"), BAD_LINES)
    def test_refused_with_place_field_and_reason(
        self, trace: Path, line: bytes, field: str | None, reason: str
    ) -> None:
        """Each bad line is refused in a sentence that says where, what and why."""
        error = refused(trace, GOOD + b"\n" + line + b"\n")
        assert (3, field) == (error.line, field and error.field)
        assert reason in error.reason
        assert str(error).startswith(f"{trace}:3: ")
        assert len(str(error)) < 400 + len(str(trace))
        assert str(error).isprintable()

    @pytest.mark.parametrize(("line", "field", "reason"), BAD_LINES)
    def test_lenient_skips_and_counts(
        self, trace: Path, line: bytes, field: str | None, reason: str
    ) -> None:
        """Leniently read, the good lines around a bad one are there and the bad one is counted."""
        trace.write_bytes(GOOD + line + b"\n" + GOOD)
        got, source = records(trace, lenient=True)
        assert [1, 3] == [record.at.line for record in got]
        account = source.accounts[0]
        assert (3, 1) == (account.lines, account.rejected)
        assert account.rejection is not None
        assert reason in account.rejection.reason

    def test_a_nul_late_in_a_file_is_a_bad_line(self, trace: Path) -> None:
        """Only the head of a file decides that it is binary; a hole later on is one bad line."""
        trace.write_bytes(GOOD * 1000 + b"\0\0\0\n" + GOOD)
        got, source = records(trace, lenient=True)
        assert (1001, 1) == (len(got), source.accounts[0].rejected)
        assert "not text: a NUL byte" == getattr(source.accounts[0].rejection, "reason", None)

    @pytest.mark.parametrize(
        ("line", "hint"),
        [
            (b'{"knd":"claim_accepted"}', "did you mean kind?"),
            (b'{"kind":"block_evict","block_ids":[1]}', "did you mean block_evicted?"),
            (b'{"kind":"streamopened"}', "did you mean stream_opened?"),
            (b'{"kind":"frobbed"}', "docs/events.md lists the kinds"),
            (b'{"kind":"claim_accepted","clam_id":"c"}', "did you mean claim_id?"),
            (
                b'{"kind":"stream_opened","observes":["block_evicted","block_cachd"]}',
                "did you mean block_cached?",
            ),
            (b'{"kind":"stream_opened","observes":["claim_harmed"]}', "docs/events.md"),
            (b'{"kind":"stream_closed","observes":["load_failed"]}', "state it on stream_opened"),
            (b'{"kind":"claim_accepted","proof":{"residnt":1}}', "did you mean resident?"),
            (
                b'{"kind":"claim_accepted","claim_id":"c","predicate":"leading_prefix_atleast(3)"}',
                "did you mean leading_prefix_at_least?",
            ),
            (b'{"kind":"claim_accepted","footprint":Infinity}', "JSON has no NaN and no Infinity"),
            (b"{", "write one complete JSON object on each line"),
        ],
    )
    def test_hints(self, trace: Path, line: bytes, hint: str) -> None:
        """What can be mistyped is met with what was probably meant."""
        assert hint in refused(trace, line).hint

    def test_rejections_are_told_where_they_stand(self, trace: Path) -> None:
        """The caller hears of a skipped line between the records around it."""
        trace.write_bytes(GOOD + b"bad\n" + GOOD)
        heard: list[int | None] = []
        source = Source([str(trace)], lenient=True, on_reject=lambda e: heard.append(e.line))
        for record in source:
            heard.append(record.at.line)
        assert [1, 2, 3] == heard


class TestBounds:
    def test_an_endless_line_is_refused_at_once(self) -> None:
        """A line of 1 GB is refused when its limit is passed, not when it ends."""
        stream = Endless(2**30)
        with pytest.raises(InputError, match="longer than 8388608 bytes"):
            list(Source(["-"], stdin=stream))  # type: ignore[arg-type]
        assert stream.given < 4 * LINE_LIMIT

    @pytest.mark.parametrize("fill", [b"x", b" ", b"\n"])
    def test_memory_is_bounded(self, fill: bytes) -> None:
        """However long a line or a run of blank lines is, it is read in bounded memory."""
        tracemalloc.start()
        source = Source(["-"], lenient=True, stdin=Endless(2**27, fill))  # type: ignore[arg-type]
        got = list(source)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert 1 == len(got)
        assert (1 if fill == b"x" else 0) == source.accounts[0].rejected
        assert peak < 8 * LINE_LIMIT

    def test_a_gzip_bomb_is_a_long_line(self, trace: Path) -> None:
        """Decompression is bounded because lines are."""
        tracemalloc.start()
        error = refused(trace, gzip.compress(b"x" * 2**26, 9, mtime=0))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert "the line is longer than" in error.reason
        assert peak < 2**26 + 12 * LINE_LIMIT  # the bomb itself is built here

    def test_the_limit_itself(self, trace: Path) -> None:
        """A line of exactly the limit is read, one byte more is not."""
        line = json.dumps({"event": "later", "pad": ""})
        for extra, rejected in ((0, 0), (1, 1)):
            padded = line.replace('""', '"%s"' % ("p" * (LINE_LIMIT - len(line) + extra)))
            trace.write_text(padded + "\n")
            got, source = records(trace, lenient=True)
            assert (1 - rejected, rejected) == (len(got), source.accounts[0].rejected)


class TestErrors:
    def test_rendering(self) -> None:
        """An error reads FILE:LINE: field: reason; hint, and leaves out what is not known."""
        full = InputError("f", "why", line=3, field="x", hint="do")
        assert "f:3: x: why; do" == str(full)
        assert "f: why" == str(InputError("f", "why"))

    def test_shown_is_printable_and_short(self) -> None:
        """What is quoted in a message can neither flood nor steer a terminal."""
        assert shown("\x1b[31m" * 100).isprintable()
        assert len(shown("y" * 10_000)) < 80
        assert "a number of over 20 digits" == shown(10**5000)

    def test_did_you_mean(self) -> None:
        """The nearest known word is offered, or none."""
        assert "did you mean kind?" == did_you_mean("knid", ["kind", "event"])
        assert "" == did_you_mean("zzzz", ["kind"])
