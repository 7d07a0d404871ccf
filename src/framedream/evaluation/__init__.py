"""How far a simulator can be trusted: its error at every step, against what needs no simulator, and a page about it."""
