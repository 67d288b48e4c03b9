"""The comparison with peers: ``python -m benchmarks.peers`` writes docs/peers.json and, from it, docs/peers.md."""
