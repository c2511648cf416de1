"""A registry is read strictly: what a person may mistype is named with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from monitor.cli.pages import schema as schema_of
from monitor.watch.registry import Registry, load_registry
from spec.claims.states import Mode
from spec.language.errors import DocumentError, SpecError
from tests.monitor.watch.watching import registry, write_registry
from tests.schemas import faults

TOKENS = [*range(10)]


def refused(folder: Path, *claims: dict[str, Any], **fields: Any) -> str:
    """What is said of a registry that is refused."""
    with pytest.raises(SpecError) as caught:
        load_registry(write_registry(folder, [*claims], **fields))
    return str(caught.value)


class TestLoad:
    def test_blocks(self, tmp_path: Path) -> None:
        """Whole blocks of the prefix are needed; what is left over is not."""
        watching = load_registry(write_registry(tmp_path, [{"id": "a", "tokens": TOKENS}]))
        claim = watching.claims["a"]
        assert claim.blocks == ((0, 1, 2, 3), (4, 5, 6, 7))
        assert (claim.predicate, claim.mode) == ("leading_prefix_at_least(2)", Mode.BEST_EFFORT)

    def test_predicate(self, tmp_path: Path) -> None:
        """A predicate may need fewer, in blocks or in tokens."""
        for text in ("leading_prefix_at_least(1)", "leading_prefix_at_least(4 tokens)"):
            claim = {"id": "a", "tokens": TOKENS, "predicate": text}
            watching = load_registry(write_registry(tmp_path, [claim]))
            assert watching.claims["a"].blocks == ((0, 1, 2, 3),)

    def test_one_prefix_is_one_object(self, tmp_path: Path) -> None:
        """Claims on one prefix have an object in common; with another salt they have not."""
        claims = [{"id": name, "tokens": TOKENS} for name in "ab"]
        claims += [{"id": "c", "tokens": TOKENS, "salt": "s"}]
        found = load_registry(write_registry(tmp_path, claims)).claims
        assert [each.prefix for each in found.values()] == ["a", "a", "c"]
        assert found["a"].identity == "model=tiny block_size=4"
        assert found["c"].identity == "model=tiny block_size=4 salt=1"

    def test_yaml(self, tmp_path: Path) -> None:
        """The sample is YAML."""
        path = Path(__file__).parents[3] / "monitor/samples/watch/registry.yaml"
        assert [*load_registry(path).claims] == ["system-prompt", "tool-manual"]

    def test_registered(self, tmp_path: Path) -> None:
        """It says when the claims were made, or its file does."""
        claims = [{"id": "a", "tokens": TOKENS}]
        stated = load_registry(write_registry(tmp_path, claims))
        assert (stated.since_ns, stated.says_since) == (0, "registered 1970-01-01T00:00:00Z")
        path = write_registry(tmp_path, claims, registered=None)
        assert load_registry(path).since_ns == path.stat().st_mtime_ns


class TestRefused:
    def test_two_prefixes(self, tmp_path: Path) -> None:
        """A claim states one prefix."""
        assert "it states tokens and text" in refused(
            tmp_path, {"id": "a", "tokens": TOKENS, "text": "x"}
        )
        assert "it states no prefix" in refused(tmp_path, {"id": "a"})

    def test_no_whole_block(self, tmp_path: Path) -> None:
        """A prefix has a whole block, and as many as its predicate needs."""
        said = refused(tmp_path, {"id": "a", "tokens": [1, 2]})
        assert "claim a: the prefix has 2 tokens, which are 0 whole blocks of 4" in said
        claim = {"id": "a", "tokens": TOKENS, "predicate": "leading_prefix_at_least(3)"}
        assert "2 whole blocks of 4, and 3 is needed" in refused(tmp_path, claim)

    def test_range(self, tmp_path: Path) -> None:
        """A hit needs the blocks from the first on."""
        claim = {"id": "a", "tokens": TOKENS, "predicate": "contiguous_range(1, 1)"}
        assert "does not begin with the prompt" in refused(tmp_path, claim)

    def test_ids(self, tmp_path: Path) -> None:
        """No two claims have one id."""
        claim = {"id": "a", "tokens": TOKENS}
        assert "two claims are called a" in refused(tmp_path, claim, claim)

    def test_modes(self, tmp_path: Path) -> None:
        """Modes that need enforcement cannot be watched, and a priority is a number."""
        assert "mode" in refused(tmp_path, {"id": "a", "tokens": TOKENS, "mode": "hard_protected"})
        claim = {"id": "a", "tokens": TOKENS, "mode": "soft_priority"}
        assert "it has no priority" in refused(tmp_path, claim)

    def test_field(self, tmp_path: Path) -> None:
        """A field that is misspelt is named, with the one that was meant."""
        said = refused(tmp_path, {"id": "a", "tokens": TOKENS, "sallt": "s"})
        assert "sallt" in said
        assert "salt" in said.replace("sallt", "")

    @pytest.mark.parametrize("field", ["salt", "adapter", "adapter_path", "predicate"])
    @pytest.mark.parametrize("empty", ["", "&x", "~", "null"])
    def test_no_value(self, field: str, empty: str, tmp_path: Path) -> None:
        """A field without a value is refused: a claim whose salt was lost is another claim."""
        path = tmp_path / "registry.yaml"
        claim = registry([{"id": "a", "tokens": TOKENS}])
        text = json.dumps(claim).replace('"id"', 'FIELD, "id"')
        path.write_text(text.replace("FIELD", f"{field}: {empty}"))
        with pytest.raises(SpecError, match=f"claims.0.{field}: it has no value"):
            load_registry(path)

    @pytest.mark.parametrize("tokens", [[-1, 2, 3, 4], ["x"], [1.5], [True], [1 << 40]])
    def test_tokens(self, tokens: list[Any], tmp_path: Path) -> None:
        """Token ids are whole numbers of 32 bits."""
        assert "tokens" in refused(tmp_path, {"id": "a", "tokens": tokens})

    def test_tokenizer(self, tmp_path: Path) -> None:
        """A text needs a tokenizer."""
        assert "the registry names no tokenizer" in refused(tmp_path, {"id": "a", "text": "hello"})
        said = refused(tmp_path, {"id": "a", "text": "hello"}, tokenizer="gone")
        assert "gone" in said

    def test_schema(self, tmp_path: Path) -> None:
        """It says which form it has."""
        path = tmp_path / "r.yaml"
        path.write_text("model: x\n")
        with pytest.raises(DocumentError, match="write schema: resident-claims/registry/1"):
            load_registry(path)

    def test_no_claims(self, tmp_path: Path) -> None:
        """It has claims."""
        assert "it has no claims" in refused(tmp_path)

    @pytest.mark.parametrize("field", ["message", "token", "txt"])
    def test_private(self, field: str, tmp_path: Path) -> None:
        """What a misspelt field holds is not shown: it may be a prompt."""
        said = refused(tmp_path, {"id": "a", field: "a secret prompt"})
        assert field in said
        assert "secret" not in said

    @pytest.mark.parametrize("mark", "*!")
    def test_private_mark(self, mark: str, tmp_path: Path) -> None:
        """Nor is a salt shown whose first sign has a meaning in YAML."""
        path = tmp_path / "r.yaml"
        path.write_text(f"salt: {mark}secret\n")
        with pytest.raises(DocumentError, match="quote it") as caught:
            load_registry(path)
        assert "secret" not in str(caught.value)


class TestSchema:
    def test_sample(self) -> None:
        """The schema fits what is read, and refuses what is not."""
        schema = schema_of("registry/1")
        value = json.loads(json.dumps(registry([{"id": "a", "tokens": TOKENS}])))
        assert faults(value, schema, schema) == []
        assert faults({**value, "claims": [{"owner": "x"}]}, schema, schema)
        assert Registry.model_validate(value).block_size == 4
