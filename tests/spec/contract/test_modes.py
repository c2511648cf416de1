"""The modes, and explicit actions in a conflict."""

from spec.contract.modes import REPORTED_BY, ConflictAction
from spec.events.alphabet import CONFLICT_ACTIONS, Kind


class TestActions:
    def test_each_is_said(self) -> None:
        """Every action that may give way has reports of its own, and every conflict action is one
        of them."""
        said = [kind for kinds in REPORTED_BY.values() for kind in kinds]

        assert set(ConflictAction) == set(REPORTED_BY)
        assert len(said) == len(set(said))
        relaxes = {Kind.CLAIM_DEMOTED, Kind.CLAIM_EXPIRED, Kind.CLAIM_OFFLOADED}
        assert CONFLICT_ACTIONS == set(said) - relaxes
