"""Speed beside peers and beside the machine's limit: `isl bench`.

Everything is measured in one process on one pinned core with one XLA thread, in turns, so that
whatever else the machine does slows all contestants alike; medians and spreads over the turns.
"""
