"""Plain NumPy twins of one update of every agent: the gradients of its losses, written by hand.

Each function takes layers (tests.reference.networks), a batch and hyper-parameters, and gives back
the gradient of each network it trains, along with figures to compare.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tests.reference.networks import Array, Layers, added, backward, forward


class Batch(NamedTuple):
    """Transitions, observations as rows of numbers."""

    obs: Array
    action: Any
    reward: Array
    discount: Array
    next_obs: Array
    next_mask: Any = None  # bool [B, A]: the actions allowed at s′
    mask: Any = None  # and at s


def dqn(
    q: Layers, q_target: Layers, batch: Batch, gamma: float, double_q: bool
) -> tuple[Layers, dict[str, float]]:
    out, inputs = forward(q, batch.obs)
    each = np.arange(len(out))
    q_next = forward(q_target, batch.next_obs)[0]
    picker = forward(q, batch.next_obs)[0] if double_q else q_next
    v_next = _picked(batch, q_next, picker)
    error = batch.reward + gamma * batch.discount * v_next - out[each, batch.action]
    figures = {"td_error": np.abs(error).mean(), "q": out[each, batch.action].mean()}
    return backward(q, inputs, _at_action(out, batch.action, -error / len(out))), figures


def boot_dqn_member(
    net: Layers,
    target: Layers,
    prior: Array,
    prior_next: Array,
    batch: Batch,
    mask: Any,
    gamma: float,
) -> Layers:
    """The gradient of one member, given its scaled prior's values at s and s′: both [B, A]."""
    out, inputs = forward(net, batch.obs)
    each = np.arange(len(out))
    q_next = forward(target, batch.next_obs)[0] + prior_next
    q_now = (out + prior)[each, batch.action]
    error = batch.reward + gamma * batch.discount * _picked(batch, q_next, q_next) - q_now
    return backward(net, inputs, _at_action(out, batch.action, -error * mask / len(out)))


def ube(
    q: Layers,
    u: Layers,
    q_target: Layers,
    u_target: Layers,
    sigma: Array,
    batch: Batch,
    gamma: float,
) -> tuple[Layers, Layers, dict[str, float]]:
    d_q, figures = dqn(q, q_target, batch, gamma, double_q=False)
    phi = forward(q, batch.obs)[1][-1]
    logits, inputs = forward(u, batch.obs)
    q_next = forward(q_target, batch.next_obs)[0]
    u_next = _picked(batch, _softplus(forward(u_target, batch.next_obs)[0]), q_next)
    d_logits = np.zeros_like(logits)
    nus = []
    for b, a in enumerate(batch.action):
        nu = phi[b] @ sigma[a] @ phi[b]
        target = nu + gamma**2 * batch.discount[b] * u_next[b]
        slope = 1.0 / (1.0 + np.exp(-logits[b, a]))  # of the softplus
        d_logits[b, a] = (_softplus(logits[b, a]) - target) * slope / len(logits)
        nus.append(nu)
    return d_q, backward(u, inputs, d_logits), {**figures, "nu": float(np.mean(nus))}


def sbeed(
    v: Layers, pi: Layers, rho: Layers, batch: Batch, gamma: float, kappa: float, eta: float
) -> tuple[Layers, Layers, Layers, dict[str, float]]:
    size = len(batch.reward)
    each = np.arange(size)
    v_now, v_inputs = forward(v, batch.obs)
    v_next, next_inputs = forward(v, batch.next_obs)
    logits, pi_inputs = forward(pi, batch.obs)
    rho_out, rho_inputs = forward(rho, batch.obs)
    weights = np.exp(logits) * (1 if batch.mask is None else batch.mask)
    policy = weights / weights.sum(axis=1, keepdims=True)
    log_pi = np.log(policy[each, batch.action])
    rho_now = rho_out[each, batch.action]

    delta = batch.reward + gamma * batch.discount * v_next[:, 0] - kappa * log_pi
    error = delta - v_now[:, 0]
    d_delta = 2 * (error - eta * (delta - rho_now)) / size
    d_v = added(
        backward(v, v_inputs, -2 * error[:, None] / size),
        backward(v, next_inputs, (gamma * batch.discount * d_delta)[:, None]),
    )
    taken = np.eye(logits.shape[1])[batch.action]
    d_pi = backward(pi, pi_inputs, (-kappa * d_delta)[:, None] * (taken - policy))
    d_rho = backward(
        rho, rho_inputs, _at_action(rho_out, batch.action, -2 * (delta - rho_now) / size)
    )
    return d_v, d_pi, d_rho, {"td_error": np.abs(error).mean(), "log_pi": log_pi.mean()}


