"""Questions in words: every kind has its own sentence, which says the bound, the condition and the options as they are."""

from __future__ import annotations

import pytest

from optimaldp.questions.base import as_question
from optimaldp.questions.forms import forms
from optimaldp.questions.words import people_who

SAID = {
    "share(smokes = 'yes') >= 0.3": "Is the share of people who smoke at least 30 %?",
    "share(smokes = 'yes' among age >= 18) > 1/3": "Among people whose age is at least 18, "
    "is the share of those who smoke more than 1/3?",
    "all(age >= 18)": "Is the share of people whose age is at least 18 equal to 100 %?",
    "any(age > 110)": "Are there any people whose age is above 110?",
    "count(*) >= 11": "Are there at least 11 people?",
    "count(has_asthma = false) < 7": "Are there fewer than 7 people who do not have asthma?",
    "count(smokes = 'no')": "How many people do not smoke?",
    "count(smokes and age >= 45)": "How many people are there who smoke and whose age is at least 45?",
    "count(*  among ward = 'a')": "Among people whose ward is a, how many people are there?",
    "mean(blood_pressure, range=[1, 5]) > 3.5": "Is the mean of blood pressure above 3.5?",
    "mean(score, range=[1, 5])": "What is the mean of score?",
    "sum(cost, range=[0, 5])": "What is the sum of cost?",
    "ratio(cost, days, ranges=[[0, 9], [0, 3]], grid=[0, 5, 1])": "What is the sum of cost divided by the sum of days?",
    "compare(vote, 'b', 'a')": "Which value of vote is more frequent, b or a?",
    "winner(vote, ['z', 'a', 'm'])": "Which value of vote is the most frequent: z, a or m?",
    "top(vote, 2, ['z', 'a', 'm'])": "Which 2 values are the most frequent in vote, the leader first: z, a or m?",
    "histogram(vote, ['z', 'a'])": "How many people have each value of vote: z or a?",
    "histogram(age, range=[0, 100], step=10)": "How many people are in each of 10 bands of age?",
    "histogram(sex: ['m', 'f'], age: bins=[0, 18, 65])": "How many people have each combination of sex and age?",
    "median(age, bins=[18, 30, 45])": "In which band of age is the median?",
    "quantile(age, 0.9, bins=[18, 30, 45])": "Up to which band of age do 90 % of the people lie?",
    "quantiles(age, [0.25, 0.5], bins=[18, 30, 45])": "Up to which bands of age do 25 % and 50 % of the people lie?",
    "keys(diagnosis)": "Which values of diagnosis occur?",
    "majority(x = 1) and count(y = 'b') <= 3": "Is the share of people whose x is 1 more than 50 %, "
    "and are there at most 3 people whose y is b?",
    "share(a among b = 1) > share(a among b = 2) + 0.02": "Is the share of people whose a is true among those whose b is 1 "
    "more than 2 percentage points above that among those whose b is 2?",
    "share(a among b = 1) >= share(c among b = 2)": "Is the share of people whose a is true among those whose b is 1 "
    "at least as large as the share of people whose c is true among those whose b is 2?",
    "mean(x, range=[0, 5] among b = 1) > mean(x, range=[0, 5] among b = 2)": "Is the mean of x among people whose b is 1 "
    "larger than among people whose b is 2?",
    "mean(x, range=[0, 5] among b = 1) - mean(x, range=[0, 5] among b = 2)": "By how much is the mean of x larger "
    "among people whose b is 1 than among people whose b is 2?",
    "share(a among b = 1) - share(a among b = 2)": "By how much is the share of people whose a is true larger "
    "among those whose b is 1 than among those whose b is 2?",
    "count(a) - count(b among c = 1)": "How many more are there of people whose a is true than of "
    "people whose b is true among those whose c is 1?",
}


@pytest.mark.parametrize("text", SAID)
def test_a_question_in_words(text: str) -> None:
    assert as_question(text).words() == SAID[text]


def test_every_kind_has_words_of_its_own() -> None:
    for form in forms().values():
        question = as_question(form.example)
        assert question.words() != str(question)
        assert question.words().endswith("?")


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("age BETWEEN 18 AND 65", "people whose age is between 18 and 65"),
        ("age >= 18 AND age < 65", "people whose age is at least 18 and whose age is below 65"),
        ("a = 1 or b = 2", "people whose a is 1 or whose b is 2"),
        ("a = 1 or b = 2 and c = 3", "people for whom a = 1 or b = 2 and c = 3"),
        ("not a = 1", "people for whom not a = 1"),
        ("a in (1, 2) or b in (3)", "people whose a is 1 or 2 or whose b is 3"),
        ("a in (1) + (2)", "people for whom a in (1) + (2)"),
        ("a IS NOT NULL", "people whose a is known"),
        ("day >= DATE '2020-01-31'", "people whose day is at least 2020-01-31"),
        ("name = 'O''Hara and co'", "people whose name is O'Hara and co"),
        ("\"the ward\" <> 'a'", "people whose the ward is not a"),
        ("true", "people for whom true"),
        ("a > b", "people for whom a > b"),
    ],
)
def test_a_condition_in_words(condition: str, said: str) -> None:
    assert people_who(condition) == said
