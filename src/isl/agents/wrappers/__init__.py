"""Agents around agents: what they see or are paid, put on another scale."""