def isl(
    q: Layers,
    rho: Layers,
    ell: list[Layers],
    q_target: Layers,
    ell_target: list[Layers],
    batch: Batch,
    cfg: Any,
    double_ell: bool = False,
) -> tuple[Layers, Layers, list[Layers], dict[str, float]]:
    """`ell` and `ell_target` hold one network per action; `double_ell` is of the authors' code."""
    size = len(batch.reward)
    each = np.arange(size)
    q_out, q_inputs = forward(q, batch.obs)
    rho_out, rho_inputs = forward(rho, batch.obs)
    q_now, rho_now = q_out[each, batch.action], rho_out[each, batch.action]
    q_next = forward(q_target, batch.next_obs)[0]
    ell_next = _ell(ell_target, batch.next_obs, cfg)
    picker = _ell(ell, batch.next_obs, cfg) if double_ell else ell_next
    ell_max = _picked(batch, ell_next, picker)

    discount = cfg.gamma * batch.discount
    delta = batch.reward + discount * _uc_values(batch, q_next, ell_next, cfg.kappa) - q_now
    goal = (1 - cfg.eta1) * np.abs(delta) + cfg.eta1 * np.abs(rho_now) + discount * ell_max
    direction = (1 - cfg.eta2) * delta + cfg.eta2 * rho_now
    d_q = backward(q, q_inputs, _at_action(q_out, batch.action, -direction / size))
    d_rho = backward(rho, rho_inputs, _at_action(rho_out, batch.action, -(delta - rho_now) / size))
    d_ell = _ell_gradients(ell, batch.obs, batch.action, lambda now: (now - goal) / size, cfg)
    return d_q, d_rho, d_ell, {"td_error": np.abs(delta).mean(), "q": q_now.mean()}


def uc_value(q: Array, ell: Array, kappa: float) -> float:
    """v* of one state, from the slopes of the least concave majorant of (ℓ, ℓ·q̂) and the origin."""
    order = np.lexsort((-q, ell))
    x = np.concatenate([[0.0], ell[order]])
    y = np.concatenate([[0.0], (ell * q)[order]])
    terms = []
    for j in range(1, len(x)):
        slope = min(
            max((y[k] - y[i]) / (x[k] - x[i]) for k in range(j, len(x)) if x[k] > x[i])
            for i in range(j)
            if x[-1] > x[i]
        )
        terms.append((x[j] - x[j - 1]) / x[-1] * np.exp(slope / kappa))
    return float(kappa * np.log(sum(terms)))


def _ell(networks: list[Layers], rows: Array, cfg: Any) -> Array:
    logits = np.stack([forward(network, rows)[0][:, 0] for network in networks], axis=1)
    return np.asarray(cfg.ell_min + (cfg.ell_max - cfg.ell_min) / (1 + np.exp(-logits)))


def _ell_gradients(networks: list[Layers], rows: Array, action: Any, slope: Any, cfg: Any) -> Any:
    """The gradient of each action's ℓ, given that of the loss with respect to ℓ."""
    gradients = []
    for a, network in enumerate(networks):
        logits, inputs = forward(network, rows)
        squashed = 1.0 / (1.0 + np.exp(-logits[:, 0]))
        width = cfg.ell_max - cfg.ell_min
        d_ell = slope(cfg.ell_min + width * squashed) * (action == a)
        d_logits = d_ell * width * squashed * (1 - squashed)
        gradients.append(backward(network, inputs, d_logits[:, None]))
    return gradients


def _there(batch: Batch, b: int, actions: int) -> Any:
    """The actions that exist at s′ of a transition: a masked one is left out altogether."""
    mask = None if batch.next_mask is None else batch.next_mask[b]
    return np.arange(actions) if mask is None or not mask.any() else np.flatnonzero(mask)


def _picked(batch: Batch, values: Array, picker: Array) -> Array:
    """Of the values [B, A] at s′ those of the action that the picker [B, A] says is largest."""
    chosen = []
    for b in range(len(values)):
        there = _there(batch, b, values.shape[1])
        chosen.append(values[b, there[picker[b, there].argmax()]])
    return np.array(chosen)


def _uc_values(batch: Batch, q: Array, ell: Array, kappa: float) -> Array:
    """v*(s′) [B]."""
    found = []
    for b in range(len(q)):
        there = _there(batch, b, q.shape[1])
        found.append(uc_value(q[b, there], ell[b, there], kappa))
    return np.array(found)


def _softplus(x: Any) -> Any:
    return np.log1p(np.exp(x))


def _at_action(out: Array, action: Any, values: Array) -> Array:
    """Zeros shaped like `out`, with `values` at the actions taken."""
    d_out = np.zeros_like(out)
    d_out[np.arange(len(out)), action] = values
    return d_out
