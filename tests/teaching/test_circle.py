"""The unit circle that is dragged, in a browser."""

import re
from importlib import resources

import pytest

from siamese.teaching.lesson import drag_circle


def test_the_drawing_needs_no_network_and_two_of_them_do_not_disturb_each_other():
    pytest.importorskip("IPython")
    text = (resources.files("siamese") / "teaching" / "circle.html").read_text("utf-8")
    assert len(text.splitlines()) <= 120 and not re.search(r"https?:|src=|import ", text)
    one, two = (set(re.findall(r"circle-\w+", drag_circle().data)) for _ in range(2))
    assert len(one) == len(two) == 1 and one != two


@pytest.mark.slow
def test_the_drawing_in_a_browser(browser):
    pytest.importorskip("IPython")
    page, errors = browser.new_page(viewport={"width": 390, "height": 900}), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_content(drag_circle().data)
    loss = page.locator("[data-part=loss]")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert loss.inner_text() == "loss = max(0.22 + 0.25, 0) = 0.47"
    page.get_by_role("slider", name="margin").fill("0")
    assert loss.inner_text() == "loss = max(0.22 + 0.00, 0) = 0.22"
    page.get_by_role("button").click()
    assert float(loss.inner_text()[-4:]) < 0.22  # a step lowers the loss
    circle = page.locator("svg").first.bounding_box()
    middle = circle["x"] + circle["width"] / 2
    point = page.locator("[data-part=negative] circle").last.bounding_box()
    page.mouse.move(point["x"] + point["width"] / 2, point["y"] + point["height"] / 2)
    page.mouse.down()
    page.mouse.move(middle, circle["y"] + circle["height"] - 5, steps=5)
    page.mouse.up()
    assert loss.inner_text().endswith("= 0.00") and not errors
