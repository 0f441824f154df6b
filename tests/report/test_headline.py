"""The result in words, as a person would say it, with unsolved seeds counted as infinite."""

from isl.report import collect, headline
from tests.support import made_runs


def said(root):
    return headline.sentences(collect.collect_runs(root))


def test_who_solved_a_task_how_soon_and_who_did_not(tmp_path):
    for seed in range(4):
        made_runs.make(tmp_path, "deep_sea/20", "isl", seed, solves_at=100 * (seed + 1))
        late = 50 if seed == 0 else None  # its median is infinite, although one seed was the first
        made_runs.make(tmp_path, "deep_sea/20", "boot_dqn", seed, solves_at=late)
        made_runs.make(tmp_path, "deep_sea/20", "dqn", seed, solves_at=None)
    assert said(tmp_path) == [
        "ISL solved 4 of 4 seeds of deep_sea/20, median 259 episodes; BSP (boot_dqn) 1 of 4, "
        "median beyond the budget of 600 episodes; DQN none of 4."
    ]


def test_sizes_are_summed_up(tmp_path):
    for size in (10, 20, 30):
        for seed in range(2):
            made_runs.make(tmp_path, f"deep_sea/{size}", "isl", seed, solves_at=10 * size)
            found = 90 if size == 10 else None
            made_runs.make(tmp_path, f"deep_sea/{size}", "dqn", seed, solves_at=found)
    made_runs.make(tmp_path, "deep_sea/10", "ube", solves_at=91)
    assert said(tmp_path) == [
        "ISL solved 6 of 6 runs of deep_sea at 3 sizes from 10 to 30, every seed up to 30 (median "
        "309 episodes); UBE 1 of 1, at 1 of the 3, at episode 100; DQN 2 of 6, every seed up to 10 "
        "(median 99 episodes)."
    ]


def test_single_seeds_returns_nobody_and_what_is_unfinished(tmp_path):
    made_runs.make(tmp_path, "four_rooms", "seeker", solves_at=None)
    made_runs.make(tmp_path, "lock/3", "seeker", solves_at=1)
    made_runs.on_gymnasium(tmp_path, solves_at=1)
    made_runs.on_gymnasium(tmp_path, "Acrobot-v1", "dqn", episodes=0)
    made_runs.begin(tmp_path, "lock/3", "isl")
    gone = {"status": "diverged", "message": "update 7 was not finite"}
    made_runs.make(tmp_path, "cartpole_swingup/2", "isl", solves_at=None, **gone)
    assert said(tmp_path) == [
        "Median best return on cartpole_swingup/2: ISL 0.",
        "No seed solved four_rooms: Seeker none of 1.",
        "Seeker solved 1 of 1 seed of lock/3, at episode 10.",
        "Median best return on Acrobot-v1: no episode ended.",
        "Median best return on CartPole-v1: Seeker 0.99.",
        "1 run diverged: what was reached by then counts.",
        "1 run without a result.",
    ]


def test_evaluated_runs_are_compared_by_their_greedy_policies(tmp_path):
    evaluated = ([300, 600], [0.1, 0.8])
    for seed in range(3):
        made_runs.on_gymnasium(tmp_path, seed=seed, greedy=evaluated)
        made_runs.make(tmp_path, "cartpole_swingup/2", seed=seed, solves_at=1, greedy=evaluated)
    assert said(tmp_path) == [
        "Median best return on cartpole_swingup/2: ISL 0.99.",  # the paper's measure
        "Median return of the last greedy policy on CartPole-v1: Seeker 0.8.",
    ]
    made_runs.on_gymnasium(tmp_path, agent="dqn")  # as runs of 0.1 are: without it
    assert "Median best return on CartPole-v1: Seeker 0.99, DQN 0" in said(tmp_path)[1]


def test_without_a_finished_run_it_says_so(tmp_path):
    made_runs.begin(tmp_path)
    assert said(tmp_path) == ["No run has a result yet, so there is nothing to draw."]
