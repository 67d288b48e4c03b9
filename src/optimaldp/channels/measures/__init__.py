"""What a channel tells an attacker and an analyst: vulnerabilities, entropies, capacities, privacy."""
