"""Known Markov decision processes, checked once and kept in 64 bits for planning."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray


class Model(NamedTuple):
    """An MDP as compiled functions see it."""

    probs: Array  # [S, A, K], of the successor with the same index
    successors: Array | None  # [S, A, K]; None if every state is one: probs is then [S, A, S]
    reward: Array  # [S, A], 0 in terminal rows
    alive: Array  # [S], 0.0 in terminal states, else 1.0
    gamma: Array

    def expect(self, of_state: Array) -> Array:
        """E over s′, [S, A], of a value per state [S] that is 0 once the episode is over."""
        counted = self.alive * of_state
        if self.successors is None:
            return self.probs @ counted
        return jnp.sum(self.probs * counted[self.successors], -1)

    def unless_over(self, table: Array) -> Array:
        """The table [S, A] with zeros in the rows of terminal states."""
        return self.alive[:, None] * table


class MDP:
    """A finite Markov decision process with known dynamics.

    Args:
        P: transition probabilities [S, A, S].
        r: expected rewards [S, A].
        gamma: discount in [0, 1).
        terminal: bool [S], states in which the episode is over; none by default.

    `MDP.sparse` and `MDP.deterministic` take successor tables instead of P.
    """

    def __init__(
        self, P: ArrayLike, r: ArrayLike, gamma: float, terminal: ArrayLike | None = None
    ) -> None:
        probs = np.asarray(P, np.float64)
        if probs.ndim != 3 or probs.shape[0] != probs.shape[2]:
            raise ValueError(f"P has shape {probs.shape}; expected [S, A, S]")
        self._set(probs, None, r, gamma, terminal)

    @classmethod
    def sparse(
        cls,
        successors: ArrayLike,
        probs: ArrayLike,
        r: ArrayLike,
        gamma: float,
        terminal: ArrayLike | None = None,
    ) -> "MDP":
        """From (s, a) to state successors[s, a, k] with probability probs[s, a, k]."""
        states, weights = np.asarray(successors), np.asarray(probs, np.float64)
        if states.ndim != 3 or states.shape != weights.shape:
            raise ValueError(
                f"successors has shape {states.shape} and probs {weights.shape}; expected [S, A, K]"
            )
        if not np.issubdtype(states.dtype, np.integer):
            raise ValueError(f"successors has dtype {states.dtype}; expected integers")
        if states.min() < 0 or states.max() >= len(states):
            raise ValueError(f"successors must lie in 0…{len(states) - 1}, the states of this MDP")
        mdp = cls.__new__(cls)
        mdp._set(weights, states.astype(np.int32), r, gamma, terminal)
        return mdp

    @classmethod
    def deterministic(
        cls, next_state: ArrayLike, r: ArrayLike, gamma: float, terminal: ArrayLike | None = None
    ) -> "MDP":
        """From (s, a) to state next_state[s, a]."""
        states = np.asarray(next_state)[..., None]
        return cls.sparse(states, np.ones(states.shape), r, gamma, terminal)

    def _set(
        self,
        probs: NDArray[np.float64],
        successors: NDArray[np.int32] | None,
        r: ArrayLike,
        gamma: float,
        terminal: ArrayLike | None,
    ) -> None:
        reward = np.asarray(r, np.float64)
        n_states = probs.shape[0]
        ended = np.zeros(n_states, bool) if terminal is None else np.asarray(terminal)
        if not np.isfinite(probs).all() or (probs < 0).any():
            raise ValueError("transition probabilities must be finite and not negative")
        if not np.allclose(probs.sum(-1), 1.0, rtol=0, atol=1e-8):
            s, a = np.argwhere(~np.isclose(probs.sum(-1), 1.0, rtol=0, atol=1e-8))[0]
            raise ValueError(
                f"transition probabilities from state {s} under action {a} sum to "
                f"{probs[s, a].sum():.6g}; expected 1"
            )
        if reward.shape != probs.shape[:2]:
            raise ValueError(f"r has shape {reward.shape}; expected [S, A] = {probs.shape[:2]}")
        if not np.isfinite(reward).all():
            raise ValueError("r holds NaN or infinity; expected finite rewards")
        if not 0 <= gamma < 1:
            raise ValueError(f"gamma is {gamma}; expected a discount in [0, 1)")
        if ended.shape != (n_states,) or ended.dtype != bool:
            raise ValueError(f"terminal is {ended.dtype} {ended.shape}; expected bool [{n_states}]")
        self.gamma, self.terminal = float(gamma), ended
        self.n_states, self.n_actions = reward.shape
        self.reward = np.where(ended[:, None], 0.0, reward)
        with jax.enable_x64(True):
            self.model = Model(
                probs=jnp.asarray(probs),
                successors=None if successors is None else jnp.asarray(successors),
                reward=jnp.asarray(self.reward),
                alive=jnp.asarray(~ended, float),
                gamma=jnp.asarray(self.gamma),
            )


def deep_sea_mdp(
    size: int, mapping_seed: int = 42, stochastic: bool = False, gamma: float = 0.99
) -> MDP:
    """bsuite's Deep Sea: state row·N + column, and state N² after the last row.

    In the stochastic variant right succeeds with probability 1 − 1/N; its reward noise has mean 0
    and is not part of the plan.
    """
    mapping = np.random.RandomState(mapping_seed).binomial(1, 0.5, (size, size))
    row, column, action = np.meshgrid(range(size), range(size), range(2), indexing="ij")
    right = action == mapping[..., None]
    over = size * size

    def cell(next_column: NDArray[np.int64]) -> NDArray[np.int64]:
        clipped = np.clip(next_column, 0, size - 1)
        return np.where(row == size - 1, over, (row + 1) * size + clipped).reshape(over, 2)

    moved, stayed = cell(np.where(right, column + 1, column - 1)), cell(column)
    slips = (right / size if stochastic else np.zeros(right.shape)).reshape(over, 2)
    reward = np.where(right, (column == size - 1) - 0.01 / size, 0.0).reshape(over, 2)
    outcomes = 2 if stochastic else 1
    end = np.full((1, 2, outcomes), over), np.full((1, 2, outcomes), 1 / outcomes), np.zeros((1, 2))
    return MDP.sparse(
        np.concatenate([np.stack([moved, stayed], -1)[..., :outcomes], end[0]]),
        np.concatenate([np.stack([1 - slips, slips], -1)[..., :outcomes], end[1]]),
        np.concatenate([reward, end[2]]),
        gamma,
        np.arange(over + 1) == over,
    )
