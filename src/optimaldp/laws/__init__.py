"""How the answer to a question is distributed: counts in, law out; generic in the numbers, so that the code which draws is
the code that the referee reads."""
