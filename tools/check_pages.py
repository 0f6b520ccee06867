"""Runs axe-core on built pages, at the width of a desktop and of a phone; exit 1 on a violation.

    npm pack axe-core && tar xzf axe-core-*.tgz      # axe is not part of the environment
    .venv/bin/python tools/check_pages.py package/axe.min.js docs/_build/html/index.html ...

It needs `make extras` (Playwright) and chromium on the path. The network is shut.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTHS = (1280, 390)  # CSS pixels
# The beginnings of code blocks that are wider than their place.
CUT = """[...document.querySelectorAll("main pre")].filter(e => e.scrollWidth > e.clientWidth + 1)
    .map(e => e.textContent.slice(0, 60))"""


def violations(page, axe: str) -> list[str]:
    """What axe finds on an open page, a line for each element."""
    page.evaluate(axe)
    return [
        f"{rule['id']} ({rule['impact']}): {node['target'][-1]}"
        for rule in page.evaluate("axe.run()")["violations"]
        for node in rule["nodes"]
    ]


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    script, *pages = sys.argv[1:] if arguments is None else arguments
    axe = Path(script).read_text(encoding="utf-8")
    total = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name in pages:
            for width in WIDTHS:
                page = browser.new_page(viewport={"width": width, "height": 900})
                page.route("http*://**", lambda route: route.abort())
                page.goto(Path(name).resolve().as_uri())
                page_width = page.evaluate("document.documentElement.scrollWidth")
                lines = violations(page, axe)
                lines += [f"code is cut: {line}" for line in page.evaluate(CUT)]
                if page_width > width:
                    lines.append(f"the page is {page_width} pixels wide")
                page.close()
                total += len(lines)
                print(
                    f"{name} at {width}: {len(lines)} violations",
                    *lines,
                    sep="\n  ",
                    flush=True,
                )
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
