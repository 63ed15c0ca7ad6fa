"""Verdicts follow from the curves by the two definitions, to the boundary and not beyond."""

import math

import numpy as np
import pytest

from dualgap.experiments import claims as c
from dualgap.experiments import contenders as who
from dualgap.experiments.curves import curve
from dualgap.experiments.reference import Reference
from tests.experiments.curves import seeds, straight


@pytest.mark.parametrize(
    ("first", "second", "expected"), [(80, 100, True), (81, 100, False), (100, 80, False)]
)
def test_beats_is_at_most_four_fifths(first, second, expected):
    true, level, passes = c.decide("beats", straight(first), straight(second))
    assert (true, level, passes) == (expected, 1e-6, (first, second))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(100, 150, True), (150, 100, True), (100, 151, False), (151, 100, False)],
)
def test_alike_is_within_one_and_a_half_times_either_way(first, second, expected):
    assert c.decide("alike", straight(first), straight(second))[0] is expected


@pytest.mark.parametrize(("first", "second"), [(80, 100), (100, 80), (100, 81), (100, 100)])
def test_unbeaten_is_the_negation_of_being_beaten(first, second):
    one, two = straight(first), straight(second)
    true, _, passes = c.decide("unbeaten", one, two)
    assert true is not c.decide("beats", two, one)[0]
    assert passes == (first, second)


def test_a_limit_settles_what_it_can():
    fast, slow = straight(100, limit=200), straight(400, limit=200)
    assert c.decide("beats", fast, slow) == (True, 1e-6, (100, math.inf))
    assert c.decide("beats", slow, fast) == (False, 1e-6, (math.inf, 100))
    assert c.decide("alike", slow, fast)[:2] == (False, 1e-6)
    assert c.decide("unbeaten", slow, fast)[:2] == (False, 1e-6)


def test_what_the_limit_leaves_open_is_decided_at_the_lowest_common_level():
    # Both lines are straight, so the ratio at any level is the ratio at 1e-6.
    for first, second in ((190, 400), (300, 400), (350, 400)):
        one, two = straight(first, limit=200), straight(second, limit=200)
        true, level, passes = c.decide("beats", one, two)
        assert level == max(one.best, two.best) > 1e-6
        assert true is (first <= 0.8 * second)
        assert passes[0] / passes[1] == pytest.approx(first / second, abs=0.02)


def test_the_median_seed_decides():
    assert c.decide("beats", seeds(10, 80, 900), straight(100))[0]
    assert not c.decide("beats", seeds(10, 90, 90), straight(100))[0]
    assert seeds(10, 80, 5000).passes_to(1e-6) == 80
    assert seeds(10, 5000, 5000).passes_to(1e-6) == math.inf
    # Of an even number the upper one: never a number that no seed needed.
    assert seeds(10, 80).passes_to(1e-6) == 80


def batch_curves(passes):
    """Claims (a) and (b) from passes by label; the same for every lambda and all steps."""
    by_label = {label: straight(p) for label, p in passes.items()}

    def lookup(data, strength, contender, steps):
        return by_label.get(contender.label) if data == "synthetic1" else None

    return {
        (claim.letter, claim.setting): claim
        for claim in c.judge_all(lookup)
        if claim.letter in "ab"
    }


PAPERS_STORY = {
    who.AG.label: 400,
    who.BPD.label: 420,
    who.OPT_BPD.label: 100,
    who.ADA_BPD.label: 200,
    who.ADA_BPD_CURVATURE.label: 70,
}


def test_the_papers_own_story_holds():
    claims = batch_curves(PAPERS_STORY)
    assert claims["a", c.PAPER].verdict == "holds"
    assert claims["a", c.PAPER].counts == (3, 3)
    assert claims["b", c.PAPER].verdict == "holds"
    assert claims["b", c.PAPER].counts == (12, 12)


def test_a_rule_that_beats_the_oracle_leaves_part_of_a_claim():
    claims = batch_curves(PAPERS_STORY)
    assert claims["b", c.OURS].verdict == "holds in part"
    assert claims["b", c.OURS].counts == (9, 12)
    wrong = [x for x in claims["b", c.OURS].comparisons if not x.true]
    assert {x.second for x in wrong} == {who.ADA_BPD_CURVATURE.label}


def test_nothing_true_is_contradicted_and_nothing_run_is_not_run():
    claims = batch_curves({**PAPERS_STORY, who.BPD.label: 40})
    assert claims["a", c.PAPER].verdict == "contradicted"
    verdicts = {x.verdict for x in c.judge_all(lambda *key: None)}
    assert verdicts == {"not run"}


def test_each_setting_picks_its_own_steps_and_rule():
    assert c.PAPER.pick(who.ADF_SPDC) == (who.ADF_SPDC, "theorem")
    assert c.BOLD.pick(who.ADF_SPDC) == (who.ADF_SPDC, "default")
    assert c.OURS.pick(who.ADF_SPDC) == (who.ADF_SPDC_CURVATURE, "default")
    # These have no steps but their own; SPDC's own are those of Zhang & Xiao.
    for contender in (who.SVRG, who.SAGA, who.KATYUSHA, who.DF_SPDC, who.SPDC):
        assert c.PAPER.pick(contender) == (contender, "default")


def test_a_run_that_has_ended_keeps_its_gap_and_none_is_below_the_floor():
    reference = Reference(start=3.0, optimum=1.0, bound=1e-9, kind="gap", second=1.0)
    runs = [
        {"passes": [0.0, 1.0, 2.0], "primal": [3.0, 2.0, 1.5], "seconds": [0.0, 0.1, 0.2]},
        {"passes": [0.0, 1.0], "primal": [3.0, 1.0], "seconds": [0.0, 0.1]},
    ]
    got = curve(runs, reference, 2.0)
    assert reference.floor == pytest.approx(5e-10, rel=1e-5)
    np.testing.assert_allclose(got.gaps, [[1, 0.5, 0.25], [1, reference.floor, reference.floor]])
    assert got.passes_to(0.5) == 1.0
    assert got.passes_to(0.3) == 2.0
    assert got.spread(0.3) == (1.0, 2.0)
    assert got.seconds_to(0.5) == 0.1
