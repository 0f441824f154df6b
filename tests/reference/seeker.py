"""Plain NumPy twins of Seeker: a model in dictionaries for tables, losses in loops for networks."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from tests.reference.agents import Batch, uc_value
from tests.reference.networks import Array, Layers, forward_normalised


def return_unit(rewards: Any, discounts: Any, gamma: float) -> float:
    """The largest that max(|r|, Ē|r| / (1 − γ·Ē discount)) has been; it fades slowly."""
    unit = 0.0
    for n in range(1, len(rewards) + 1):
        carried = np.mean(np.abs(rewards[:n])) / max(1 - gamma * np.mean(discounts[:n]), 1 / n)
        fading = 1.0 if rewards[n - 1] == 0 else 1 - 1e-5
        unit = max(unit * fading, abs(rewards[n - 1]), float(carried))
    return unit


def solve_table(
    steps: list[tuple[int, int, float, float, int]], states: int, actions: int, cfg: Any
):
    """g, q and ℓ [S, A] of the model that the steps (s, a, r, discount, s′) make, at their limit.

    ℓ is not cut at ell_min, and an action that was never tried has g = q = 0.
    """
    seen = defaultdict(list)
    for s, a, r, discount, then in steps:
        seen[s, a].append((r, discount, then))
    unit = return_unit([step[2] for step in steps], [step[3] for step in steps], cfg.gamma)
    g, q = np.zeros((2, states, actions))
    ell = np.ones((states, actions))
    for _ in range(4000):
        best, v = np.zeros((2, states))
        for s in {s for s, _ in seen}:
            tried = [a for a in range(actions) if (s, a) in seen]
            best[s] = g[s, tried].max()
            v[s] = uc_value(q[s], np.maximum(ell[s], cfg.ell_min), cfg.kappa * unit)
        most = ell.max(axis=1)
        for (s, a), cases in seen.items():
            reward = np.array([r for r, _, _ in cases])
            ahead = np.array([d * best[then] for _, d, then in cases])
            variance = reward.var() + cfg.gamma**2 * ahead.var()
            outcomes = len({then for _, _, then in cases})
            unknown = (1 + len(cases) / outcomes) ** -cfg.novelty_power
            u = min(1.0, max(unknown, np.sqrt(variance / len(cases)) / unit))
            g[s, a] = reward.mean() + cfg.gamma * ahead.mean()
            q[s, a] = reward.mean() + cfg.gamma * np.mean([d * v[then] for _, d, then in cases])
            prospect = np.mean([d * most[then] for _, d, then in cases])
            ell[s, a] = u + (1 - u) * cfg.ell_gamma * prospect
    return g, q, ell


def network_losses(
    nets: tuple[Layers, Layers],
    frozen: tuple[Layers, Layers],
    ahead: Layers,
    batch: Batch,
    novelty_next: Array,
    cfg: Any,
) -> tuple[float, float, float]:
    """J_g, J_q and J_h of a batch.

    Args:
        nets: g, and q̂ beside the log-odds of h less 3.
        frozen: the same as they were.
        ahead: g as it picks actions at s′, and as it tells the best one of s.
        batch: the transitions.
        novelty_next: u(s′, ·), [B, A].
        cfg: the hyper-parameters.
    """
    g_now, seek_now = (forward_normalised(net, batch.obs) for net in nets)
    g_then, seek_then = (forward_normalised(net, batch.next_obs) for net in frozen)
    picker, present = (forward_normalised(ahead, x) for x in (batch.next_obs, batch.obs))
    actions = g_now.shape[1]
    totals = np.zeros(3)
    for b, action in enumerate(batch.action):
        there = np.arange(actions)
        if batch.next_mask is not None and batch.next_mask[b].any():
            there = np.flatnonzero(batch.next_mask[b])
        h = 1 / (1 + np.exp(-3 - seek_then[b, actions:]))
        ell = np.maximum(novelty_next[b] + (1 - novelty_next[b]) * h, cfg.ell_min)
        best = g_then[b, there[picker[b, there].argmax()]]
        v = uc_value(seek_then[b, there], ell[there], cfg.kappa)
        here = np.arange(actions) if batch.mask is None else np.flatnonzero(batch.mask[b])
        lag = present[b, here].max() - present[b, action]
        goal = batch.reward[b] + cfg.gamma * batch.discount[b] * np.array([best, v])
        goal[0] -= cfg.action_gap * lag
        errors = np.abs(goal - (g_now[b, action], seek_now[b, action]))
        totals[:2] += np.where(errors <= 1, 0.5 * errors**2, errors - 0.5)
        odds, wanted = 3 + seek_now[b, actions + action], cfg.ell_gamma * batch.discount[b]
        wanted *= ell[there].max()
        totals[2] += wanted * np.log1p(np.exp(-odds)) + (1 - wanted) * np.log1p(np.exp(odds))
    return tuple(totals / len(batch.reward))
