"""Tests of the generated pages, and of those that stand in docs."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from spec.contract.modes import MODES
from spec.contract.obligations import OBLIGATIONS
from spec.contract.supply import Atom, Depth, Order
from spec.docs.obligations import obligation_page
from spec.docs.pages import pages
from spec.docs.wording import KIND_SETS, SHARED, term_text
from spec.events.alphabet import Kind
from spec.events.canonical import EVENT_ENCODER, Event
from spec.events.fields import FIELDS, FLAGS, IDENTITY, STAMP, fields_of
from spec.files.writing import stale, write_pages
from spec.language.terms import Or, disj
from spec.lowering.depths import Precondition
from spec.lowering.meanings import DEPTHS, MUST_HOLD, ORDERS, PRIMITIVES, WORDS
from spec.lowering.signals import Signal
from spec.lowering.vocabulary import AnchorKind, Basis, ClaimScope, Scope, Status

DOCS = Path(__file__).parents[3] / "docs"
PAGES = pages()
EACH = pytest.mark.parametrize("name", PAGES)


class TestPages:
    """The pages as they are made."""

    def test_fresh(self) -> None:
        """The pages in docs are the ones that the specification makes (else: make docs)."""
        assert [] == stale(DOCS, PAGES)

    @pytest.mark.slow
    @EACH
    def test_head(self, name: str) -> None:
        """Each page says at its top that it is generated, and by which command."""
        assert "`python -m spec docs`" in "".join(PAGES[name].splitlines()[:2])
        assert pages()[name] == PAGES[name]

    @EACH
    def test_links(self, name: str) -> None:
        """Each link leads to a page that is made and a heading on it."""
        for page, anchor in re.findall(r"\]\(([\w./-]*)(?:#([\w-]+))?\)", PAGES[name]):
            text = PAGES.get(page or name) or (DOCS / page).read_text()
            heads = {head.lower().replace(" ", "-") for head in re.findall("^#+ (.*)$", text, re.M)}
            assert not anchor or anchor in heads

    def test_complete(self) -> None:
        """Every obligation, mode and kind has its place."""
        assert all(
            f"[{name}](obligations/{name}.md)" in PAGES["obligations.md"] for name in OBLIGATIONS
        )
        assert all(f"\n## {mode}\n" in PAGES["modes.md"] for mode in MODES)
        assert all(f"\n| `{kind}` |" in PAGES["events.md"] for kind in Kind)

    def test_words(self) -> None:
        """Every word of a descriptor has its meaning."""
        assert [*Depth] == [*DEPTHS]
        assert [*Precondition] == [*MUST_HOLD]
        assert [*Signal] == [*PRIMITIVES]
        assert [*Order] == [*ORDERS]
        kinds = {Status, Scope, AnchorKind, ClaimScope, Basis, Atom}
        assert {word for kind in kinds for word in kind} == {
            w for part in WORDS.values() for w in part
        }

    def test_write(self, tmp_path: Path) -> None:
        """Writing makes what is missing, then nothing; a page that was changed is found."""
        folder = tmp_path / "new" / "docs"
        assert len(PAGES) == len(stale(folder, PAGES)) == len(write_pages(folder, PAGES))
        assert [] == write_pages(folder, PAGES) == stale(folder, PAGES)
        (folder / "modes.md").write_text("changed")
        assert [str(folder / "modes.md")] == stale(folder, PAGES)

    def test_schema(self) -> None:
        """The schema of an event lists the fields of the canonical form and no other."""
        schema = json.loads(PAGES["schema/event.json"])
        event = schema["$defs"]["Event"]
        assert set(Event.__struct_fields__) == set(event["properties"])
        assert event["additionalProperties"] is False


class TestFields:
    """What the page of the events says of the fields."""

    def test_all(self) -> None:
        """Each field of the canonical form has a unit and a meaning, in its order."""
        assert Event.__struct_fields__ == tuple(FIELDS)

    def test_kinds(self) -> None:
        """Each field belongs to every event, to the identity, or to some kind."""
        of_kinds = {name for kind in Kind for name in fields_of(kind)}
        assert set(FIELDS) == of_kinds | {*STAMP, *FLAGS, *IDENTITY}
        assert not of_kinds & {*STAMP, *FLAGS, *IDENTITY}

    def test_encodes(self) -> None:
        """An event of the canonical form is written with fields of the page only."""
        written = msgspec.json.decode(EVENT_ENCODER.encode(Event(kind=Kind.BLOCK_LOST, held=1)))
        assert set(written) <= set(FIELDS)


class TestWording:
    """The names of shared terms."""

    def test_used(self) -> None:
        """Each name of a shared term or set of kinds is defined, and used by some page."""
        text = PAGES["rule-terms.md"]
        assert all(f"`{name}`" in text for name in (*SHARED, *KIND_SETS))
        text += "".join(map(obligation_page, OBLIGATIONS.values()))
        assert all(text.count(name) > 1 for name in (*SHARED, *KIND_SETS))

    def test_negated(self) -> None:
        """A name never takes in a part that a negation before it binds."""
        live = SHARED["LIVE_WAS"][0]
        assert "not LIVE_WAS" == term_text(~live)
        assert isinstance(live, Or)
        first, *others = live.args
        assert "LIVE_WAS" not in term_text(disj(~first, *others))

    def test_whole(self) -> None:
        """A shared term by itself is shown by its name."""
        assert {name: name for name in SHARED} == {
            name: term_text(term) for name, (term, _) in SHARED.items()
        }
