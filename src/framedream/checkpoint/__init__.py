"""Checkpoints: folders that rebuild a simulator and resume a run.

`framedream.checkpoint.checkpoint.load_simulator(folder)` is what play, evaluation and exports need.
"""
