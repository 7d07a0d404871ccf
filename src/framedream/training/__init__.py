"""Training: schemes (data), optimisers, one loop, and what a run needs around it."""
