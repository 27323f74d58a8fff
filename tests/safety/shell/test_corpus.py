"""Every line of the corpus gets the level and rule that the policy gives it."""

from tests.kit.table import table
from tests.safety.shell.corpus import CASES

from fourhands.safety.shell import classify


@table(("line", "level", "rule"), CASES)
def test_a_line_gets_its_level_and_rule(line, level, rule):
    verdict = classify(line)
    assert verdict.level == level, verdict
    assert level == "safe" or rule == "-" or verdict.rule.startswith(rule), verdict
    assert verdict.reason


def test_the_corpus_covers_every_section_of_the_policy():
    rules = {rule for _, _, rule in CASES}
    expected = {f"C1.{n}" for n in range(1, 6)} | {f"C2.{n}" for n in (1, 4, 5, 6, 7)} | {"C3.3", "C3.4", "C4", "C7"}
    expected |= {f"C5.{n}" for n in range(1, 6)} | {f"C6.{n}" for n in range(2, 7)}
    assert expected <= rules
    assert len(CASES) > 1000
