"""The local web page: compare two questions, and search old ones as one types. Needs Gradio.

It listens on this machine only, unless told otherwise, answers no other site (`siamese.serving.guard`)
and loads nothing from anywhere else: no fonts, no scripts, no statistics of use.
"""

from __future__ import annotations

import functools
import os
from typing import Any

from siamese.errors import MissingDependencyError
from siamese.search.detector import DuplicateDetector
from siamese.search.index import QuestionIndex
from siamese.serving import page
from siamese.serving.guard import Guard
from siamese.serving.server import Running, free_port, is_local
from siamese.serving.service import QuestionService

FONTS = ["system-ui", "sans-serif"]
SLIDER = "Threshold: a cosine above it says duplicate"


def serve(
    model: str | os.PathLike,
    index: str | os.PathLike | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 7860,
    wait: bool = True,
) -> Any:
    """Serves the page for a model, and its index where there is one, until Ctrl-C; prints its address.

    Port 0 picks a free one. Without `wait` the running page is returned at once.

    Raises:
      MissingDependencyError: Gradio is not installed.
      ArgumentError: a port that is taken or cannot be.
      CheckpointError: no such model or index, or an index of another model.
    """
    gradio = _gradio()
    detector = DuplicateDetector.load(model)
    questions = None if index is None else QuestionIndex.open(index, detector)
    port = free_port(host, port)
    theme = gradio.themes.Default(font=FONTS, font_mono=["monospace"])
    options = {"footer_links": [], "run_history": False, "ssr_mode": False, "theme": theme}
    from fastapi import FastAPI  # Gradio brings it

    made = gradio.mount_gradio_app(
        FastAPI(), build_page(QuestionService(detector, questions)), "/", **options
    )
    running = Running(Guard(made, host), host, port)
    print(f"The page is at {running.local_url} (Ctrl-C ends it).", flush=True)
    if not is_local(host):
        print("Everyone who can reach this machine can use it: there is no password.", flush=True)
    if wait:
        try:
            running.thread.join()
        finally:
            running.close()
    return running


def build_page(service: QuestionService) -> Any:
    """The page as Gradio blocks, not yet served; with search where there is an index."""
    gradio = _gradio()
    quiet = {"show_progress": "hidden", "api_visibility": "private"}
    cut = round(service.detector.threshold, 3)
    with gradio.Blocks(title="siamese", analytics_enabled=False) as made:
        gradio.Markdown("# Has this question been asked before?")
        slider = gradio.Slider(-1, 1, cut, step=0.001, label=SLIDER, elem_id="threshold")
        with gradio.Tab("Compare"):
            with gradio.Row():  # One above the other where the screen is narrow.
                boxes = [
                    gradio.Textbox(label=f"{name} question", elem_id=f"question{n}", min_width=300)
                    for n, name in enumerate(("First", "Second"), start=1)
                ]
            gradio.Examples(page.PAIRS, boxes, label="Examples", api_visibility="private")
            button = gradio.Button("Compare", variant="primary", elem_id="compare")
            shown = [
                gradio.Label(page.ASK_TWO, label="Answer", elem_id="answer"),
                gradio.Textbox(label="Figures", lines=2, interactive=False, elem_id="figures"),
            ]
            for name in ("first", "second"):
                label = f"What each word of the {name} does to the cosine: with it, less without it"
                shown.append(gradio.HighlightedText(label=label, elem_id=f"words_{name}"))
            compare = functools.partial(page.comparison, service.detector)
            for event in (button.click, *(box.submit for box in boxes), slider.release):
                event(compare, [*boxes, slider], shown, **quiet)
        with gradio.Tab("Search"):
            if service.index is None:
                gradio.Markdown(
                    "No index was given. Make one of a list of questions, and start with it:\n\n"
                    "    siamese index MODEL questions.csv --output old\n"
                    "    siamese app MODEL --index old"
                )
                return made
            label = f"A new question: {len(service.index):,} old ones are searched as you write"
            asked = gradio.Textbox(label=label, elem_id="asked")
            questions = [[question] for question, _ in page.PAIRS]
            gradio.Examples(questions, asked, label="Examples", api_visibility="private")
            table = gradio.Dataframe(
                headers=list(page.COLUMNS), type="array", datatype="str", interactive=False,
                wrap=True, max_height=800, elem_id="hits", column_widths=["20%", "23%", "41%", "16%"],
                buttons=[],
            )  # fmt: skip
            note = gradio.Textbox(label="Note", interactive=False, elem_id="note")

            def search(question, threshold):
                return page.hits_table(service, question, threshold=threshold)

            for event in (asked.change, asked.submit, slider.release):
                # Of what is typed meanwhile only the last is answered.
                event(search, [asked, slider], [table, note], trigger_mode="always_last", **quiet)
    return made


def _gradio() -> Any:
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read when it is imported
    try:
        import gradio
    except ImportError:
        raise MissingDependencyError("The page needs Gradio: pip install gradio.") from None
    return gradio
