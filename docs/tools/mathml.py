"""A hook of mkdocs: formulas become MathML while the site is built, so it needs no script for them.

pymdownx.arithmatex marks them as <span class="arithmatex">\\(…\\)</span> and <div …>\\[…\\]</div>.
"""

from __future__ import annotations

import html
import re
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

_MARKED = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
_IN_ITS_WORDS = {  # LaTeX that latex2mathml does not know → what it does know
    "{aligned}": "{split}",
    r"\arg": r"\text{arg}\,",
    r"\_": "_",
    r"\!": "",
}
_MATHML = "http://www.w3.org/1998/Math/MathML"
_LETTERS = {  # browsers draw no other letters for a mathvariant: each is a character of its own
    ("bold", "1"): "𝟏",
    ("double-struck", "E"): "𝔼",
    ("script", "T"): "𝒯",
}
ElementTree.register_namespace("", _MATHML)


def on_page_content(content: str, **_: Any) -> str:
    """Every formula of a page."""
    return _MARKED.sub(_formula, content)


def _formula(found: re.Match[str]) -> str:
    latex = html.unescape(found[2])
    for ours, its in _IN_ITS_WORDS.items():
        latex = latex.replace(ours, its)
    display = found[1] == "div"
    mathml: str = convert(latex, display="block" if display else "inline")
    if "\\" in mathml:
        raise PluginError(f"a formula was not understood; see _IN_ITS_WORDS: {found[2]}")
    mathml = _mended(mathml, display)
    # A math element does not scroll by itself where it is wider than the page.
    return f'<div class="formula">{mathml}</div>' if display else mathml


def _mended(mathml: str, display: bool) -> str:
    """What browsers draw otherwise than LaTeX: letters, primes, what stands under a maximum."""
    tree = ElementTree.fromstring(mathml)
    for node in tree.iter():
        kind, children = node.tag.removeprefix(f"{{{_MATHML}}}"), list(node)
        if variant := node.attrib.pop("mathvariant", None):
            if variant == "monospace":
                node.set("class", "code")
            elif (variant, node.text) in _LETTERS:
                node.text = _LETTERS[variant, node.text]
            else:
                raise PluginError(f"no letter for {variant} {node.text}: see _LETTERS")
        elif kind == "msup" and children[1].text == "′":  # the character is raised already
            node.tag = f"{{{_MATHML}}}mrow"
            children[1].tag = f"{{{_MATHML}}}mo"
            children[1].attrib = {"lspace": "0", "rspace": "0"}
        elif kind == "msub" and display and children[0].text == "max":
            node.tag = f"{{{_MATHML}}}munder"
    return ElementTree.tostring(tree, encoding="unicode")
