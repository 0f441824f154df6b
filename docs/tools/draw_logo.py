"""Draw the logo and the README's badges: python docs/tools/draw_logo.py [--out docs/assets].

The badges say what pyproject.toml says, and need no server.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SEA, DEEP, GOLD = "#0b62a4", "#0d2f52", "#ffc83d"
CELLS = 4
STAR = "0,-9 2.6,-3 9,-2.8 4,1.3 5.6,7.6 0,4 -5.6,7.6 -4,1.3 -9,-2.8 -2.6,-3"


def logo() -> str:
    """A small Deep Sea: a staircase of cells, brighter along the diagonal, and the treasure."""
    cells = []
    for row in range(CELLS):
        for column in range(row + 1):
            bright = 1.0 if column == row else 0.18 + 0.16 * column
            cells.append(
                f'<rect x="{9 + 20 * column}" y="{9 + 20 * row}" width="18" height="18" rx="4" '
                f'fill="#fff" fill-opacity="{bright:.2f}"/>'
            )
    star = f'<polygon points="{STAR}" fill="{GOLD}" transform="translate(78 78)"/>'
    last = f'<rect x="69" y="69" width="18" height="18" rx="4" fill="{DEEP}"/>'
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96" role="img">'
        f'<title>isl</title><rect width="96" height="96" rx="20" fill="{SEA}"/>'
        f"{''.join(cells)}{last}{star}</svg>\n"
    )


def badge(name: str, value: str) -> str:
    """Two words beside each other, in the manner of the usual badges."""
    left, right = 14 + 6.3 * len(name), 14 + 6.3 * len(value)
    text = 'font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" fill="#fff" y="14"'
    size = f'width="{left + right:.0f}" height="20"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
        f"<title>{name}: {value}</title>"
        f'<rect {size} rx="4" fill="{SEA}"/>'
        f'<path d="M4 0h{left - 4:.0f}v20H4a4 4 0 0 1-4-4V4a4 4 0 0 1 4-4" fill="#3d4653"/>'
        f'<text x="7" textLength="{left - 14:.0f}" {text}>{name}</text>'
        f'<text x="{left + 7:.0f}" textLength="{right - 14:.0f}" {text}>{value}</text></svg>\n'
    )


def badges() -> dict[str, str]:
    """What pyproject.toml says, by the name of the badge's file."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, mypy = config["project"], config["tool"]["mypy"]
    versions = [
        found[1]
        for line in project["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line))
    ]
    said = {
        "python": f"{versions[0]} to {versions[-1]}",
        "licence": project["license"],
        "types": "mypy strict" if mypy["strict"] else "mypy",
    }
    return {name: badge(name, value) for name, value in said.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "assets")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    (out / "logo.svg").write_text(logo())
    for name, drawn in badges().items():
        (out / f"badge-{name}.svg").write_text(drawn)
    print(out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
