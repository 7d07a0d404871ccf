"""Model-based exploration of mazes: walk where the imagined view is unlike anything seen lately (section 3.3)."""
