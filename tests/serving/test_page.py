"""The page in a real browser, at two widths (slow)."""

import re

import numpy as np
import pytest
from small_models import make_curve_detector, make_detector, random_questions

from siamese import DuplicateDetector, QuestionPairs
from siamese.evaluation.calibration import fit_calibration
from siamese.groups.table import GROUP_COLUMNS
from siamese.index import QuestionIndex

pytest.importorskip("playwright")
pytest.importorskip("fastapi")

from playwright.sync_api import expect
from running import running

pytestmark = pytest.mark.slow

WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
HARMFUL = "how far\nis <img src=x onerror=alert(1)> \x1b[31m \u202e ?"
QUESTIONS = [HARMFUL, *random_questions(200)]
SITE = "https://tickets.example/7"
SCRIPT = "javascript:alert(1)"
UNFITTED = {"threshold_from": "default"}
NO_VERDICT = "No threshold is fitted"


def unfitted():
    return DuplicateDetector(make_detector().encoder, threshold=0.8, card=UNFITTED)


@pytest.fixture
def view(browser, request):
    """Function of an address: its page, which must raise no error and fit its width."""
    width, scheme = getattr(request, "param", (1280, "light"))
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    context = browser.new_context(**options)
    requests, errors = [], []

    def opened(address, path="/"):
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: errors.append(dialog.message))
        page.goto(address + path)
        page.served = address
        return page

    yield opened
    for page in context.pages:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        own = (page.served, "data:", "blob:")
        assert [url for url in requests if not url.startswith(own)] == []
    assert not errors
    context.close()


each_size = pytest.mark.parametrize(
    "view",
    list(zip(WIDTHS, SCHEMES)),
    indirect=True,
    ids=str,
)


def ask(page, question):
    page.get_by_label("A new question").fill(question)
    return page.locator("#hits > li")


def choose(page, tab):
    page.get_by_role("tab", name=tab).click()


@pytest.fixture(params=["cosine", "probability"])
def served(request):
    calibration = fit_calibration(np.linspace(-1, 1, 100), np.arange(100) > 60)
    is_cosine = request.param == "cosine"
    calibrated = make_detector(threshold=0.9, calibration=calibration)
    detector = calibrated if is_cosine else make_curve_detector()
    columns = [{"of": {"name": "li"}, "post": 2**62, "at": SITE, "x": SCRIPT}] * 201
    options = {"ids": ["=1+1", *map(str, range(200))], "columns": columns}
    index = QuestionIndex.build(detector, QUESTIONS, **options)
    with running(index, key="sécrèt ł") as address:
        yield address, index


@each_size
def test_search_shows_what_the_index_finds(served, view):
    address, index = served
    page = view(address)
    expect(page.get_by_role("alert")).to_contain_text("key")
    page.get_by_label("Key of this server").fill("sécrèt ł")
    page.keyboard.press("Enter")
    expect(page.locator("#about")).to_contain_text("201 questions, threshold 0.")
    own = re.search(r"threshold (0\.\d+)", page.locator("#about").inner_text())[1]

    page.get_by_label("A new question").press_sequentially("how far is", delay=10)
    expect(page.locator("#hits > li")).to_have_count(10)
    is_cosine = index.detector.decision.measure == "cosine"
    expect(page.locator("#hits .bar")).to_have_count(10 if is_cosine else 20)
    expect(page.locator("#measure")).to_have_text(index.detector.decision.measure)
    hits = index.search("how far is")
    low = "below the threshold"
    badges = ["duplicate" if hit.is_duplicate else low for hit in hits]
    expect(page.locator("#hits .badge")).to_have_text(badges)

    first = ask(page, HARMFUL).first
    expect(first).to_contain_text(
        r"far is <img src=x onerror=alert(1)> \u001b[31m \u202e ?"
    )
    expect(first).to_contain_text('of: {"name":"li"}')
    expect(first).to_contain_text(f"post: {2**62}")
    expect(first.locator(".bar").first).to_contain_text("1.000")
    link = first.get_by_role("link")
    expect(link).to_have_count(1)  # not that with the script
    assert link.get_attribute("href") == SITE
    assert "noopener" in link.get_attribute("rel")
    expect(first).to_contain_text(SCRIPT)

    page.get_by_text("Options").click()
    chosen = float(page.get_by_label("Threshold").input_value())
    assert chosen == pytest.approx(float(own), abs=1e-3)
    page.get_by_label("Threshold").fill("0.5")
    expect(page.locator("#around")).to_be_visible()
    for place, fitting in (("above", lambda c: c > 0.5), ("below", lambda c: c <= 0.5)):
        lines = page.locator(f"#{place} li").all_inner_texts()
        assert lines and len(lines) <= 5
        assert all(fitting(float(re.match(r"-?\d\.\d+", line)[0])) for line in lines)
    page.get_by_label("Order").select_option("words")
    ask(page, "xyzzy")
    expect(page.locator("#count")).to_have_text("Nothing found.")


