"""Asks the explorer's application in process, and reads its pages."""

from __future__ import annotations

import asyncio
import re
from html.parser import HTMLParser
from typing import Any, NamedTuple

from spec.contract.obligations import OBLIGATIONS


class Answer(NamedTuple):
    """What the application answered."""

    status: int
    headers: dict[str, str]
    text: str


def ask(app: Any, path: str, method: str = "GET", host: str | None = "127.0.0.1:8765") -> Answer:
    """The answer to one request."""
    sent: list[dict[str, Any]] = []
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [] if host is None else [(b"host", host.encode())],
        "server": ("127.0.0.1", 8765),
        "client": ("127.0.0.1", 1),
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    body = b"".join(each.get("body", b"") for each in sent[1:])
    return Answer(sent[0]["status"], headers, body.decode())


class Page(HTMLParser):
    """The tags of a page with their attributes, the text of its links, and its table rows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.links: list[tuple[str, str]] = []
        self.rows: list[list[str]] = []
        self._href: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "a":
            self._href = dict(attrs)["href"]
            self.links.append((self._href or "", ""))
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._href = None

    def handle_data(self, data: str) -> None:
        if self._href is not None:
            href, text = self.links[-1]
            self.links[-1] = href, text + data
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data

    @property
    def violated(self) -> set[str]:
        """The obligations that are violated to some claim."""
        found = [row for row in self.rows if len(row) == 3 and row[0] in OBLIGATIONS]
        return {name for name, verdict, _ in found if verdict.startswith("violated")}

    def choices(self, here: str) -> list[tuple[str, str]]:
        """The actions to take next with their links, in the state of this path."""
        base = here if here.endswith("/") else f"{here}."
        return [
            (href, text.partition(". ")[2])
            for href, text in self.links
            if href.startswith(base) and re.match(r"\d+\. ", text)
        ]
