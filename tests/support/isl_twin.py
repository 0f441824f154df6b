"""ISL's update by its NumPy twin, for the paper's agent and its variants."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.reference import agents as reference
from tests.reference.networks import Adam, Layers, adam_step
from tests.support import twin

VALUES: dict[str, int | None] = {"q": None, "rho": None}
UNCERTAINTY: dict[str, int | None] = {"ell": twin.ACTIONS}
ACTIONS = range(twin.ACTIONS)

After = tuple[Layers, Adam]


class Expected(NamedTuple):
    """Parameters and Adam's state after the update, ℓ's of every action, and metrics."""

    q: After
    rho: After
    ell: list[After]
    figures: dict[str, float]


def expected_update(
    cfg: Any,
    space: Any,
    learner: Any,
    target: Any,
    batch: Any,
    member: int | None = None,
    double_ell: bool = False,
    rate: float | None = None,
) -> Expected:
    """The twin's update of the ℓ networks of `member`; `rate` is that of all, if they share one."""
    values, ell = twin.Nets(learner.values, VALUES), twin.Nets(learner.ell, UNCERTAINTY, member)
    frozen_values = twin.Nets(learner.values, VALUES, target=target.values)
    frozen_ell = twin.Nets(learner.ell, UNCERTAINTY, member, target=target.ell)
    d_q, d_rho, d_ell, figures = reference.isl(
        values.layers("q"),
        values.layers("rho"),
        [ell.layers("ell", a) for a in ACTIONS],
        frozen_values.layers("q"),
        [frozen_ell.layers("ell", a) for a in ACTIONS],
        twin.plain(space, batch),
        cfg,
        double_ell,
    )
    return Expected(
        adam_step(values.layers("q"), d_q, values.adam("q"), rate or cfg.lr_q),
        adam_step(values.layers("rho"), d_rho, values.adam("rho"), rate or cfg.lr_rho),
        [
            adam_step(ell.layers("ell", a), d_ell[a], ell.adam("ell", a), rate or cfg.lr_ell)
            for a in ACTIONS
        ],
        figures,
    )


def assert_same_update(
    after: Any, metrics: Any, expected: Expected, member: int | None = None
) -> None:
    """The agent's learner and metrics are those of the twin."""
    values, ell = twin.Nets(after.values, VALUES), twin.Nets(after.ell, UNCERTAINTY, member)
    for name, (layers, opt) in (("q", expected.q), ("rho", expected.rho)):
        twin.assert_same_layers(values.layers(name), layers)
        twin.assert_same_adam(values.adam(name), opt)
    for a, (layers, opt) in enumerate(expected.ell):
        twin.assert_same_layers(ell.layers("ell", a), layers)
        twin.assert_same_adam(ell.adam("ell", a), opt)
    for name, value in expected.figures.items():
        twin.assert_same(metrics[name], value)
