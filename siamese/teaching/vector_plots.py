"""Where notebooks still look for pictures of vectors; see `lesson_plots` and `plots`."""

from siamese.teaching.lesson_plots import (  # noqa: F401
    plot_angles,
    plot_clusters,
    plot_loss_by_margin,
    plot_states,
)
