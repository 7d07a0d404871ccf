"""What trained simulators are good for."""
