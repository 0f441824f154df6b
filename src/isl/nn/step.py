"""One gradient step for networks that one loss trains, and what the loss sees of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

if TYPE_CHECKING:
    from isl.nn.approximators import Approximators, Frozen, Trained, View


class Outputs:
    """The networks of a view at its observations: `outputs("q")` is [(copies,) …, outputs]."""

    def __init__(self, nets: Approximators, view: View, obs: jax.Array) -> None:
        self._nets, self._view, self._obs = nets, view, obs

    def __call__(self, name: str) -> jax.Array:
        return self._nets.evaluate(name, self._view, self._obs)

    def at(self, obs: jax.Array) -> Outputs:
        """The same networks at other observations; not those that are tables."""
        return Outputs(self._nets, self._view, obs)

    def features(self, name: str) -> jax.Array:
        """The last hidden layer."""
        return self._nets.evaluate(name, self._view, self._obs, method="features")


class Reads(NamedTuple):
    """What a loss sees of a set of networks."""

    online: Outputs  # at the observations; what is trained
    target: Outputs  # frozen, at the next observations
    ahead: Outputs  # the present networks at the next observations, without gradients


class Place(NamedTuple):
    """A set of networks about to be trained: their state, and where they are evaluated."""

    nets: Approximators
    state: Trained
    target: Frozen
    obs: jax.Array  # [B, …]
    next_obs: jax.Array
    member: Any = None


Loss = Callable[..., tuple[jax.Array, dict[str, jax.Array]]]  # of a `Reads` per set of networks


def step(places: Sequence[Place], loss: Loss) -> tuple[list[Trained], dict[str, jax.Array]]:
    """One step of Adam for several sets of networks that one loss trains.

    Args:
        places: the sets, each where it is evaluated.
        loss: takes a `Reads` for every set; gives the scalar to minimise and metrics.

    Returns:
        The sets' new states, and the metrics.
    """
    views = [p.nets.to_train(p.state, p.target, p.obs, p.member) for p in places]
    targets = [p.nets.frozen(p.state, p.target, p.next_obs, p.member) for p in places]

    def total(views: list[View]) -> tuple[jax.Array, dict[str, jax.Array]]:
        reads = [
            Reads(
                Outputs(place.nets, view, place.obs),
                Outputs(place.nets, target, place.next_obs),
                place.nets.read(place.state, place.next_obs, place.member),
            )
            for place, view, target in zip(places, views, targets, strict=True)
        ]
        return loss(*reads)

    grads, metrics = jax.grad(total, has_aux=True)(views)
    states = [
        place.nets.descend(place.state, view, grad, place.obs, place.member)
        for place, view, grad in zip(places, views, grads, strict=True)
    ]
    return states, metrics
