"""Slides of the lecture part of each notebook: one HTML file each, complete in itself, no network needed.

    python notebooks/slides.py [FOLDER]    # docs/_build/slides by default

Every heading of an executed notebook begins a slide. On it stand the formulas, tables, lists, pictures,
printed results and short paragraphs. Code and long paragraphs are notes: a click unfolds them. The code of
exercises and checks is left out. Arrow keys and the mouse wheel turn the pages.
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

HERE = Path(__file__).resolve().parent
LECTURES = ("01", "02", "03", "05", "06", "07")  # 04 is homework
LONG = 220  # characters of a paragraph that becomes a note

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>
html {{ scroll-snap-type: y mandatory; font: 22px/1.4 sans-serif; color: #111; background: white; }}
body {{ margin: 0; }}
section {{ scroll-snap-align: start; min-height: 100vh; box-sizing: border-box; padding: 2rem 6vw;
  border-bottom: 1px solid #bbb; }}
h1, h2, h3 {{ color: #12436d; margin-top: 0; }}
table {{ border-collapse: collapse; }}
th, td {{ border: 1px solid #999; padding: .2rem .6rem; text-align: left; }}
pre {{ background: #f4f4f4; padding: .6rem; overflow-x: auto; font-size: 16px; line-height: 1.3; }}
img {{ max-width: 100%; max-height: 70vh; }} math[display=block] {{ margin: .8rem 0; font-size: 26px; }}
summary {{ color: #12436d; cursor: pointer; font-size: 18px; }}
@media (max-width: 600px) {{ html {{ font-size: 16px; }} section {{ padding: 1rem; }} }}
</style></head><body><main>
{slides}
</main><script>
const pages = [...document.querySelectorAll("section")];
addEventListener("keydown", event => {{
  const step = {{ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1}}[event.key];
  if (!step) return;
  event.preventDefault();
  const here = pages.findLastIndex(page => page.getBoundingClientRect().top < 5);
  pages[Math.min(Math.max(here + step, 0), pages.length - 1)].scrollIntoView();
}});
</script></body></html>
"""


def mathml(formula: str, display: bool) -> str:
    """A TeX formula as MathML, which browsers draw by themselves."""
    from latex2mathml.converter import convert

    return convert(formula, display="block" if display else "inline")


def slides(notebook: nbformat.NotebookNode, formula: Callable[[str, bool], str] = mathml) -> str:
    """An executed notebook as one page of slides.

    Args:
      notebook: with outputs.
      formula: makes HTML of (TeX, whether it stands alone).
    """
    markdown = MarkdownIt("commonmark").enable("table")
    markdown.use(
        dollarmath_plugin,
        renderer=lambda text, options: formula(text, options["display_mode"]),
    )
    pages: list[list[str]] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for part in filter(None, re.split(r"^(?=#+ )", cell.source, flags=re.M)):
                if part.startswith("#") or not pages:
                    pages.append([])
                pages[-1] += [_folded(markdown.render(block)) for block in part.split("\n\n")]
        elif "nbgrader" not in cell.metadata and cell.outputs:
            pages[-1] += [_note("code", f"<pre tabindex=0>{html.escape(cell.source)}</pre>")]
            pages[-1] += [_shown(output, pages[-1][0]) for output in cell.outputs]
    title = html.escape(notebook.cells[0].source.splitlines()[0].lstrip("# "))
    text = "\n".join(f"<section>{''.join(page)}</section>" for page in pages)
    return PAGE.format(title=title, slides=text)


def _folded(block: str) -> str:
    plain = re.sub(r"<math.*?</math>|<[^>]+>", "", block, flags=re.S)
    return _note("more", block) if block.startswith("<p>") and len(plain) > LONG else block


def _note(name: str, content: str) -> str:
    return f"<details><summary>{name}</summary>{content}</details>"


def _shown(output: nbformat.NotebookNode, heading: str) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        name = re.sub(r"<[^>]+>", "", heading).strip()
        png = data["image/png"].strip()
        return f'<img src="data:image/png;base64,{png}" alt="Picture of: {name}">'
    return f"<pre tabindex=0>{html.escape(output.get('text') or data.get('text/plain', ''))}</pre>"


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    named = sys.argv[1:] if arguments is None else arguments
    folder = Path(named[0]) if named else HERE.parent / "docs" / "_build" / "slides"
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted((HERE / "solution").glob("*.ipynb")):
        if path.name.startswith(LECTURES):
            text = slides(nbformat.read(path, as_version=4))
            (folder / f"{path.stem}.html").write_text(text, encoding="utf-8")
            print(folder / f"{path.stem}.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
