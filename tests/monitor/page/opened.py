"""Reads a page as its script does, by other code."""

from __future__ import annotations

import json
import re
import struct
import zlib
from base64 import b64decode
from pathlib import Path
from typing import Any, NamedTuple

from monitor.page.report import Made, made

__all__ = ["Opened", "opened", "page_of"]

_DATA = re.compile(rb'<script type="text/plain" id="data">([^<]*)</script>')
_CODES = {4: "i", 8: "q"}


class Opened(NamedTuple):
    """The data of a page: the head, and the rows of each table by the names of its columns."""

    head: dict[str, Any]
    tables: dict[str, list[dict[str, int]]]

    def text(self, number: int) -> str | None:
        """The text of this number."""
        return None if number == -1 else self.head["texts"][number]

    def verdicts(self) -> dict[str, str]:
        """The verdict of each claim."""
        names = self.head["names"]["verdicts"]
        return {self.head["texts"][c["id"]]: names[c["verdict"]] for c in self.tables["claim"]}


def opened(page: bytes) -> Opened:
    """The data of a page."""
    (data,) = _DATA.findall(page)
    content = zlib.decompress(b64decode(data))
    (size,) = struct.unpack("<I", content[:4])
    head, place = json.loads(content[4 : 4 + size]), 4 + size
    tables: dict[str, list[dict[str, int]]] = {}
    for name, table in head["tables"].items():
        rows, columns = table["rows"], {}
        for column, width in table["columns"]:
            planes = [content[place + n * rows : place + (n + 1) * rows] for n in range(width)]
            place += width * rows
            raw = bytes(plane[row] for row in range(rows) for plane in planes)
            last, values = 0, []
            for difference in struct.unpack(f"<{rows}{_CODES[width]}", raw):
                last += difference
                values.append(last)
            columns[column] = values
        tables[name] = [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]
    assert place == len(content)
    return Opened(head, tables)


def page_of(*traces: Path | str, **options: Any) -> Made:
    """The page of some traces."""
    return made([*map(str, traces)], **options)
