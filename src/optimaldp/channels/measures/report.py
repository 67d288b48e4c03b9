"""What a channel leaks, all measures at once, as numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optimaldp.channels.measures import entropies, vulnerability
from optimaldp.channels.measures.bounds import individual_bound
from optimaldp.channels.measures.priors import read_prior
from optimaldp.channels.measures.privacy import least_epsilon
from optimaldp.channels.numbers import MANY_CELLS, Number, cell_text
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.results import Result

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel


@dataclass(frozen=True, repr=False)
class LeakageReport(Result):
    """The measures of one channel under one prior; bits unless they are chances of success."""

    channel: Channel
    before: Number
    after: Number
    min_entropy_leakage: float
    min_capacity: float
    mutual_information: float
    shannon_capacity: float
    shannon_capacity_upper: float
    guesses_before: Number
    guesses_after: Number
    epsilon: float
    worst_output_success: Number

    @property
    def words(self) -> str:
        """The report in sentences."""
        tries = f"{float(self.guesses_before):.4g} tries on average before, {float(self.guesses_after):.4g} after"
        lines = [
            f"Before: an attacker guesses the input with {percent(self.before)}; "
            f"after seeing the output: {percent(self.after)}.",
            f"The output that tells most leaves the attacker with {percent(self.worst_output_success)}.",
            f"That is {self.min_entropy_leakage:.4g} bits of min-entropy leakage; no attacker's success, whatever was "
            f"known beforehand, is multiplied by more than {2**self.min_capacity:.4g}.",
            f"The output carries {self.mutual_information:.4g} bits about the input, "
            f"and at most {self.shannon_capacity_upper:.4g} under any prior.",
            f"Guessing one value after the other takes {tries}.",
            self._privacy_words(),
        ]
        return "\n".join(lines)

    def _privacy_words(self) -> str:
        if self.epsilon == float("inf"):
            return (
                "Some output is possible for one input and impossible for another: no finite epsilon holds between all."
            )
        return f"It is differentially private with epsilon = {self.epsilon:.6g}, every two inputs taken as neighbours."

    def summary(self) -> str:
        return f"LeakageReport({self.channel.summary()}: {self.min_entropy_leakage:.6g} bits of min-entropy)"

    def details(self) -> list[tuple[str, str]]:
        return [(name, str(value)) for name, value in self.to_document().items()]

    def to_document(self) -> dict[str, Any]:
        return {
            "min_entropy_leakage": self.min_entropy_leakage,
            "min_capacity": self.min_capacity,
            "mutual_information": self.mutual_information,
            "shannon_capacity": self.shannon_capacity,
            "shannon_capacity_upper": self.shannon_capacity_upper,
            "bayes_success_prior": float(self.before),
            "bayes_success_posterior": float(self.after),
            "bayes_success_prior_exact": _exact_text(self.before),
            "bayes_success_posterior_exact": _exact_text(self.after),
            "guesses_prior": float(self.guesses_before),
            "guesses_posterior": float(self.guesses_after),
            "additive_leakage": float(self.after - self.before),
            "bayes_success_worst_output": float(self.worst_output_success),
            "epsilon_between_all_inputs": "inf" if self.epsilon == float("inf") else self.epsilon,
        }


def _exact_text(number: Number) -> str | None:
    text = cell_text(number)
    return text if isinstance(text, str) else None


def percent(chance: Number) -> str:
    """A chance as people read it: 73 %, 99.97 %, never rounded to a certainty that it is not."""
    value = 100 * float(chance)
    for digits in range(12):
        text = f"{value:.{digits}f}"
        if chance in (0, 1) or 0 < float(text) < 100:
            return f"{text} %"
    return f"{value!r} %"


def leakage_report(channel: Channel, prior: object = None, *, gap: float = 1e-9) -> LeakageReport:
    """Every measure of a channel that needs no graph and no gain."""
    read = read_prior(channel, prior)
    # The number of guesses is shown as a float: sorting a large matrix of rationals for it would take minutes.
    large = channel.exact and len(channel.inputs) * len(channel.outputs) > MANY_CELLS
    counted = type(channel)(channel.array) if large else channel
    capacity = channel.shannon_capacity(gap=gap)
    return LeakageReport(
        channel,
        vulnerability.prior_vulnerability(channel, read),
        vulnerability.posterior_vulnerability(channel, read),
        vulnerability.min_entropy_leakage(channel, read),
        vulnerability.min_capacity(channel),
        entropies.mutual_information(channel, read),
        capacity.lower,
        capacity.upper,
        entropies.guessing_entropy(counted, read),
        entropies.posterior_guessing_entropy(counted, read),
        least_epsilon(channel).epsilon,
        vulnerability.max_case_vulnerability(counted, read),
    )


def explain_epsilon(epsilon: object, *, values: int = 2) -> str:
    """What an epsilon means for one person: the best guess before and after, everybody else's data known to the
    attacker.

    >>> explain_epsilon(1)
    "Before: an attacker guesses one person's value with 50 %; after seeing the answer: at most 73 %."
    """
    after = individual_bound(values, Epsilon.read(epsilon)).factor / values
    return (
        f"Before: an attacker guesses one person's value with {percent(1 / values)}; "
        f"after seeing the answer: at most {percent(after)}."
    )
