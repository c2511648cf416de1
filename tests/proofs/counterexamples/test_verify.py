"""Tests of the verification of a suite: whatever is changed in its folder is named."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from models.counterexamples import file_name
from models.registry import runtime
from proofs.counterexamples.folder import read_index
from proofs.counterexamples.refute import refute
from proofs.counterexamples.suite import Row, Suite, files
from proofs.counterexamples.verify import Change, compared, selection
from spec.language.errors import SpecError

NAME = "write no-admit -> hard_protected"
FILE = "write-no-admit-hard-protected"


@pytest.fixture(scope="module")
def made() -> dict[str, bytes]:
    """The files of the suite of one runtime."""
    return files([("vllm_pool", refute(each)) for each in runtime("vllm_pool").inferences])


@pytest.fixture
def folder(made: dict[str, bytes], tmp_path: Path) -> Path:
    """A folder with them."""
    for name, content in made.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def changes(folder: Path, made: dict[str, bytes]) -> list[Change]:
    """What is named of the folder."""
    return compared(folder, read_index(folder), made)


def edited(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Edit the index of the folder."""
    path = folder / "index.json"
    index = json.loads(path.read_text())
    edit(index)
    path.write_text(json.dumps(index))


def another(value: object) -> object:
    """Another value of the same type, where there is one."""
    match value:
        case str():
            return value + "x"
        case int():
            return value + 1
        case list():
            return [*value, "x"]
        case dict():
            return {**value, "mode": "x"}
    return "x"


def text(value: object) -> str:
    """A value as the change has it."""
    return msgspec.json.encode(value).decode()


def test_unchanged(folder: Path, made: dict[str, bytes]) -> None:
    """Of what is as it was made, nothing is named."""
    assert [] == changes(folder, made)


@pytest.mark.parametrize("row", range(3))
@pytest.mark.parametrize("field", [name for name in Row.__struct_fields__ if name != "inference"])
class TestRow:
    """Each field of each row, by the form of a row: a new one is tested as well."""

    def test_changed(self, folder: Path, made: dict[str, bytes], row: int, field: str) -> None:
        """Another value is named with both values."""
        was = json.loads(made["index.json"])["rows"][row]
        value = another(was[field])
        edited(folder, lambda index: index["rows"][row].update({field: value}))
        expected = Change(was["inference"], field, text(value), text(was[field]))
        assert [expected] == changes(folder, made)

    def test_missing(self, folder: Path, made: dict[str, bytes], row: int, field: str) -> None:
        """A field that is gone is named with its value."""
        was = json.loads(made["index.json"])["rows"][row]
        edited(folder, lambda index: index["rows"][row].pop(field))
        assert [Change(was["inference"], field, None, text(was[field]))] == changes(folder, made)


@pytest.mark.parametrize(
    "value", [True, 12.0, "12", None, [12], {"a": 12}], ids=lambda value: type(value).__name__
)
def test_a_value_of_another_type(folder: Path, made: dict[str, bytes], value: object) -> None:
    """What Python takes for equal is not, if JSON has it apart."""
    edited(folder, lambda index: index["rows"][0].update(events=value))
    assert ["events"] == [each.what for each in changes(folder, made)]


@pytest.mark.parametrize("at", [None, 0])
def test_an_extra_field(folder: Path, made: dict[str, bytes], at: int | None) -> None:
    """A field that the form has not is named, of the index and of a row."""
    edited(folder, lambda index: (index if at is None else index["rows"][at]).update(new=1))
    assert [("new", "1", None)] == [(c.what, c.was, c.now) for c in changes(folder, made)]


@pytest.mark.parametrize("field", [each for each in Suite.__struct_fields__ if each != "rows"])
def test_a_field_of_the_index(folder: Path, made: dict[str, bytes], field: str) -> None:
    """Each field of the index is looked at; an index of another schema is bad input."""
    edited(folder, lambda index: index.update({field: "x"}))
    if field == "schema":
        with pytest.raises(SpecError, match="is no resident-claims/suite/1"):
            read_index(folder)
    else:
        assert [field] == [each.what for each in changes(folder, made)]
        edited(folder, lambda index: index.pop(field))
        assert [(field, None)] == [(each.what, each.was) for each in changes(folder, made)]


