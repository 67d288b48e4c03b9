"""What a channel leaks, all measures at once; and an audit of a black box from samples alone."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from optimaldp.channels import vulnerability
from optimaldp.channels.numbers import MANY_CELLS, ExactOrFloat, bits_of, cell_text, read_distribution
from optimaldp.channels.privacy import least_epsilon
from optimaldp.channels.vulnerability import read_prior
from optimaldp.errors import ChannelError
from optimaldp.extras import requiring
from optimaldp.privacy.balls import precision
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import read_probability
from optimaldp.progress import track
from optimaldp.results import Result

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel

# What a channel leaks, all measures at once, as numbers and in words.


# How much any private mechanism can leak, from u, v and epsilon alone (004 §4, with errata F4-F12).
#
# Every bound is a factor on the attacker's success, exact where ``e^epsilon`` is rational, and its logarithm in bits.


@dataclass(frozen=True, repr=False)
class LeakageBound(Result):
    """**Guarantee.** No epsilon-DP mechanism of this kind multiplies the attacker's success by more than ``factor``."""

    factor: ExactOrFloat
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


def _bound(
    factor: ExactOrFloat, statement: str, *, bits: float | None = None, tight: bool | None = None
) -> LeakageBound:
    return LeakageBound(factor, statement, bits_of(factor) if bits is None else bits, tight)


def ratio_of(epsilon: Epsilon) -> ExactOrFloat:
    """``e^epsilon``: a rational if it is one, else the nearest float; only for finite epsilon."""
    if epsilon.exact_ratio is not None:
        return epsilon.exact_ratio
    with precision(80):
        return float(epsilon.exp())


def _one(values: int, epsilon: Epsilon) -> ExactOrFloat:
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
    factor: ExactOrFloat = one**individuals if isinstance(one, Fraction) else 2.0**bits if bits < 1000 else float("inf")
    return _bound(factor, f"{individuals} individuals with {values} values", bits=bits, tight=True)


def _inverse_ratio(epsilon: Epsilon) -> ExactOrFloat:
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


def _energy(individuals: int, values: int, answers: int, t: ExactOrFloat, kept: int) -> ExactOrFloat:
    # F10: on ℓ of the coordinates t^d >= t^(u−ℓ) t^(d_S); of the two parts of that, r outputs make the first at least
    # 1/r, and the uniform distribution on Val^ℓ has the least of the second.
    outside = t ** (individuals - kept)
    return (1 - outside) / answers + outside * ((1 + (values - 1) * t) / values) ** kept


def _two_answers(individuals: int, epsilon: Epsilon) -> ExactOrFloat:
    t = _inverse_ratio(epsilon)
    # The likeliest databases of both outputs are u steps apart. In the middle the chances are halves (u even) or
    # 1/(1 + t) and t/(1 + t) (u odd); each step outwards multiplies the smaller one by t.
    half, odd = divmod(individuals, 2)
    return 2 - 2 * t ** (half + 1) / (1 + t) if odd else 2 - t**half


def improved_range_factor(individuals: int, values: int, answers: int, epsilon: object) -> ExactOrFloat:
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


def gain_bound(prior_gain: ExactOrFloat, factor: ExactOrFloat) -> ExactOrFloat:
    """For any gain that is never negative: posterior gain ≤ prior gain × the sum of column maxima."""
    if prior_gain < 0:
        raise ChannelError("prior gain", str(prior_gain), "is negative", "the bound holds for gains of 0 or more")
    return prior_gain * factor


def border_utility_bound(distance_counts: list[int], epsilon: object) -> ExactOrFloat:
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
    before: ExactOrFloat
    after: ExactOrFloat
    min_entropy_leakage: float
    min_capacity: float
    mutual_information: float
    shannon_capacity: float
    shannon_capacity_upper: float
    guesses_before: ExactOrFloat
    guesses_after: ExactOrFloat
    epsilon: float
    worst_output_success: ExactOrFloat

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


def _exact_text(number: ExactOrFloat) -> str | None:
    text = cell_text(number)
    return text if isinstance(text, str) else None


def percent(chance: ExactOrFloat) -> str:
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
        vulnerability.mutual_information(channel, read),
        capacity.lower,
        capacity.upper,
        vulnerability.guessing_entropy(counted, read),
        vulnerability.posterior_guessing_entropy(counted, read),
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


