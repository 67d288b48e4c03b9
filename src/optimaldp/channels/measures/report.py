"""What a channel leaks, all measures at once, as numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from optimaldp.channels.measures import entropies, vulnerability
from optimaldp.channels.measures.entropies import read_prior
from optimaldp.channels.measures.privacy import least_epsilon
from optimaldp.channels.numbers import MANY_CELLS, Number, bits_of, cell_text
from optimaldp.errors import ChannelError
from optimaldp.privacy.balls import precision
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.results import Result

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel


# How much any private mechanism can leak, from u, v and epsilon alone (004 §4, with errata F4-F12).
#
# Every bound is a factor on the attacker's success, exact where ``e^epsilon`` is rational, and its logarithm in bits.


@dataclass(frozen=True, repr=False)
class LeakageBound(Result):
    """**Guarantee.** No epsilon-DP mechanism of this kind multiplies the attacker's success by more than ``factor``."""

    factor: Number
    statement: str
    bits: float
    tight: bool | None = None

    def summary(self) -> str:
        return f"LeakageBound({self.bits:.6g} bits, {self.statement})"

    def to_document(self) -> dict[str, Any]:
        return {"bits": self.bits, "factor": cell_text(self.factor), "statement": self.statement, "tight": self.tight}


def check_databases(individuals: int, values: int) -> None:
    if individuals < 1 or values < 1:
        raise ChannelError(
            "databases", (individuals, values), "are not a number of individuals and of values, both 1 or more"
        )


def _bound(factor: Number, statement: str, *, bits: float | None = None, tight: bool | None = None) -> LeakageBound:
    return LeakageBound(factor, statement, bits_of(factor) if bits is None else bits, tight)


def ratio_of(epsilon: Epsilon) -> Number:
    """``e^epsilon``: a rational if it is one, else the nearest float; only for finite epsilon."""
    if epsilon.exact_ratio is not None:
        return epsilon.exact_ratio
    with precision(80):
        return float(epsilon.exp())


def _one(values: int, epsilon: Epsilon) -> Number:
    """``v x / (v − 1 + x)``: the most that one individual's protection lets through."""
    if epsilon.infinite:
        return Fraction(values)
    return values / (1 + (values - 1) / ratio_of(epsilon))  # a float that overflows to infinity still gives v


def individual_bound(values: int, epsilon: object) -> LeakageBound:
    """What one individual's value leaks when all others are known: at most ``log2(v x/(v−1+x))`` bits, and that is
    attained.

    The paper's Theorem 2 prints ``epsilon · log2 e``, which is valid and never tight (erratum F11).

    >>> individual_bound(2, "ln(3)").factor
    Fraction(3, 2)
    """
    check_databases(1, values)
    return _bound(_one(values, Epsilon.read(epsilon)), f"one individual with {values} values", tight=True)


def database_bound(individuals: int, values: int, epsilon: object) -> LeakageBound:
    """Theorem 1: the whole database leaks at most ``u · log2(v x/(v−1+x))`` bits; :func:`extremal_channel` attains it.

    >>> database_bound(2, 3, "ln(2)").factor
    Fraction(9, 4)
    """
    check_databases(individuals, values)
    one = _one(values, Epsilon.read(epsilon))
    bits = individuals * bits_of(one)
    # floats end at 2^1024, bits do not: there they alone tell databases apart
    factor: Number = one**individuals if isinstance(one, Fraction) else 2.0**bits if bits < 1000 else float("inf")
    return _bound(factor, f"{individuals} individuals with {values} values", bits=bits, tight=True)


def _inverse_ratio(epsilon: Epsilon) -> Number:
    return Fraction(0) if epsilon.infinite else 1 / ratio_of(epsilon)


def range_bound(individuals: int, values: int, answers: int, epsilon: object) -> LeakageBound:
    """At most *answers* different outputs: never worse than Theorem 1 nor than Proposition 2 (erratum F10); exact
    for two.

    >>> range_bound(2, 2, 3, "ln(2)").factor
    Fraction(16, 9)
    """
    check_databases(individuals, values)
    if answers < 1:
        raise ChannelError("answers", answers, "is not a number of outputs", "it must be 1 or more")
    read = Epsilon.read(epsilon)
    # one value makes one database, which leaks nothing; the formula for two outputs takes two that differ everywhere
    if answers == 2 and values >= 2:
        return _bound(_two_answers(individuals, read), "two outputs", tight=True)
    statement = f"{individuals} individuals with {values} values, {answers} outputs"
    return _bound(improved_range_factor(individuals, values, answers, read), statement)


def _energy(individuals: int, values: int, answers: int, t: Number, kept: int) -> Number:
    # F10: on ℓ of the coordinates t^d >= t^(u−ℓ) t^(d_S); of the two parts of that, r outputs make the first at least
    # 1/r, and the uniform distribution on Val^ℓ has the least of the second.
    outside = t ** (individuals - kept)
    return (1 - outside) / answers + outside * ((1 + (values - 1) * t) / values) ** kept


def _two_answers(individuals: int, epsilon: Epsilon) -> Number:
    t = _inverse_ratio(epsilon)
    # The likeliest databases of both outputs are u steps apart. In the middle the chances are halves (u even) or
    # 1/(1 + t) and t/(1 + t) (u odd); each step outwards multiplies the smaller one by t.
    half, odd = divmod(individuals, 2)
    return 2 - 2 * t ** (half + 1) / (1 + t) if odd else 2 - t**half


def improved_range_factor(individuals: int, values: int, answers: int, epsilon: object) -> Number:
    """The general range bound without the exact case of two outputs: the minimum over ℓ of erratum F10."""
    t = _inverse_ratio(Epsilon.read(epsilon))
    # each ℓ proves a bound, so the least is one; ℓ = u is Theorem 1
    return min(1 / _energy(individuals, values, answers, t, kept) for kept in range(individuals + 1))


def proposition_2(individuals: int, values: int, answers: int, epsilon: object) -> LeakageBound:
    """The paper's range bound, corrected to what its proof gives (errata F9, F10): valid, not tight, sometimes
    worse than Theorem 1.

    With ``ℓ = ⌊log_v r⌋``: the bound for ``v^ℓ`` outputs, times ``r / v^ℓ`` (the paper multiplies the *bits* by that).
    """
    kept = 0
    while kept < individuals and values ** (kept + 1) <= answers and values > 1:
        kept += 1
    t = _inverse_ratio(Epsilon.read(epsilon))
    energy = _energy(individuals, values, values**kept, t, kept)
    return _bound(Fraction(answers, values**kept) / energy, f"Proposition 2 for {answers} outputs", tight=False)


def gain_bound(prior_gain: Number, factor: Number) -> Number:
    """For any gain that is never negative: posterior gain ≤ prior gain × the sum of column maxima."""
    if prior_gain < 0:
        raise ChannelError("prior gain", str(prior_gain), "is negative", "the bound holds for gains of 0 or more")
    return prior_gain * factor


def border_utility_bound(distance_counts: list[int], epsilon: object) -> Number:
    """Theorem 3/4, corrected (errata F14, F15): under a uniform prior ``U(Y,Z) ≤ 1/Σ_d |Border_d| x^−d`` when that
    sum is the same everywhere.

    >>> border_utility_bound([1, 2, 2], "ln(2)")
    Fraction(2, 5)
    """
    t = _inverse_ratio(Epsilon.read(epsilon))
    return 1 / sum((size * t**d for d, size in enumerate(distance_counts)), Fraction(0))


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
