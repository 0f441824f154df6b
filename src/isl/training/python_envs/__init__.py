"""Other people's environments: stepped side by side, checked and timed."""
