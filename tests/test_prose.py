"""Links of the README and the site lead somewhere; the wording keeps to a few rules."""

import csv
import json
import re
import runpy
import unicodedata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES = [*TOP, *sorted(DOCS.rglob("*.md"))]
FENCED = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
BUILT = "sample-report/"  # by `make docs`, after the site

# What the project's pages do not say: fillers, praise, and what only its makers would understand.
BANNED = [
    r"\bso many (features|steps|seeds|runs)\b",
    r"\b(obviously|simply put|of course|needless to say)\b",
    r"\b(blazing|cutting-edge|state-of-the-art|seamless|powerful)\b",
    r"\bwith the habits of\b",
    r"\bcounts for nothing\b",
    r"\b(utili[sz]e|leverage)\b",
    r"/(work|home|tmp|opt|root)/",
    r"\bTODO\b",
]


def named(pages):
    return pytest.mark.parametrize("page", pages, ids=lambda p: str(p.relative_to(ROOT)))


def prose(page):
    return FENCED.sub("", page.read_text())


def slug(heading):
    """The anchor that the site gives to a heading."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)|[`*\\]", r"\1", heading)
    ascii_only = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())


def anchors(page):
    found = re.findall(r"^#+ (.*?)\s*$", prose(page), re.MULTILINE)
    return {slug(heading) for heading in found} | {
        slug(heading).replace("_", "") for heading in found
    }


def links(page):
    return [first or second for first, second in LINK.findall(prose(page))]


@named(PAGES)
def test_internal_links_lead_to_files_and_headings(page):
    for link in links(page):
        if "://" in link or link.startswith(("mailto:", BUILT)):
            continue
        path, _, anchor = link.partition("#")
        target = page if not path else (page.parent / path).resolve()
        if path.endswith(".html"):  # written as HTML: the site's name of a page
            target = target.with_suffix(".md")
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), link


def test_every_page_is_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text()
    listed = set(re.findall(r": ([\w/-]+\.md)$", nav, re.MULTILINE))
    assert listed == {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}


@named(PAGES)
def test_banned_phrases(page):
    found = [match[0] for phrase in BANNED for match in re.finditer(phrase, prose(page), re.I)]
    assert not found


@named([ROOT / "README.md", *sorted(DOCS.glob("*.md"))])
def test_a_page_begins_with_its_title(page):
    text = re.sub(r"\A---\n.*?^---\n", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    first = next(line for line in text.splitlines() if line and not line.startswith("<"))
    assert first.startswith("# ") or page.name == "changelog.md", first


def test_the_badges_say_what_the_project_says():
    """They are files: they need no server, and cannot be out of date unnoticed."""
    drawn = runpy.run_path(str(DOCS / "tools" / "draw_logo.py"))["badges"]()
    for name, badge in drawn.items():
        assert (DOCS / "assets" / f"badge-{name}.svg").read_text() == badge


def test_the_documentation_comes_early_in_the_readme():
    before = (ROOT / "README.md").read_text().partition("## Documentation")[0]
    assert len(before.splitlines()) < 90


def test_the_numbers_of_the_readme_are_those_of_the_tables():
    readme = " ".join((ROOT / "README.md").read_text().split())
    peers = json.loads((DOCS / "results" / "bench.json").read_text())["peers"]

    def rate(name):
        return peers[f"{name} deep_sea/20"]["env_steps_per_second"]

    assert f"{rate('dqn'):,.0f} DQN, {rate('boot_dqn'):,.0f} BSP" in readme
    assert f"[{rate('SB3 dqn'):,.0f} DQN]" in readme
    assert f"[{rate('rejax dqn'):,.0f} DQN]" in readme
    assert f"{rate('bsuite dqn'):,.0f} DQN, {rate('bsuite boot_dqn'):,.0f} BSP" in readme
    ours, sb3 = rate("boot_dqn") / rate("bsuite boot_dqn"), rate("dqn") / rate("SB3 dqn")
    assert f"makes {ours:.0f} times as many steps per second as bsuite's bootstrapped DQN" in readme
    assert f"and {sb3:.0f} times as many as Stable-Baselines3's DQN" in readme
    rows = []
    for name in ("deep_sea", "deep_sea_stochastic"):
        with (DOCS / "results" / f"{name}.csv").open() as table:
            rows += list(csv.DictReader(table))
    seeker = [row for row in rows if (row["task"], row["agent"]) == ("deep_sea/100", "seeker")]
    took = sorted(float(row["solved_episode"]) for row in seeker)
    assert f"ten seeds of ten, in a median of {(took[4] + took[5]) / 2:,.1f} episodes" in readme
    isl = [row for row in rows if row["agent"] == "isl" and not row["variant"]]
    isl = [row for row in isl if int(row["task"].partition("/")[2]) <= 50]
    assert (len(isl), sum(bool(row["solved_episode"]) for row in isl)) == (420, 420)
    dqn = [row for row in rows if row["agent"] == "dqn" and row["task"].startswith("deep_sea/")]
    assert (len(dqn), sum(bool(row["solved_episode"]) for row in dqn)) == (9, 1)