# Audit of a black box: from samples alone, an epsilon that it certainly does not keep.
#
# Half of the samples choose the event on which the two inputs differ most; the other half, untouched by that choice,
# bounds its two probabilities (Clopper and Pearson). So the confidence needs no correction for the many events that
# were looked at.


Sample = Hashable
_BINS = 64  # into which outputs that rarely repeat (continuous ones) are sorted, by their order


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """**Guarantee.** With probability at least *confidence* over the samples, the mechanism is not (ε,
    delta)-DP for any ε below *epsilon_lower*.
    """

    epsilon_lower: float
    claimed: Epsilon | None
    delta: Fraction
    confidence: float
    event: tuple[str, ...]
    direction: str
    hits: tuple[int, int]
    trials: tuple[int, int]

    @property
    def violation(self) -> bool:
        """Whether the claimed epsilon is refuted."""
        return self.claimed is not None and self.epsilon_lower > float(self.claimed)

    @property
    def words(self) -> str:
        """The verdict in a sentence that does not promise what samples cannot show."""
        sure = f"with {100 * self.confidence:g} % confidence"
        if self.violation:
            return f"The claim epsilon = {self.claimed} is false: {sure}, epsilon is at least {self.epsilon_lower:.4g}."
        bound = f"{sure}, epsilon is at least {self.epsilon_lower:.4g}"
        if self.claimed is None:
            return f"{bound[0].upper()}{bound[1:]}."
        return f"No flaw found: {bound}, which does not contradict {self.claimed}. Samples can refute a claim, never prove it."

    def summary(self) -> str:
        verdict = "violation" if self.violation else "no violation found"
        return f"Audit(epsilon >= {self.epsilon_lower:.4g} at {self.confidence:g}, {verdict})"

    def to_document(self) -> dict[str, Any]:
        return {
            "epsilon_lower": self.epsilon_lower,
            "claimed_epsilon": None if self.claimed is None else str(self.claimed),
            "delta": str(self.delta),
            "violation": self.violation,
            "confidence": self.confidence,
            "direction": self.direction,
            "event": list(self.event),
            "hits": list(self.hits),
            "trials": list(self.trials),
            "words": self.words,
        }


def audit(
    first: Sequence[Sample],
    second: Sequence[Sample],
    *,
    epsilon: object = None,
    delta: object = 0,
    confidence: float = 0.999,
) -> Audit:
    """A lower bound on epsilon from samples of a mechanism on two neighbouring inputs.

    >>> audit(["yes"] * 1000, ["no"] * 1000, epsilon=1).violation
    True
    """
    if min(len(first), len(second)) < 20:
        raise ChannelError(
            "samples", min(len(first), len(second)), "are too few to say anything", "give at least 20 for each input"
        )
    check_confidence(confidence)
    claimed = None if epsilon is None else Epsilon.read(epsilon)
    slack = read_probability(delta, name="delta")
    name = binned([*first[0::2], *second[0::2]])  # the half that chooses; the other must not shape the event
    chosen = [[name(s) for s in part[0::2]] for part in (first, second)]
    tested = [[name(s) for s in part[1::2]] for part in (first, second)]
    event, swapped = _best_event(chosen[0], chosen[1], float(slack), confidence)
    high, low = (tested[1], tested[0]) if swapped else (tested[0], tested[1])
    hits = sum(s in event for s in high), sum(s in event for s in low)
    bound = _epsilon_bound(hits[0], len(high), hits[1], len(low), float(slack), confidence)
    direction = "second over first" if swapped else "first over second"
    return Audit(bound, claimed, slack, confidence, tuple(sorted(event))[:20], direction, hits, (len(high), len(low)))


def check_confidence(confidence: float) -> None:
    """A confidence that means something: at least one half, and not certainty."""
    if not 0.5 <= confidence < 1:
        raise ChannelError("confidence", confidence, "is not a confidence", "it must be at least 0.5 and below 1")


def audit_mechanism(
    mechanism: Callable[[Any], Sample], first: object, second: object, *, samples: int = 20_000, **settings: Any
) -> Audit:
    """Audit a callable: run it *samples* times on each of two neighbouring inputs,
    with a progress bar on a terminal.
    """
    drawn = [list(_draw(mechanism, dataset, samples)) for dataset in (first, second)]
    return audit(drawn[0], drawn[1], **settings)


