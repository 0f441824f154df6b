"""MiniGrid's classic tasks, transition by transition (Chevalier-Boisvert et al. 2023).

grid.py holds the rules that all tasks share, view.py what the agent sees of a grid. Every other
module holds one task: how its grids are drawn, and its limit of steps.
"""
