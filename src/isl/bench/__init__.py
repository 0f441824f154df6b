"""Speed beside peers and beside the machine's limit: `isl bench`.

    report       our agents, peers and the limit: a table, a JSON file and a plot
    ours, peers, limit, timing    the contestants, and how they take turns
    exploration  the policy and value beside softmax and logsumexp
    host_loop    Seeker and DQN beside the DQNs of Stable-Baselines3 and SBX, on Gymnasium's tasks
    solving      Seeker beside Stable-Baselines3's tuned DQN, in seconds to a solution
    many_envs    several environments side by side
    compiling    how long JAX compiles
    startup      from the command to its first episode, and the first steps of a model

Contestants are measured in one process on one pinned core with one XLA thread, in turns, so that
whatever else the machine does slows all of them alike; medians and spreads over the turns.
"""
