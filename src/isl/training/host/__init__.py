"""The training loop for Python environments."""