@each_size
def test_before_a_threshold_is_fitted_there_is_no_verdict_and_a_way_to_one(view):
    index = QuestionIndex.build(unfitted(), random_questions(60))
    with running(index) as address:
        page = view(address)
        hits = ask(page, "how far is rice")
        expect(hits).to_have_count(10)
        expect(page.locator(".badge")).to_have_count(0)
        expect(page.locator("#unfitted")).to_contain_text(NO_VERDICT)
        choose(page, "Compare")
        page.get_by_label("First question").fill("how far")
        page.get_by_label("Second question").fill("how old")
        page.get_by_role("button", name="Compare").click()
        expect(page.locator("#verdict")).to_contain_text("No verdict")
        choose(page, "Search")
        page.get_by_role("button", name="Answer about thirty pairs").click()
        expect(page.get_by_role("button", name="Yes")).to_be_visible()

        index.set_threshold({"threshold": 0.5, "calibration": None})
        page = view(address, "/?q=how+far+is+rice")
        expect(page.locator("#hits .badge")).to_have_count(10)
        expect(page.locator("#unfitted")).to_be_hidden()


@each_size
def test_a_question_without_letters_is_one_sentence_and_an_empty_list(view):
    with running(QuestionIndex.build(make_detector(), QUESTIONS)) as address:
        page = view(address)
        expect(ask(page, "how far")).to_have_count(10)
        for marks in ("???", "。？"):
            expect(ask(page, marks)).to_have_count(0)
            expect(page.locator("#count")).to_contain_text("letter")
            expect(page.get_by_role("alert")).to_be_empty()
        expect(page).to_have_url(f"{address}/?q=%E3%80%82%EF%BC%9F")
        choose(page, "Compare")
        page.get_by_label("First question").fill("???")
        page.get_by_label("Second question").fill("how")
        page.get_by_role("button", name="Compare").click()
        expect(page.get_by_role("alert")).to_contain_text("letter")
        expect(page.get_by_role("alert")).not_to_contain_text("body")


@each_size
def test_what_is_not_similar_is_shown_only_when_it_is_asked_for(view):
    texts = ["How do I reset my password?", "Where is my order?", "Is rice healthy?"]
    with running(QuestionIndex.build("use", texts)) as address:
        page = view(address)
        hits = ask(page, "I forgot my password")
        expect(hits.first).to_contain_text("reset my password")
        ask(page, "zxcvb qwerty uiop")
        expect(page.locator("#count")).to_have_text("Nothing similar found.")
        expect(hits).to_have_count(0)
        page.get_by_role("button", name="Show them").click()
        expect(hits).to_have_count(3)
        ask(page, "where is my order")  # The next question begins anew.
        expect(hits.first).to_contain_text("Where is my order?")
        expect(page.get_by_role("button", name="Show them")).to_be_visible()


def test_the_address_has_the_question_and_an_example_asks_one(view):
    with running(QuestionIndex.build(make_detector(), QUESTIONS)) as address:
        page = view(address, "/?q=how%20far")
        expect(page.get_by_label("A new question")).to_have_value("how far")
        expect(page.locator("#hits > li")).to_have_count(10)
        expect(page.locator("#examples")).to_be_hidden()
        ask(page, "is it <b>?")
        expect(page).to_have_url(re.compile(r"/\?q=is\+it\+%3Cb%3E%3F$"))
        page.keyboard.press("Escape")
        expect(page.locator("#hits > li")).to_have_count(0)
        expect(page).to_have_url(f"{address}/")
        page = view(address)
        example = page.locator("#examples button").first
        text = example.inner_text()
        assert text in QUESTIONS
        example.click()
        expect(page.locator("#hits > li").first).to_contain_text(text)
        expect(page.locator("#examples")).to_be_hidden()


def test_the_order_is_explained_where_cosines_do_not_fall(view):
    texts = ["how far", "how old rice", "rice rice", *random_questions(40)]
    with running(QuestionIndex.build(make_detector(), texts)) as address:
        page = view(address)
        page.get_by_text("Options").click()
        page.get_by_label("Order").select_option("words")
        ask(page, "old rice")
        figures = page.locator("#hits output")
        expect(page.locator("#order")).not_to_be_empty()
        cosines = list(map(float, figures.all_inner_texts()))
        assert cosines != sorted(cosines, reverse=True)
        page.get_by_label("Order").select_option("vectors")
        expect(page.locator("#order")).to_be_empty()
        cosines = list(map(float, figures.all_inner_texts()))
        assert cosines == sorted(cosines, reverse=True)


