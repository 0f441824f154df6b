"""Speed: beside peers, and beside the machine's limit."""