def _draw(mechanism: Callable[[Any], Sample], dataset: object, samples: int) -> Iterator[Sample]:
    for _ in track(range(samples), "sampling the mechanism", total=samples):
        yield mechanism(dataset)


def binned(everything: list[Any]) -> Callable[[Sample], str]:
    """Outputs by name; numbers that hardly repeat by the bin of a common scale. Bins only lose: they post-process."""
    if not all(map(_is_number, everything)) or len(set(everything)) <= 4 * _BINS:
        return str
    ordered = sorted(everything)
    edges = [ordered[k * len(ordered) // _BINS] for k in range(1, _BINS)]

    def name(sample: object) -> str:
        return f"bin {bisect_right(edges, sample):02d}" if _is_number(sample) else str(sample)

    return name


def _is_number(sample: object) -> bool:
    return isinstance(sample, (int, float, Fraction)) and not isinstance(sample, bool) and sample == sample


def _best_event(first: list[str], second: list[str], delta: float, confidence: float) -> tuple[frozenset[str], bool]:
    """The set of outputs, taken in order of their likelihood ratio, that promises the largest bound;
    and in which direction.
    """
    best, event, swapped = -math.inf, frozenset[str](), False
    for turned, (high, low) in ((False, (first, second)), (True, (second, first))):
        ones, twos = Counter(high), Counter(low)
        # Neyman and Pearson: of all events with the same chance under *low* the best is a top of this order.
        # Half a hit more on both sides keeps an output that one side never showed from a ratio of ∞.
        order = sorted({*ones, *twos}, key=lambda s: (-(ones[s] + 0.5) / (twos[s] + 0.5), s))
        # never all outputs: they have probability one on both sides and refute nothing
        for k in range(1, len(order)):
            chosen = order[:k]
            hits, misses = sum(ones[s] for s in chosen), sum(twos[s] for s in chosen)
            bound = _epsilon_bound(hits, len(high), misses, len(low), delta, confidence)
            if bound > best:
                best, event, swapped = bound, frozenset(chosen), turned
    return event, swapped


def _epsilon_bound(
    hits: int, trials: int, other_hits: int, other_trials: int, delta: float, confidence: float
) -> float:
    """``ln((p_low − delta)/q_high)`` with each bound at half of the error that the confidence leaves; never below 0."""
    error = (1 - confidence) / 2
    low = clopper_pearson_lower(hits, trials, error)
    high = 1 - clopper_pearson_lower(other_trials - other_hits, other_trials, error)
    return max(0.0, math.log((low - delta) / high)) if low > delta and high > 0 else 0.0


def clopper_pearson_lower(hits: int, trials: int, error: float) -> float:
    """The exact lower confidence bound of a probability: at most *error* chance that the truth lies below."""
    if hits == 0:
        return 0.0
    with requiring("scipy"):
        from scipy.special import betaincinv

    return float(betaincinv(hits, trials - hits + 1, error))


# Leakage from samples: pairs of a secret and what was observed, and nothing else known about the channel.
#
# Half of the pairs learn what to guess on each observation; the other half, untouched by that, count how often the guess
# is right. So the success that is reported is one that an attacker certainly reaches, with the stated confidence.


_FEWEST_SAMPLES = 40


@dataclass(frozen=True, repr=False)
class LeakageEstimate(Result):
    """**Guarantee.** With probability at least *confidence* over the samples, an attacker who sees an observation guesses
    the secret with a chance of at least ``success_lower``, one who sees nothing with at most ``blind_upper``, and the
    min-entropy leakage is at least ``bits_lower``.

    ``success`` and ``information`` (Shannon's, in bits, corrected for the bias of small counts) are estimates without
    such a promise.
    """

    samples: int
    confidence: float
    success_lower: float
    blind_upper: float
    success: float
    information: float

    @property
    def bits_lower(self) -> float:
        return max(0.0, math.log2(self.success_lower / self.blind_upper)) if self.success_lower else 0.0

    @property
    def words(self) -> str:
        """The estimate in a sentence."""
        return (
            f"With {100 * self.confidence:g} % confidence an attacker who sees the output guesses the secret with at least "
            f"{100 * self.success_lower:.4g} %, one who does not with at most {100 * self.blind_upper:.4g} %: at least "
            f"{self.bits_lower:.4g} bits of min-entropy leakage. Samples never bound leakage from above."
        )

    def summary(self) -> str:
        return f"LeakageEstimate(at least {self.bits_lower:.4g} bits at {self.confidence:g}, {self.samples} samples)"

    def to_document(self) -> dict[str, Any]:
        return {
            "samples": self.samples,
            "confidence": self.confidence,
            "min_entropy_leakage_lower": self.bits_lower,
            "bayes_success_posterior_lower": self.success_lower,
            "bayes_success_prior_upper": self.blind_upper,
            "bayes_success_posterior_estimate": self.success,
            "mutual_information_estimate": self.information,
            "words": self.words,
        }


def estimate_leakage(
    secrets: Sequence[Hashable], observations: Sequence[Any], *, prior: object = None, confidence: float = 0.999
) -> LeakageEstimate:
    """What observations tell about secrets, from pairs that were drawn independently.

    *prior* is the secrets' distribution where it is known (a dict); otherwise it is bounded from the samples as well.
    Numbers that hardly repeat are sorted into bins by their order, which only loses.

    >>> estimate_leakage(["a", "b"] * 500, ["+", "-"] * 500).bits_lower > 0.8
    True
    """
    if len(secrets) != len(observations) or len(secrets) < _FEWEST_SAMPLES:
        counts = f"{len(secrets)} secrets and {len(observations)} observations"
        raise ChannelError("samples", counts, "are not pairs, or too few", f"give {_FEWEST_SAMPLES} or more of each")
    check_confidence(confidence)
    # A fixed shuffle: whoever listed the pairs in a pattern did not know it, and so it is no choice that the data made.
    order = np.random.default_rng(0).permutation(len(secrets)).tolist()
    first, second = order[0::2], order[1::2]
    name = binned([observations[i] for i in first])
    learnt = Counter((name(observations[i]), secrets[i]) for i in first)
    tested = [(name(observations[i]), secrets[i]) for i in second]
    guess = _best_guesses(learnt)
    favourite = Counter(secrets[i] for i in first).most_common(1)[0][0]
    hits = sum(guess.get(output, favourite) == secret for output, secret in tested)
    blind, error = _blind(secrets, prior, confidence)
    both = learnt + Counter(tested)
    return LeakageEstimate(
        len(secrets),
        confidence,
        clopper_pearson_lower(hits, len(tested), error),
        blind,
        hits / len(tested),
        _information(both),
    )


def _best_guesses(pairs: Counter[tuple[str, Hashable]]) -> dict[str, Hashable]:
    best: dict[str, tuple[int, Hashable]] = {}
    for (output, secret), times in pairs.items():
        if times > best.get(output, (0, None))[0]:
            best[output] = (times, secret)
    return {output: secret for output, (_, secret) in best.items()}


def _blind(secrets: Sequence[Hashable], prior: object, confidence: float) -> tuple[float, float]:
    """The most that a guess without observation can succeed, and the error that is left for the other bound."""
    if prior is not None:
        values = list(prior.values()) if isinstance(prior, dict) else prior
        if not isinstance(values, (list, tuple, np.ndarray)):
            raise ChannelError(
                "prior", prior, "is neither a list nor a dict of chances", "give one chance for each secret"
            )
        return float(max(read_distribution(values, size=len(values), name="prior"))), 1 - confidence
    # Only the bound of the truly likeliest secret must hold; bounds grow with the count, so the largest covers it.
    most = Counter(secrets).most_common(1)[0][1]
    error = (1 - confidence) / 2
    return 1 - clopper_pearson_lower(len(secrets) - most, len(secrets), error), error


def _information(pairs: Counter[tuple[str, Hashable]]) -> float:
    """Mutual information of the counts, less the bias that Miller and Madow found: (cells − rows − columns + 1)/2n nats."""
    total = sum(pairs.values())
    outputs, secrets = Counter[str](), Counter[Hashable]()
    for (output, secret), times in pairs.items():
        outputs[output] += times
        secrets[secret] += times
    plain = sum(n / total * math.log2(n * total / (outputs[o] * secrets[s])) for (o, s), n in pairs.items())
    bias = (len(pairs) - len(outputs) - len(secrets) + 1) / (2 * total * math.log(2))
    return max(0.0, plain - bias)