def test_a_search_is_limited_to_the_values_of_columns(view):
    texts = random_questions(60)
    columns = [
        {"product": "Printer" if n % 3 else "Phone", "number": n} for n in range(60)
    ]
    with running(
        QuestionIndex.build(make_detector(), texts, columns=columns)
    ) as address:
        page = view(address)
        hits = ask(page, "how far")
        page.get_by_text("Options").click()
        expect(page.locator("#limits select")).to_have_count(1)
        page.get_by_label("product").select_option("Phone")
        expect(hits.filter(has_text="product: Phone")).to_have_count(10)
        page.get_by_label("product").select_option("any")
        expect(hits.filter(has_text="product: Printer").first).to_be_visible()


@each_size
def test_each_of_joined_columns_is_shown_once(view):
    columns = [
        {"Title": "how far", "Body": "is it " + "far " * 200, "State": "open"},
        {"Title": "how old", "Body": "is rice", "State": "far"},
    ]
    texts = [f"{row['Title']} {row['Body']}" for row in columns]
    index = QuestionIndex.build(
        make_detector(),
        texts,
        columns=columns,
        ids=["A-1", "x" * 300],
        reading={"compared": "title+body"},
    )
    with running(index) as address:
        page = view(address)
        text = ask(page, "how far").filter(has_text="A-1").inner_text()
        assert text.count("how far") == 1 and "State: open" in text
        assert "Body:" not in text
        other = page.locator("#hits > li").filter(has_text="how old").inner_text()
        assert other.count("is rice") == 1 and "State: far" in other


def test_comparison_shows_what_each_word_does(served, view):
    address, index = served
    page = view(address)
    page.get_by_label("Key of this server").fill("sécrèt ł")
    page.keyboard.press("Enter")
    expect(page.locator("#about")).to_contain_text("threshold 0.")
    page.get_by_role("tab", name="Search").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_label("First question").fill("how far is xyzzy ?")
    page.get_by_label("Second question").fill("how old are you ?")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#words1 > span")).to_have_count(5)
    expect(page.locator("#verdict .badge")).to_have_count(1)
    unknown = index.detector.unknown_words("how far is xyzzy ?")
    assert ("unknown" in page.locator("#words1").inner_text()) == bool(unknown)


GROUP = ["how far is it", "How far is it", "how far is it ?", "how far is it now"]


@pytest.fixture
def grouped():
    index = QuestionIndex.build(
        make_detector(threshold=0.9), [*GROUP, *random_questions(100)]
    )
    same = QuestionPairs(GROUP[:1] * 3, GROUP[1:], [True] * 3)
    index.add_answers(same)
    with running(index) as address:
        yield address, index


def labels(index):
    pairs = index.answers()
    keys = map(frozenset, zip(pairs.question1, pairs.question2))
    return dict(zip(keys, pairs.is_duplicate.tolist()))


@each_size
def test_a_group_is_answered_as_a_whole_and_undone(grouped, view):
    address, index = grouped
    before = labels(index)
    page = view(address)
    choose(page, "Groups")
    page.get_by_role("button", name="Show groups").click()
    card = page.locator(".group").filter(has_text="how far is it now")
    card.get_by_role("button", name="Not part of this group: how far is it now").click()
    expect(card.get_by_role("status").or_(card.locator(".note"))).to_contain_text(
        "is not part of this group"
    )
    apart = {pair for pair, same in labels(index).items() if not same}
    assert frozenset(("how far is it", "how far is it now")) in apart
    assert all("how far is it now" in pair for pair in apart)
    card.get_by_role("button", name="Undo").click()
    expect(card.locator(".note")).to_have_count(0)
    assert labels(index) == before

    card.get_by_role("button", name="All the same").click()
    expect(card.locator(".note")).to_contain_text("all of these are the same")
    assert all(labels(index).values()) and len(labels(index)) >= len(before)
    card.get_by_role("button", name="Undo").click()
    expect(card.locator(".note")).to_have_count(0)
    assert labels(index) == before


def test_groups_are_downloaded(grouped, view):
    address, _ = grouped
    page = view(address)
    choose(page, "Groups")
    page.get_by_role("button", name="Show groups").click()
    expect(page.locator("#grouped")).to_contain_text("of")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    lines = download.value.path().read_bytes().decode().split("\r\n")
    total = re.search(r"of (\d+) questions", page.locator("#grouped").inner_text())
    assert lines[0].startswith("group,keep,similarity,")
    assert len(lines) == int(total[1]) + 2


