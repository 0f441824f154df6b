"""Speed beside peers and beside the machine's limit: `isl bench`.

    report       our agents, peers and the limit: a table, a JSON file and a plot
    ours, peers, limit, timing    the contestants, and how they take turns
    exploration  the policy and value beside softmax and logsumexp
    host_loop    our DQN beside Stable-Baselines3's, on a Gymnasium environment
    startup      from the command to its first episode, and the first steps of a model

Contestants are measured in one process on one pinned core with one XLA thread, in turns, so that
whatever else the machine does slows all of them alike; medians and spreads over the turns.
"""
