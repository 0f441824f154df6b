"""Which networks Seeker has on vectors, symbols and images, and what they tell.

    greedy   g(s, ·)
    seek     q̂(s, ·) and h(s, ·) on one torso

Apart, what π* needs cannot disturb the values that `exploit` follows. On images convolutions are
nearly all of the cost, so there the three share one network, `all`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
from gymnasium.spaces import Space

from isl.agents.seeker.config import Config
from isl.envs.kinds import is_image
from isl.nn.approximators import Approximators, Net, Trained
from isl.nn.networks import WithTorso
from isl.nn.step import Outputs

HOPE = 3.0  # log-odds of h before anything is learned: most of what lies ahead is unknown


class Told(NamedTuple):
    """What the networks say of an observation, each of all actions [..., A]."""

    g: jax.Array
    q: jax.Array
    h: jax.Array  # log-odds


class Heads:
    """The networks, and where in them g, q̂ and h are."""

    def __init__(
        self, cfg: Config, space: Space[Any], num_actions: int, *, layer_norm: bool = True
    ) -> None:
        together = is_image(seen(space))
        outputs = {"all": 3} if together else {"greedy": 1, "seek": 2}
        nets = {name: Net(n * num_actions, cfg.lr) for name, n in outputs.items()}
        self.networks = Approximators(space, cfg.hidden, nets, layer_norm=layer_norm)
        self._actions, self._together = num_actions, together
        self._of_greedy = "all" if together else "greedy"
        # Of a network that has h, the outputs before it are in units of the returns.
        self._values = {"all": 2 * num_actions} if together else {"seek": num_actions}

    def g(self, outputs: Outputs) -> jax.Array:
        """g(s, ·)."""
        return outputs(self._of_greedy)[..., : self._actions]

    def told(self, outputs: Outputs) -> Told:
        """All three."""
        n = self._actions
        others = outputs("all")[..., n:] if self._together else outputs("seek")
        return Told(self.g(outputs), others[..., :n], others[..., n:] + HOPE)

    def read(self, state: Trained, obs: jax.Array) -> Told:
        """All three, by the networks as they are."""
        return self.told(self.networks.read(state, obs))

    def policy(self, state: Trained) -> Any:
        """The parameters that g depends on."""
        return state.params[self._of_greedy]

    def values_of(self, state: Trained, policy: Any, obs: jax.Array) -> jax.Array:
        """g(s, ·) by such parameters."""
        return self.g(self.networks.read(state._replace(params={self._of_greedy: policy}), obs))

    def scaled(self, state: Trained, factor: jax.Array) -> Trained:
        """g and q̂ times a factor."""
        return self.networks.scaled(state, factor, self._values)

    def scaled_policy(self, policy: Any, factor: jax.Array) -> Any:
        """The same of parameters that g depends on."""
        name = self._of_greedy
        return self.networks.scaled_params({name: policy}, factor, self._values)[name]


def seen(space: Space[Any]) -> Space[Any]:
    """What the environment shows, whatever torso reads it."""
    return space.space if isinstance(space, WithTorso) else space