def test_a_download_without_groups_has_the_columns_of_every_table(view):
    with running(
        QuestionIndex.build("use", ["Where is Oslo?", "Do cats sleep?"])
    ) as address:
        page = view(address)
        choose(page, "Groups")
        with page.expect_download() as download:
            page.get_by_role("button", name="Download CSV").click()
        header = download.value.path().read_bytes().decode().strip()
    assert header == ",".join(GROUP_COLUMNS)


def test_a_near_miss_is_called_different_though_its_cosine_is_above_the_threshold(
    view,
):
    texts = ["How do I convert CSV to JSON?", "How do I turn a CSV file into JSON?"]
    index = QuestionIndex.build("use", texts)
    index.set_threshold({"threshold": 0.6, "calibration": None})
    with running(index) as address:
        page = view(address)
        hits = ask(page, "How do I convert JSON to CSV?")
        near = hits.filter(has_text=texts[0])
        expect(near.locator(".badge")).to_have_text("different")
        expect(near).to_contain_text("Difference:")
        choose(page, "Compare")
        page.get_by_label("First question").fill(texts[0])
        page.get_by_label("Second question").fill("How do I convert JSON to CSV?")
        page.get_by_role("button", name="Compare").click()
        expect(page.locator("#verdict")).to_have_text("different")
        expect(page.locator("#difference")).to_contain_text("JSON")
        assert float(near.locator("output").inner_text()) > 0.6


@each_size
def test_pairs_are_answered_by_keys_and_buttons(view):
    with running(QuestionIndex.build(make_detector(), random_questions(60))) as address:
        page = view(address)
        choose(page, "Answer")
        expect(page.locator("#told")).to_contain_text("0 answers")
        shown = []
        for place, name in enumerate(("Yes", "No", "Undo", "Skip")):
            expect(page.locator("#one")).not_to_be_empty()
            texts = (page.locator("#one"), page.locator("#two"))
            shown.append(tuple(text.inner_text() for text in texts))
            if place < 2:
                page.keyboard.press(name[0].lower())
            else:
                page.get_by_role("button", name=name).click()
            count = (1, 2, 1, 1)[place]
            expect(page.locator("#told")).to_contain_text(f"{count} answer")
            expect(page.locator("#yes")).to_be_enabled()
            expect(page.locator("#one")).not_to_have_text(shown[-1][0])
        assert shown[1] == shown[3] and len(set(shown)) == 3


@each_size
def test_a_page_to_read_only_has_nothing_that_changes(view):
    index = QuestionIndex.build(unfitted(), random_questions(60))
    with running(index, read_only=True) as address:
        page = view(address)
        expect(ask(page, "how far")).to_have_count(10)
        expect(page.locator("#unfitted")).to_contain_text(NO_VERDICT)
        tabs = page.get_by_role("tab").all_inner_texts()
        assert tabs == ["Search", "Compare", "API"]
        page.get_by_role("tab", name="Compare").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#paths .card").first).to_contain_text("/v1/similarity")
        expect(page.locator("#paths")).not_to_contain_text("/v1/add")


LUMINANCE = """element => {
  const numbers = color => color.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [.2126, .7152, .0722][at], 0);
  let ground = element;
  while (numbers(getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
  const two = [getComputedStyle(element).color, getComputedStyle(ground).backgroundColor]
    .map(color => luminance(numbers(color)) + .05).sort((a, b) => b - a);
  return two[0] / two[1];
}"""


@pytest.mark.parametrize(
    "view", [(1280, scheme) for scheme in SCHEMES], indirect=True, ids=str
)
def test_texts_stand_out_from_their_ground(view):
    with running(QuestionIndex.build(make_detector(), QUESTIONS)) as address:
        page = view(address)
        ask(page, "how far")
        expect(page.locator("#hits .badge").first).to_be_visible()
        seen = "h1, #about, [role=tab], summary, .badge, .bar span, .bar output, .id, button"
        elements = page.locator(f":is({seen}):visible").all()
        assert len(elements) > 30
        contrasts = [element.evaluate(LUMINANCE) for element in elements]
        choose(page, "Answer")
        expect(page.locator("#yes")).to_be_enabled()
        for name in ("yes", "no", "skip"):
            contrasts.append(page.locator(f"#{name}").evaluate(LUMINANCE))
        assert min(contrasts) >= 4.5  # of WCAG 2.2, AA
