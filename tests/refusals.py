"""What a referee says where it refuses: a finding with words of failure never lets anything pass."""

from __future__ import annotations

from optimaldp.certify.findings import Finding


def refusal(finding: Finding) -> str:
    assert finding.private is (finding.failure == "")
    return finding.failure
