"""Not empty for long."""
