"""Leakage from samples: pairs of a secret and what was observed, and nothing else known about the channel.

Half of the pairs learn what to guess on each observation; the other half, untouched by that, count how often the guess
is right. So the success that is reported is one that an attacker certainly reaches, with the stated confidence.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optimaldp.channels.measures.audits import binned, check_confidence, clopper_pearson_lower
from optimaldp.channels.numbers import read_distribution
from optimaldp.errors import ChannelError
from optimaldp.results import Result

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
