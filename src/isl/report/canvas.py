"""matplotlib as the project uses it: one style, and files that are equal for equal drawings."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from isl.errors import UsageError

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "isl",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "text.parse_math": False,  # names come from configs: a dollar sign in them is no formula
}
# For a page that shows one file on light and another on dark: both let the page show through.
ON_LIGHT: dict[Any, Any] = {"savefig.transparent": True}
_PALE = "#d7dce3"
ON_DARK: dict[Any, Any] = ON_LIGHT | {
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), _PALE),
    "axes.edgecolor": "#7d8590",
    "grid.color": "#7d8590",
}
_UNDATED: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
}


@contextmanager
def drawing(**more: Any) -> Iterator[None]:
    """Draw and save within this: the project's style, with `more` settings of matplotlib."""
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise UsageError(f"figures need {error.name}: pip install 'isl[report]'") from None
    with matplotlib.rc_context(STYLE | more):
        yield


def figure(width: float, height: float, **options: Any) -> Any:
    """An empty figure, in inches, which needs no display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), **options)
    FigureCanvasAgg(made)
    return made


def saved(drawn: Any, form: str, dpi: int = 130) -> bytes:
    """The figure as a file's content, without a date."""
    buffer = io.BytesIO()
    drawn.savefig(buffer, format=form, dpi=dpi, metadata=_UNDATED.get(form))
    return buffer.getvalue()
