"""Who computes the runs of a command, and how their progress is shown."""
