"""What is on the disk: sealed files, run folders, all runs under a root. Nothing here needs JAX."""
