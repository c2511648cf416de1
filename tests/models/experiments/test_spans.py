"""Tables 6 and 7: what policies leave of spans, and which divisions give the printed shares."""

import pytest

from models.experiments.shares import FAMILIES
from models.experiments.spans import BULKY, CARRIER, Keep, Span, SpanCache, retained, value_of
from models.framework.model import Action
from models.runtimes.vllm_pool import Policy, Prompt, VllmPool

TABLE_6 = {
    Keep.NATIVE: ((0, 0, 0), 0),
    Keep.FAIR: ((27, 27, 26), 0),
    Keep.COMPLETE: ((40, 40, 0), 18),
    Keep.DENSITY: ((40, 40, 0), 18),
    Keep.SALTED: ((0, 0, 0), 0),
}


@pytest.mark.parametrize("policy", TABLE_6)
def test_table_6(policy: Keep) -> None:
    """Each policy keeps so many leading blocks, which are worth so much."""
    leading = retained(policy, CARRIER)
    assert TABLE_6[policy] == (leading, value_of(CARRIER, leading))


def test_the_threshold_decides() -> None:
    """The same fragments are worth all three values where a span needs 26 blocks."""
    low = [Span(span.name, span.blocks, 26, span.value) for span in CARRIER]
    assert 20 == value_of(low, retained(Keep.FAIR, low))


def test_density_chooses_by_value() -> None:
    """Where the last span is worth most, value density keeps it, and complete prefixes do not."""
    spans = (*CARRIER[:2], Span("C", 40, 40, 30))
    assert (40, 0, 40) == retained(Keep.DENSITY, spans)
    assert (40, 40, 0) == retained(Keep.COMPLETE, spans)


@pytest.mark.parametrize("family", FAMILIES, ids=[family.name for family in FAMILIES])
def test_no_division_gives_the_printed_shares(family: object) -> None:
    """No reading of a fair share gives 30, 20 and 19; each finds shares that it does give."""
    assert 0 == family.search((30, 20, 19)).equal  # type: ignore[attr-defined]
    division = next(family.divisions())  # type: ignore[attr-defined]
    assert family.search(division).equal > 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("policy", [Keep.NATIVE, Keep.NO_ADMIT])
def test_equal_to_the_model_of_vllm(policy: Keep) -> None:
    """After residents and the bulky request, the pool of vLLM's model caches the same blocks."""
    cache = SpanCache(policy, BULKY, 80)
    prompts = tuple(
        Prompt(s.name, s.name, 0, s.blocks, admitted=s.name != "bulky" or policy is Keep.NATIVE)
        for s in BULKY
    )
    pool = VllmPool(80, prompts, {}, Policy.NATIVE)
    (state,) = pool.initial()
    for span in BULKY:
        cache.request(span)
        for name in ("arrive", "admit", "finish"):
            state = pool.apply(state, Action(name, (span.name,))).state
    assert sorted(cache.cached) == sorted(content for content in state.cached if content)


def test_a_repeat_of_an_unadmitted_request() -> None:
    """It finds 0 blocks where it was not admitted, 70 where it was; residents end the same."""
    left = {}
    for policy in (Keep.NATIVE, Keep.NO_ADMIT, Keep.GATED):
        cache = SpanCache(policy, BULKY, 80)
        for span in BULKY:
            cache.request(span)
        residents = sorted(block for block in cache.cached if block[0] != "bulky")
        left[policy] = cache.request(BULKY[-1]), len(residents)
    assert {Keep.NATIVE: (70, 10), Keep.NO_ADMIT: (0, 10), Keep.GATED: (0, 10)} == left
