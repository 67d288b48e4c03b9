"""How many people must change before the true answer does: exact integers, checked against breadth-first search."""
