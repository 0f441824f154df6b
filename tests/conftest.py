"""Strict by default: implicit rank broadcasting raises, and (pyproject) warnings are errors."""

import jax
import pytest
from hypothesis import HealthCheck, settings

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_platforms", "cpu")

settings.register_profile(
    "isl", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("isl")


@pytest.fixture
def x64():
    """Run the test with 64-bit arrays."""
    with jax.enable_x64(True):
        yield
