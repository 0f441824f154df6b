"""Searching for hyper-parameters: `isl tune` (docs/tuning.md)."""
