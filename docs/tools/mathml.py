"""A hook of mkdocs: formulas become MathML while the site is built, so it needs no script for them.

pymdownx.arithmatex marks them as <span class="arithmatex">\\(…\\)</span> and <div …>\\[…\\]</div>.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

_MARKED = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
_IN_ITS_WORDS = {  # LaTeX that latex2mathml does not know → what it does know
    "{aligned}": "{split}",
    r"\arg": r"\text{arg}\,",
    r"\_": "_",
    r"\!": "",
}


def on_page_content(content: str, **_: Any) -> str:
    """Every formula of a page."""
    return _MARKED.sub(_formula, content)


def _formula(found: re.Match[str]) -> str:
    latex = html.unescape(found[2])
    for ours, its in _IN_ITS_WORDS.items():
        latex = latex.replace(ours, its)
    mathml: str = convert(latex, display="block" if found[1] == "div" else "inline")
    if "\\" in mathml:
        raise PluginError(f"a formula was not understood; see _IN_ITS_WORDS: {found[2]}")
    # A math element does not scroll by itself where it is wider than the page.
    return f'<div class="formula">{mathml}</div>' if found[1] == "div" else mathml
