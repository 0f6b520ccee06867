"""One style for every picture: legible in grey, on paper and on a phone; no pyplot, no global state."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from siamese.errors import MissingDependencyError

# Far apart in lightness, so that they differ in grey too; line styles and hatches tell them apart again.
DARK, LIGHT, GREY, RED = "#12436d", "#e8871e", "#6b6b6b", "#a31515"

STYLE: dict[str, Any] = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.8,
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.dpi": 150,
}


@contextmanager
def new_picture(width: float = 4.8, height: float = 3.8) -> Iterator[Any]:
    """A new Matplotlib figure, of a size in inches, to draw on in this style inside the block.

    The figure is not registered with pyplot and needs no display. A notebook shows it as the last value
    of a cell.

    Raises:
      MissingDependencyError: where Matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError:
        raise MissingDependencyError("Pictures need Matplotlib: pip install matplotlib.") from None
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield _picture_class()(layout="constrained", figsize=(width, height))


def to_png(figure, dpi: int = 150) -> bytes:
    """A figure as the bytes of a PNG file."""
    return _drawn(figure, "png", dpi)


def _drawn(figure, kind: str, dpi: int = 150) -> bytes:
    import matplotlib

    file = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(file, format=kind, dpi=dpi)
    return file.getvalue()


@functools.cache
def _picture_class() -> type:
    from matplotlib.figure import Figure

    class Picture(Figure):
        """A figure that a notebook shows, whether or not pyplot was ever imported."""

        def _repr_png_(self) -> bytes:
            return to_png(self, dpi=110)

    return Picture
