"""The referee of mechanisms on dataset graphs: privacy on every edge, optimality from the certificate, and nothing else."""
