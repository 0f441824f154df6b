"""Deep exploration for reinforcement learning, compiled."""

__version__ = "0.1.0"
