"""Experiments: ready-made runs, and the paper's grid, as functions that return run specifications."""
