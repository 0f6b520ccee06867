"""The page in a real browser, at two widths (slow)."""

import re

import numpy as np
import pytest
from small_models import make_curve_detector, make_detector, random_questions

from siamese.evaluation.calibration import fit_calibration
from siamese.index import QuestionIndex

pytest.importorskip("playwright")
pytest.importorskip("fastapi")

from playwright.sync_api import expect
from running import running

HARMFUL = "how far\nis <img src=x onerror=alert(1)> \x1b[31m \u202e ?"
QUESTIONS = [HARMFUL, *random_questions(200)]


@pytest.fixture(params=[1280, 390])
def served(request):
    width = request.param
    calibration = fit_calibration(np.linspace(-1, 1, 100), np.arange(100) > 60)
    calibrated = make_detector(threshold=0.9, calibration=calibration)
    detector = calibrated if width > 1000 else make_curve_detector()
    columns = [{"of": {"name": "li"}, "post": 2**62}] * 201
    options = {"ids": ["=1+1", *map(str, range(200))], "columns": columns}
    index = QuestionIndex.build(detector, QUESTIONS, **options)
    with running(index, key="sécrèt ł") as address:
        yield address, width, index


@pytest.mark.slow
def test_the_page_in_a_browser(served, browser, tmp_path):
    address, width, index = served
    view, requests, errors = (
        browser.new_page(viewport={"width": width, "height": 900}),
        [],
        [],
    )
    view.on("request", lambda request: requests.append(request.url))
    view.on("pageerror", lambda error: errors.append(str(error)))
    view.on("dialog", lambda dialog: errors.append(dialog.message))

    def fits():
        assert view.evaluate("document.documentElement.scrollWidth") <= width

    view.goto(address)
    expect(view.get_by_role("alert")).to_contain_text("key")
    view.get_by_label("Key of this server").fill("sécrèt ł")
    view.keyboard.press("Enter")
    expect(view.locator("#about")).to_contain_text("201 questions, threshold 0.")
    own = re.search(r"threshold (0\.\d+)", view.locator("#about").inner_text())[1]

    view.get_by_label("A new question").press_sequentially("how far is", delay=10)
    expect(view.locator("#hits > li")).to_have_count(10)
    expect(view.locator("#hits .bar")).to_have_count(20)  # cosine and probability
    expect(view.locator("#measure")).to_have_text(index.detector.decision.measure)
    badges = view.locator("#hits .badge").all_inner_texts()
    hits = index.search("how far is")
    assert badges == ["duplicate" if hit.is_duplicate else "different" for hit in hits]
    view.get_by_label("A new question").fill(HARMFUL)
    first = view.locator("#hits > li").first
    expect(first).to_contain_text(
        r"far is <img src=x onerror=alert(1)> \u001b[31m \u202e ?"
    )
    expect(first).to_contain_text(f'of: {{"name":"li"}} · post: {2**62}')
    chosen = float(view.get_by_label("Threshold").input_value())
    assert chosen == pytest.approx(float(own), abs=1e-3)
    expect(first.locator(".bar").first).to_contain_text("1.000")
    view.get_by_label("Threshold").fill("0.5")
    for place, fitting in (("above", lambda c: c > 0.5), ("below", lambda c: c <= 0.5)):
        lines = view.locator(f"#{place} li").all_inner_texts()
        assert lines and len(lines) <= 5
        assert all(fitting(float(re.match(r"-?\d\.\d+", line)[0])) for line in lines)
    fits()
    view.get_by_label("Order").select_option("words")
    view.get_by_label("A new question").fill("xyzzy")
    expect(view.locator("#count")).to_have_text("Nothing found.")

    view.get_by_role("tab", name="Search").focus()
    view.keyboard.press("ArrowRight")
    view.get_by_label("First question").fill("how far is xyzzy ?")
    view.get_by_label("Second question").fill("how old are you ?")
    view.get_by_role("button", name="Compare").click()
    expect(view.locator("#words1 > span")).to_have_count(5)
    unknown = index.detector.unknown_words("how far is xyzzy ?")
    assert ("unknown" in view.locator("#words1").inner_text()) == bool(unknown)
    fits()

    view.get_by_role("tab", name="Groups").click()
    view.get_by_role("button", name="Show groups").click()
    expect(view.locator("#grouped")).to_contain_text("groups of")
    with view.expect_download() as download:
        view.get_by_role("button", name="Download CSV").click()
    lines = download.value.path().read_bytes().decode().split("\r\n")
    total = int(
        re.search(r"of (\d+) questions", view.locator("#grouped").inner_text())[1]
    )
    assert (
        lines[0] == "group,keep,similarity,same_text,id,question"
        and len(lines) == total + 2
    )
    fits()

    view.get_by_role("tab", name="Label").click()
    expect(view.locator("#told")).to_contain_text("answers")
    before, shown = int(view.locator("#told").inner_text().split()[0]), []
    for place, button in enumerate(("Yes", "No", "Undo", "Skip")):
        expect(view.locator("#one")).not_to_be_empty()
        shown.append(
            (view.locator("#one").inner_text(), view.locator("#two").inner_text())
        )
        if place < 2:
            view.keyboard.press(button[0].lower())
        else:
            view.get_by_role("button", name=button).click()
        answers = before + (1, 2, 1, 1)[place]
        expect(view.locator("#told")).to_contain_text(f"{answers} answers")
        expect(view.locator("#yes")).to_be_enabled()
        expect(view.locator("#one")).not_to_have_text(shown[-1][0])
    assert shown[1] == shown[3] and len(set(shown)) == 3
    fits()

    view.get_by_role("tab", name="API").click()
    expect(view.locator("#paths .card").first).to_contain_text("/v1/similarity")
    fits()
    assert view.screenshot(path=str(tmp_path / "page.png")).startswith(b"\x89PNG")
    assert not errors and all(
        url.startswith((address, "data:", "blob:")) for url in requests
    )
    view.close()
