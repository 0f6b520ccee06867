"""Words are found by the stems of each text's language, in memory and in a file."""

import sqlite3

import pytest
from foreign_questions import QUESTIONS

from siamese import DuplicateDetector, QuestionIndex
from siamese.corpus import handwritten_questions
from siamese.index.stems import stems_in, words_in
from siamese.text.language import ListLanguages

ENGLISH = [row["question"] for row in handwritten_questions()][:36]
# A question of each language, and one word of it in another form.
FORMS = {
    "de": ("Die Rechnungen für den Monat Mai fehlen noch.", "Rechnung"),
    "fr": ("Les factures du mois de mai ne sont pas arrivées.", "facture"),
    "es": ("Las facturas del mes de mayo no han llegado.", "factura"),
    "it": ("Le fatture del mese di maggio non sono arrivate.", "fattura"),
    "pt": ("As faturas do mês de maio ainda não chegaram.", "fatura"),
    "nl": ("De rekeningen van de maand mei ontbreken nog.", "rekening"),
    "pl": ("Nie dostałem jeszcze faktur za miesiąc maj.", "faktura"),
    "ru": ("Почему до сих пор нет счетов за май месяц?", "счета"),
    "tr": ("Mayıs ayının faturaları hâlâ gelmedi.", "faturalar"),
    "ar": ("لم تصل فواتير شهر مايو حتى الآن.", "الشهر"),
    "id": ("Tagihannya untuk bulan Mei belum saya terima.", "tagihan"),
    "zh": ("五月份的发票为什么还没有寄到？", "发票"),
    "ja": ("五月の請求書がまだ届いていません。", "請求書"),
    "ko": ("오월 청구서를 아직 받지 못했습니다.", "청구서"),
    "th": ("ยังไม่ได้รับใบแจ้งหนี้ของเดือนพฤษภาคม", "แจ้งหนี้"),
}


@pytest.fixture(params=["memory", "file"])
def built(request, tmp_path, model_of_words):
    """Function of questions: an index of them."""
    indexes = []

    def built(questions):
        path = (
            {}
            if request.param == "memory"
            else {"path": tmp_path / f"{len(indexes)}.db"}
        )
        indexes.append(QuestionIndex.build(model_of_words, questions, **path))
        return indexes[-1]

    yield built
    for index in indexes:
        index.close()


@pytest.fixture
def model_of_words():
    return DuplicateDetector.from_encoder("use")


@pytest.mark.parametrize("code", FORMS)
def test_a_word_is_found_in_another_form(built, code):
    text, word = FORMS[code]
    index = built([*QUESTIONS[code][:2], text])
    assert list(index.facts.languages.shares) == [code]
    assert index.search(word, 1, mode="words")[0].question == text


def test_words_are_looked_up_by_the_stems_of_all_languages_of_a_list(built):
    index = built([*ENGLISH, *QUESTIONS["de"]])
    assert list(index.facts.languages.shares) == ["en", "de"]
    (hit, *_) = index.search("Bahnhöfe", 1, mode="words")
    assert hit.question == QUESTIONS["de"][1]
    (hit, *_) = index.search("second litter boxes", 1, mode="words")
    assert hit.question == "Do cats really need a second litter box?"


def test_a_words_rarity_is_counted_within_its_language(built):
    """In a list of German alone and beside English the same words rank alike."""
    german = [*QUESTIONS["de"], FORMS["de"][0], "Mein Passwort ist abgelaufen."]
    query = "Passwort zurücksetzen und Rechnungen"
    alone = [hit.question for hit in built(german).search(query, 6, mode="words")]
    index = built([*ENGLISH, *german])
    assert [hit.question for hit in index.search(query, 6, mode="words")] == alone


def test_words_count_for_nothing_in_a_text_of_another_language(built):
    index = built(
        [*ENGLISH, *QUESTIONS["de"], "VPN VPN VPN zuhause im Büro ist sehr langsam"]
    )
    query = "Which of the cats at home wants a second litter box?"
    by_vectors = index.search(query, 41, mode="vectors")
    hybrid = index.search(query, 41)
    german = set(QUESTIONS["de"])
    in_order = [
        [h.question for h in hits if h.question in german]
        for hits in (by_vectors, hybrid)
    ]
    assert in_order[0] == in_order[1]


def test_a_list_in_english_has_the_stems_of_today(built):
    index = built(ENGLISH)
    assert index.facts.languages == ListLanguages("en", {"en": 1.0})
    assert words_in("Which cities' parks?") == ["which", "citi", "park"]
    assert stems_in(["alte rechnungen"], "de") == [["de:alt", "de:rechnung"]]


def test_an_index_from_before_is_searched_by_its_own_stems(
    tmp_path, model_of_words, run
):
    path = tmp_path / "old.db"
    QuestionIndex.build(model_of_words, ENGLISH, path=path).close()
    with sqlite3.connect(path) as db:
        db.execute("delete from setting where name = 'languages'")
    db.close()
    with QuestionIndex.open(path) as index:
        assert index.facts.languages is None
        index.add(QUESTIONS["de"])
        assert (
            index.search("Bahnhof", 1, mode="words")[0].question == QUESTIONS["de"][1]
        )
    assert "stemmed" not in run("search", path, "?x")[2]
    with QuestionIndex.open(path) as index:
        index.remove([entry["id"] for entry in index.snapshot().entries[:36]])
    line = "Its words are stemmed as English ones, and the questions look German; made again"
    assert line in run("search", path, "Bahnhof")[2]
