"""Data sets: recorded, checked, and read back byte for byte."""
