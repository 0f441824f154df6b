"""A hook of mkdocs: formulas become MathML while the site is built, so it needs no script for them.

pymdownx.arithmatex marks them as <span class="arithmatex">\\(…\\)</span> and <div …>\\[…\\]</div>.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

_MARKED = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Every formula of a page."""
    return _MARKED.sub(_formula, content)


def _formula(found: re.Match[str]) -> str:
    display = "block" if found[1] == "div" else "inline"
    latex = html.unescape(found[2]).replace(r"\!", "")  # a thin negative space it does not know
    return convert(latex, display=display)
