"""Playing inside a simulator: in a web page, beside the real environment, or from a script."""
