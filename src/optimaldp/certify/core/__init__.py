"""The referee's core: closeness, meanings and neighbours, what is drawn, and the promise."""