def test_rows(folder: Path, made: dict[str, bytes]) -> None:
    """A row that is missing, unknown, there twice, none at all, or at another place is named."""
    rows = json.loads(made["index.json"])["rows"]
    names = [row["inference"] for row in rows]

    def named(*these: object) -> list[tuple[str, str]]:
        edited(folder, lambda index: index.update(rows=list(these)))
        return [(each.inference, each.what) for each in changes(folder, made)]

    assert [(names[1], "inference")] == named(rows[0], rows[2])
    assert [("x", "inference")] == named(*rows, {**rows[0], "inference": "x"})
    assert [(names[0], "rows of it")] == named(*rows, rows[0])
    assert [("", "row 4")] == named(*rows, 7)
    assert [("", "row 4")] == named(*rows, {"runtime": "vllm_pool"})
    assert [("", "order of rows")] == named(rows[1], rows[0], rows[2])


def test_every_line_of_every_file(folder: Path, made: dict[str, bytes]) -> None:
    """A line that is changed, missing or new is named, in each file."""
    tried = 0
    for name, content in made.items():
        if name == "index.json":
            continue
        lines = content.splitlines(keepends=True)
        for at in {0, len(lines) // 2, len(lines) - 1}:
            for rest in ([b"x\n"], [], [lines[at], b"x\n"]):
                (folder / name).write_bytes(b"".join([*lines[:at], *rest, *lines[at + 1 :]]))
                found = changes(folder, made)
                assert found, (name, at, rest)
                assert found[0].what.startswith(f"{name}:"), (name, at, rest)
                tried += 1
        (folder / name).write_bytes(content)
    assert 9 * (len(made) - 1) - 9 <= tried
    assert [] == changes(folder, made)


def test_files(folder: Path, made: dict[str, bytes]) -> None:
    """A file that is missing, of nobody, a folder or a pipe is named."""
    (folder / "index.csv").unlink()
    (folder / f"{FILE}.jsonl").unlink()
    (folder / f"{FILE}.jsonl").mkdir()
    (folder / f"{FILE}.itf.json").unlink()
    os.mkfifo(folder / f"{FILE}.itf.json")
    (folder / "mine.txt").write_text("mine")
    found = [(each.inference, each.what, each.now) for each in changes(folder, made)]
    assert [
        ("", "index.csv", "a file"),
        ("", "mine.txt", None),
        (NAME, f"{FILE}.itf.json", "a file"),
        (NAME, f"{FILE}.jsonl", "a file"),
    ] == found


def test_the_text_of_the_index(folder: Path, made: dict[str, bytes]) -> None:
    """An index of the same values in another form is named by its first line that differs."""
    edited(folder, lambda index: index)
    assert ["index.json:1"] == [each.what for each in changes(folder, made)]


def test_a_trace_that_is_no_run(folder: Path, made: dict[str, bytes]) -> None:
    """Of a trace that is another it is named, too, what the model and the monitor say of it."""
    path = folder / f"{FILE}.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"block_evicted"', b'"block_lost"'))
    assert ["trace"] == [each.what for each in changes(folder, made)][1:]
    path.write_bytes(b"".join(made[path.name].splitlines(keepends=True)[:-1]))
    assert ["verdict of the trace"] == [each.what for each in changes(folder, made)][1:]
    path.write_bytes(b"{}\n")
    assert ["trace"] == [each.what for each in changes(folder, made)][1:]


def test_a_new_specification_is_named_once(folder: Path, made: dict[str, bytes]) -> None:
    """The digest in each ITF document is the one of the index, which is named."""
    old = "0" * 64
    spec = json.loads(made["index.json"])["spec"]
    for name, content in made.items():
        (folder / name).write_bytes(content.replace(spec.encode(), old.encode()))
    assert [Change("", "spec", text(old), text(spec))] == changes(folder, made)


def test_selection(tmp_path: Path) -> None:
    """A suite is of one runtime or all, of one mode or all, by the rows and files that it has."""
    names = [each.name for each in runtime("vllm_pool").inferences]
    others = [each.name for each in runtime("lmcache").inferences]
    pin, mode = others[0], runtime("lmcache").inferences[0].mode

    def of(*names: object) -> tuple[str | None, object]:
        return selection(tmp_path, {"rows": [{"inference": name} for name in names]})

    assert ("vllm_pool", None) == of(*names)
    assert (None, None) == of(*names, *others)
    assert ("lmcache", mode) == of(pin, "x", 7)
    with pytest.raises(SpecError, match="no inference of the suite is known"):
        of("x", None)
    for name in others:
        (tmp_path / f"{file_name(name)}.jsonl").touch()
    assert ("lmcache", None) == of(pin)
