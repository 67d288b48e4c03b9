"""What a referee says where it refuses: a finding with words of failure never lets anything pass."""

from __future__ import annotations

from optimaldp.certify.core.examined import Finding


def refusal(finding: Finding) -> str:
    assert finding.private is (finding.failure == "")
    return finding.failure
