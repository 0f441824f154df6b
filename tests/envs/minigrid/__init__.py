"""MiniGrid's tasks beside the original."""
