"""What runs say: scores, growth with size, bsuite's files, diagnoses. Nothing here needs JAX."""
