"""Data sets from and to elsewhere: folders of NPZ or of films with CSV, and Minari."""
