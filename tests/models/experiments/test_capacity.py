"""Figure 4: the boundary is where the model puts it, and it moves with the inputs."""

import pytest

from models.experiments.capacity import boundary, capacity
from models.experiments.comparison import Match


def test_the_boundary_of_the_paper() -> None:
    """A claim of 60 blocks and a request of 70 coexist from 130 blocks on, by every policy."""
    found = boundary(60, 70, range(126, 133))
    assert {"native": 130, "no_admit": 130, "exclusion": 130} == found.first


@pytest.mark.parametrize(("resident", "active"), [(1, 1), (5, 9), (9, 5), (40, 46), (60, 71)])
def test_the_boundary_moves(resident: int, active: int) -> None:
    """Other sizes have another boundary, so that 130 is a result and no constant."""
    total = resident + active
    sizes = range(max(resident, active, total - 4), total + 3)
    assert {total} == set(boundary(resident, active, sizes).first.values())


def test_no_boundary_among_the_sizes() -> None:
    """Pools that are all too small have none, and that is an error."""
    with pytest.raises(ValueError, match="no boundary"):
        boundary(60, 70, range(80, 90))


def test_one_figure_differs() -> None:
    """All figures of the sweep agree; of table 10 the shortfall of 19 differs, which is 18."""
    others = [each for each in capacity().compared if each.match is not Match.AGREES]
    assert [(19, 18, Match.DIFFERS)] == [(each.paper, each.found, each.match) for each in others]
