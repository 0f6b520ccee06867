"""Sphinx: how docs/*.md and the solution notebooks become HTML (`make docs`)."""

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

import siamese  # noqa: E402

project = "siamese"
author = copyright = "the siamese maintainers"
version = release = siamese.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
# a reference to nothing is a warning, and `make docs` makes warnings errors
nitpicky = True

# The notebooks are those of notebooks/solution, shown as they were executed; git holds
# them once.
SOLUTIONS = HERE / "notebooks"
shutil.rmtree(SOLUTIONS, ignore_errors=True)
shutil.copytree(
    ROOT / "notebooks" / "solution", SOLUTIONS, ignore=shutil.ignore_patterns(".*")
)
nb_execution_mode = "off"

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

# The docstrings give types in words: dtype, shape and unit. Signatures give the rest.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_param = False  # else words of the "Args" section become cross-references
napoleon_use_rtype = False

html_theme = "sphinx_book_theme"
html_title = "siamese"
html_theme_options = {"show_toc_level": 1, "use_download_button": False}
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["pages.css"]


SCRIPT = """
addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".search-button-field").forEach(b => b.removeAttribute("aria-label"));
  document.querySelectorAll(".bd-sidebar-primary").forEach(bar => {
    bar.setAttribute("role", "region");
    bar.setAttribute("aria-label", "Pages");
  });
  document.querySelectorAll("summary").forEach(s => {
    if (!s.textContent.trim()) s.setAttribute("aria-label", "Pages below");
  });
  document.querySelectorAll("main table").forEach(t => t.tabIndex = 0);
  // A figure and a flag stay on one line.
  document.querySelectorAll("main td").forEach(cell => {
    if (/^[-+\\d., ±%]+$/.test(cell.textContent.trim())) cell.style.whiteSpace = "nowrap";
  });
  document.querySelectorAll("main pre").forEach(block => {
    block.innerHTML = block.innerHTML.replace(
      /(^|[\\s>])(--?[a-z][a-z-]*)/g, '$1<span style="white-space: nowrap">$2</span>');
  });
});
"""


def setup(app):
    """A property's sentence is left alone: napoleon takes what stands before a colon for its type."""
    # The search button shows more than its label; the sidebar is no landmark and its
    # arrows have no name; a table that scrolls must take the keyboard
    # (tools/check_pages.py).
    app.add_js_file(None, body=SCRIPT)
    kept = {}

    def keep(app, what, name, obj, options, lines):
        if what in ("property", "attribute"):
            kept[name] = list(lines)

    def put_back(app, what, name, obj, options, lines):
        lines[:] = kept.pop(name, lines)

    app.connect("autodoc-process-docstring", keep, priority=400)
    app.connect("autodoc-process-docstring", put_back, priority=600)
