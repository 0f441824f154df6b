"""Torsos by observation space; the twins of tests/reference hold the dense numbers."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Text

from isl.envs.spaces import Symbols
from isl.errors import UsageError
from isl.nn.networks import Dense, Network, Table, WithTorso, dummy_observation
from tests.support import twin

HIDDEN = (6, 5)
FIRST_KERNEL_SUM = 1.624504804611206


def build(space, bias=True):
    network = Network(space, HIDDEN, 2, bias)
    return Compiled(network), jax.jit(network.init)(jax.random.key(0), dummy_observation(space))


class Compiled:
    """A network whose `apply` is compiled: op by op a convolution compiles for seconds."""

    def __init__(self, network):
        self.apply = jax.jit(network.apply)


def test_parameters_are_those_that_runs_so_far_were_made_with():
    """A change of these numbers changes every experiment: it must be meant."""
    _, table = build(Discrete(4))
    _, dense = build(Box(-1, 1, (2, 2), np.float32))
    names = {"first", "rest_0", "head"}
    assert set(table["params"]) == set(dense["params"]) == names
    drawn = [float(jnp.sum(p["params"]["first"]["kernel"])) for p in (table, dense)]
    assert drawn[0] == pytest.approx(drawn[1], abs=1e-6)  # same shape, same key, same draw
    assert drawn[0] == pytest.approx(FIRST_KERNEL_SUM, abs=1e-6)


@pytest.mark.parametrize("shape", [(7, 7), (2, 16, 16)])
def test_images_are_read_with_any_batch_axes(shape):
    network, params = build(Box(0, 255, shape, np.uint8))
    images = np.random.default_rng(0).integers(0, 256, (4, *shape), np.uint8)
    together = network.apply(params, images)
    assert together.shape == (4, 2)
    alone = np.stack([network.apply(params, image) for image in images])
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-5)
    assert not np.allclose(together[0], together[1])
    pairs = network.apply(params, images.reshape(2, 2, *shape))
    np.testing.assert_allclose(pairs.reshape(4, 2), together, rtol=1e-4, atol=1e-5)


def test_channels_first_and_last_read_the_same_picture():
    last, params = build(Box(0, 255, (10, 12, 3), np.uint8))
    first = Compiled(Network(Box(0, 255, (3, 10, 12), np.uint8), HIDDEN, 2))
    image = np.random.default_rng(0).integers(0, 256, (10, 12, 3), np.uint8)
    moved = np.moveaxis(image, -1, 0)
    np.testing.assert_allclose(last.apply(params, image), first.apply(params, moved), rtol=1e-6)


def test_convolutions_stop_at_a_small_picture():
    _, params = build(Box(0, 255, (40, 30, 3), np.uint8))
    torso = params["params"]["torso"]
    assert [torso[f"Conv_{i}"]["kernel"].shape for i in range(3)] == [
        (3, 3, 3, 16),
        (3, 3, 16, 32),
        (3, 3, 32, 32),
    ]
    assert params["params"]["first"]["kernel"].shape == (HIDDEN[0], 5 * 4 * 32)


def test_without_biases_a_network_is_homogeneous():
    network, params = build(Box(0, 255, (8, 8), np.uint8), bias=False)
    assert not any("bias" in jax.tree_util.keystr(p) for p, _ in jax.tree.leaves_with_path(params))
    assert np.allclose(network.apply(params, np.zeros((8, 8), np.uint8)), 0.0)


class Doubling(nn.Module):
    @nn.compact
    def __call__(self, batch):
        assert batch.ndim == 3  # always one batch axis
        return nn.Dense(7)(2.0 * batch.reshape(batch.shape[0], -1))


def test_a_custom_torso_reads_batches_whatever_the_axes():
    space = WithTorso(Box(-1, 1, (2, 3), np.float32), Doubling())
    network, params = build(space)
    assert params["params"]["torso"]["Dense_0"]["kernel"].shape == (6, 7)
    obs = np.random.default_rng(0).normal(size=(4, 2, 3)).astype(np.float32)
    together = network.apply(params, obs)
    np.testing.assert_allclose(together[1], network.apply(params, obs[1]), rtol=1e-4, atol=1e-6)


def test_custom_torsos_of_two_networks_are_apart():
    space = WithTorso(Box(-1, 1, (2, 3), np.float32), Doubling())
    network = Network(space, HIDDEN, 2)
    init = jax.jit(network.init)
    one, other = (init(jax.random.key(i), dummy_observation(space)) for i in (0, 1))
    kernels = [p["params"]["torso"]["Dense_0"]["kernel"] for p in (one, other)]
    assert not np.allclose(*kernels)


def test_other_spaces_are_refused():
    with pytest.raises(UsageError, match=r"Text.*not supported"):
        Network(Text(3), HIDDEN, 2).init(jax.random.key(0), jnp.zeros(3))


@pytest.mark.parametrize("bias", [True, False])
def test_a_table_is_a_dense_layer_on_one_hot_codes(bias):
    """The same numbers from the same parameters, and the same gradients."""
    rows, width = 6, 4
    table, dense = Table(rows, width, bias), Dense(width, bias)
    index = np.array([0, 5, 2, 2, 2, 1])
    weights = np.random.default_rng(0).normal(size=(width, 6)).astype(np.float32)
    variables = twin.in_training(table.init, jax.random.key(0), jnp.asarray(index), seed=0)

    def outputs_and_gradient(layer, parameters, x):
        def weighed(v):
            y = layer.apply(parameters(v), x)
            y = y.T if layer is table else y  # a table gives rows, a dense layer columns
            return jnp.sum(weights * y), y

        return twin.hurried(jax.grad(weighed, has_aux=True))(variables)

    def transposed(v):  # a dense kernel is [out, in]
        return {"params": v["params"] | {"kernel": v["params"]["kernel"].T}}

    one_hot = jnp.asarray(np.eye(rows, dtype=np.float32)[:, index])
    by_table = outputs_and_gradient(table, lambda v: v, jnp.asarray(index))
    by_dense = outputs_and_gradient(dense, transposed, one_hot)
    for one, other in zip(jax.tree.leaves(by_table), jax.tree.leaves(by_dense), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_symbols_are_embedded_alike_in_every_cell():
    space = Symbols((2, 2, 3), 5)
    network = Network(space, (4,), 2)
    view = jnp.asarray(np.random.default_rng(0).integers(0, 5, (6, 2, 2, 3)), jnp.uint8)
    tree = network.init(jax.random.key(0), view)
    layers = jax.tree.map(np.asarray, tree["params"])
    kernel = layers["torso"]["kernel"].reshape(3, 5, -1) * np.sqrt(5)
    expected = []
    for one in np.asarray(view):
        cells = [
            np.maximum(sum(kernel[c, symbol] for c, symbol in enumerate(cell)), 0)
            for cell in one.reshape(4, 3)
        ]
        hidden = np.maximum(layers["first"]["kernel"] @ np.stack(cells, axis=1).ravel(), 0)
        expected.append(layers["head"]["kernel"] @ hidden)
    np.testing.assert_allclose(network.apply(tree, view), expected, rtol=1e-5)
