"""One style for every picture: legible in grey, on paper and on a phone; no pyplot, no global state."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from siamese.errors import MissingDependencyError

# Far apart in lightness, so that they differ in grey too; line styles and hatches tell them apart again.
DARK, LIGHT, GREY, RED = "#12436d", "#e8871e", "#6b6b6b", "#a31515"

STYLE: Any = {
    **{"axes.titlesize": 11, "axes.titleweight": "bold", "axes.titlelocation": "left"},
    **{"axes.spines.top": False, "axes.spines.right": False, "axes.grid": True},
    **{"axes.axisbelow": True, "grid.color": "#dddddd", "grid.linewidth": 0.6},
    **{"lines.linewidth": 1.8, "hatch.linewidth": 0.6},
    **{"legend.frameon": False, "legend.fontsize": 9},
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
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("Pictures need Matplotlib: pip install matplotlib.") from None
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        figure: Any = Figure(layout="constrained", figsize=(width, height))
        figure._repr_png_ = partial(_to_png, figure)
        yield figure


def _to_png(figure: Any) -> bytes:
    import matplotlib

    file = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(file, format="png", dpi=110)
    return file.getvalue()
