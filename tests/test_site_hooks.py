"""The hooks of the site: what a browser would draw otherwise than LaTeX, and tables on a phone."""

import runpy
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "docs" / "tools"


def built(hook, page):
    return runpy.run_path(str(TOOLS / f"{hook}.py"))["on_page_content"](page)


def display(latex):
    return built("mathml", f'<div class="arithmatex">\\[{latex}\\]</div>')


def test_letters_primes_and_maxima_are_drawn_as_in_latex():
    pytest.importorskip("mkdocs", reason="the site needs the extra docs: pip install 'isl[docs]'")
    pytest.importorskip("latex2mathml", reason="the site needs the extra docs")
    assert "<mi>𝔼</mi>" in display(r"\mathbb E x")
    assert "<mi>𝒯</mi>" in display(r"\mathcal T q")
    assert '<mo lspace="0" rspace="0">′</mo>' in display("v(s')")
    assert "<munder><mo>max</mo>" in display(r"\max_{a'} q")
    assert "munder" not in built("mathml", r'<span class="arithmatex">\(\max_a q\)</span>')
    with pytest.raises(Exception, match="no letter for fraktur"):
        display(r"\mathfrak g")


def test_cells_of_wide_tables_know_their_columns():
    def table(*columns):
        head = "".join(f"<th>{name}</th>" for name in columns)
        cells = "".join(f"<td>{number}</td>" for number, _ in enumerate(columns))
        return f"<table><tr>{head}</tr><tr>{cells}</tr></table>"

    narrow = table("a", "b", "c")
    assert built("tables", narrow) == narrow
    wide = built("tables", table("a", "<code>b</code>", 'say "c"', ""))
    assert wide.startswith('<table data-folds="flow">')
    assert '<td data-name="b">1</td><td data-name="say &quot;c&quot;">2</td>' in wide
    assert '<td data-name="">3</td>' in wide
    text = table("a", "b", "c", "d").replace("<td>3", "<td>" + "word " * 40)
    assert 'data-folds="lines"' in built("tables", text)
    code = table("a", "b").replace("<td>0", "<td>" + "x" * 20).replace("<td>1", "<td>" + "y" * 20)
    assert "data-folds" in built("tables", code)  # two long words do not fit beside each other
