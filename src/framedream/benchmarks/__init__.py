"""Speeds of this machine, measured against the straightforward way in the same run."""
