"""The lemmas that let one claim and one integer stand for a pool."""

import pytest

from proofs import lemmas
from proofs.lemmas import LEMMAS, Lemma, lemmas_of
from spec.claims import Mode
from spec.ledgers import was
from spec.obligations.pressure import blame_is_right
from spec.vocabulary import e


class TestLemmas:
    @pytest.mark.parametrize("lemma", LEMMAS, ids=lambda lemma: lemma.name)
    def test_holds(self, lemma: Lemma) -> None:
        """Each lemma is proved by Z3."""
        assert lemma.holds()

    def test_of_modes(self) -> None:
        """hard_protected leans on six lemmas and soft_priority on one."""
        counts = {mode: len(lemmas_of(mode)) for mode in Mode if lemmas_of(mode)}
        assert {Mode.HARD_PROTECTED: 6, Mode.SOFT_PRIORITY: 1} == counts

    def test_two_named_can_fail(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With a blame that forgets strangers the two claims are no longer told the truth."""
        monkeypatch.setattr(
            lemmas,
            "blame_is_right",
            lambda own: blame_is_right(own) | (e.stranger & was.responsible),
        )
        two = next(lemma for lemma in LEMMAS if lemma.name == "two named claims")
        assert not two.holds()

    def test_ledger_can_fail(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without footprint_accounting the ledgers need not agree."""
        initial = lemmas.System.__init__

        def without(self: lemmas.System, *args: object, **kwargs: object) -> None:
            initial(self, *args, without=frozenset({"footprint_accounting"}))  # type: ignore[arg-type]

        monkeypatch.setattr(lemmas.System, "__init__", without)
        ledger = next(lemma for lemma in LEMMAS if lemma.name == "ledger")
        assert not ledger.holds()
