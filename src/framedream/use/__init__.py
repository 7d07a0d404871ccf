"""Using a simulator: as an environment, as a game, to explore with. Knows nothing of training."""
