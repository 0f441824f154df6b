"""Networks, how they are trained together, and fixed random features."""
