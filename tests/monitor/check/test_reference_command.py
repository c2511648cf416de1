"""Tests of `monitor check --reference`: the naive projection judges in place of the monitor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from monitor.__main__ import main
from monitor.check.limits import MOST_LINES
from tests.monitor.test_adversary import ABSENT, REFERENCE, ROWS, TRACES, file_of

SAMPLES = sorted((Path(__file__).parents[3] / "monitor" / "samples").glob("*.jsonl"))
RECORDED = sorted(TRACES.glob("*.jsonl"))
PLAIN = [row for row in ROWS if not row[2]]


def mode_of(sample: Path) -> str:
    return "offloadable" if sample.name.startswith("offloadable") else "hard_protected"


def ended(request: str) -> str:
    """A line that says that a request ended."""
    return f'{{"kind":"request_finished","request_id":"{request}"}}\n'


def both(*arguments: str) -> tuple[int, int]:
    """The exit codes without and with --reference."""
    return main(["check", *arguments]), main(["check", "--reference", *arguments])


class TestSameExit:
    """The reference comes to what the monitor comes to."""

    @pytest.mark.skipif(not PLAIN, reason=ABSENT)
    @pytest.mark.parametrize(("name", "mode", "options", "codes"), PLAIN, ids=[r[0] for r in PLAIN])
    def test_adversary(
        self, name: str, mode: str, options: tuple[str, ...], codes: frozenset[int]
    ) -> None:
        """On every stream that fooled a monitor once; and it is the code that its row states."""
        plain, reference = both(str(file_of(name)), "--mode", mode)
        assert plain == reference
        assert reference in codes

    @pytest.mark.parametrize("sample", SAMPLES, ids=[path.stem for path in SAMPLES])
    def test_samples(self, sample: Path) -> None:
        """On every sample, canonical or recorded."""
        plain, reference = both(str(sample), "--mode", mode_of(sample))
        assert plain == reference

    @pytest.mark.skipif(not RECORDED, reason=ABSENT)
    @pytest.mark.parametrize("mode", ["offloadable", "hard_protected"])
    @pytest.mark.parametrize("file", RECORDED, ids=[path.stem for path in RECORDED])
    def test_recorded(self, file: Path, mode: str) -> None:
        """On every recorded trace, whether it is of the mode or not."""
        plain, reference = both(str(file), "--mode", mode)
        assert plain == reference

    @pytest.mark.skipif(not REFERENCE.is_dir(), reason=ABSENT)
    def test_together(self) -> None:
        """On two files of one suite, where every obligation has to be exercised."""
        files = map(str, sorted(REFERENCE.glob("*.jsonl")))
        assert (0, 0) == both(*files, "--mode", "offloadable", "--strict")

    def test_one_claim(self) -> None:
        """On one claim alone, that occurs or does not."""
        sample = str(SAMPLES[-1])
        assert (3, 3) == both(sample, "--mode", mode_of(SAMPLES[-1]), "--claim", "no such claim")


class TestOutput:
    """The report is the same, and says who judged."""

    SAMPLE = next(path for path in SAMPLES if path.stem == "hard_protected_victim")

    def test_text(self, capsys: pytest.CaptureFixture[str]) -> None:
        """In words."""
        assert 1 == main(["check", str(self.SAMPLE), "--mode", "hard_protected", "--reference"])
        said = capsys.readouterr().out
        assert said.startswith("violated: ")
        assert "the naive reference projection, not the monitor" in said

    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        """In JSON it differs from the monitor's in who judged, and where too little is known."""
        both(str(self.SAMPLE), "--mode", "hard_protected", "--format", "json")
        text, decoder, found = capsys.readouterr().out.strip(), json.JSONDecoder(), []
        while text:
            report, end = decoder.raw_decode(text)
            found.append(report)
            text = text[end:].strip()
        plain, reference = found
        assert ("monitor", "reference") == (plain.pop("judge"), reference.pop("judge"))
        assert plain == reference


class TestRefused:
    """What the reference does not judge ends with exit 2, and a sentence that says why."""

    def refused(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
        assert 2 == main(["check", "--reference", *arguments, "--mode", "hard_protected"])
        said = capsys.readouterr().err
        assert "Traceback" not in said
        return said

    def test_long(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Too many lines."""
        file = tmp_path / "long.jsonl"
        file.write_text(ended("r") * (MOST_LINES + 1))
        assert "more than 2000 lines or 1 MiB" in self.refused(capsys, str(file))

    def test_large(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Too many bytes, in however few lines."""
        file = tmp_path / "large.jsonl"
        names = ",".join(f'"{number:01000d}"' for number in range(200))
        refused = '{"kind":"request_refused","request_id":"r","blocking_claim_ids":[NAMES]}'
        file.write_text(f"{refused.replace('NAMES', names)}\n" * 6)
        assert "more than 2000 lines or 1 MiB" in self.refused(capsys, str(file))

    def test_many(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Too many claims and requests for each event to be taken to all of them."""
        file = tmp_path / "many.jsonl"
        claims = [f'{{"kind":"claim_harmed","claim_id":"c{number}"}}\n' for number in range(100)]
        file.write_text("".join([*claims, *(ended(f"r{number}") for number in range(100))]))
        assert "so many claims and requests" in self.refused(capsys, str(file))

    def test_many_blocks(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """More blocks than are looked at one by one."""
        file = tmp_path / "blocks.jsonl"
        load = '{"kind":"load_finished","claim_id":"c","request_id":"r","held":1000000}\n'
        file.write_text(load)
        assert "are more than 4096" in self.refused(capsys, str(file))

    def test_lenient(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A line that cannot be read is never skipped."""
        assert "reads every line" in self.refused(capsys, "--lenient", str(SAMPLES[0]))

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"kind":"no_such_kind"}', "\0\0"])
    def test_bad(self, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """What is no trace is bad input, as it is without the option."""
        file = tmp_path / "bad.jsonl"
        file.write_text(text)
        assert self.refused(capsys, str(file))
