"""How long JAX compiles: tracing, lowering, and XLA's own work or the look into its cache."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax

EVENTS = "/jax/core/compile/"  # what their names begin with


class Compiling:
    """Adds up spans that come in the order of their ends; what lies in another counts once."""

    def __init__(self) -> None:
        self._spans: list[tuple[float, float]] = []  # apart from each other, in order

    def heard(self, event: str, start_time: float, end_time: float, **_: Any) -> None:
        """JAX's message at the end of something that it did."""
        if not event.startswith(EVENTS):
            return
        while self._spans and self._spans[-1][0] >= start_time:
            self._spans.pop()
        if self._spans:
            start_time = max(start_time, self._spans[-1][1])
        self._spans.append((start_time, end_time))

    @property
    def seconds(self) -> float:
        return sum(end - start for start, end in self._spans)


@cache
def compiling() -> Compiling:
    """That of this process, from the first call on."""
    counted = Compiling()
    jax.monitoring.register_event_time_span_listener(counted.heard)
    return counted
