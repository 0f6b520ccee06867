"""Which language a text and a list are in."""

import json
import subprocess
import sys

import pytest
from foreign_questions import QUESTIONS

from siamese.corpus import embedded_corpus, handwritten_questions
from siamese.text.language import LANGUAGES, language_of, list_languages, text_languages

NAMES = """iPhone 15 Pro|Galaxy S24 Ultra|MacBook Air M3|Photoshop CC|Microsoft Excel 2019
Adobe Acrobat Reader|Windows 11|Outlook|SharePoint|Teams|Zoom|Cisco AnyConnect
Lenovo ThinkPad X1|Dell Latitude 7440|HP LaserJet Pro|Jira|Confluence|GitLab|Salesforce|SAP GUI
AutoCAD 2024|SolidWorks|MATLAB|Slack|OneDrive|Citrix Workspace|VMware Fusion|Kubernetes
Docker Desktop|PostgreSQL|Oracle Database|Visual Studio Code|PyCharm|Figma|Miro|Canva|Trello
Asana|Notion|Dropbox|Google Drive|Gmail|Samsung Monitor|Logitech MX Master|Jabra Evolve 75
Philips Hue|Volvo XC60|IKEA Kallax|Nespresso Vertuo|Bosch Serie 6"""
TITLES = """printer jam|vpn down|password reset|new laptop|broken screen|slow wifi|email bounce
license expired|monitor flicker|mouse dead|account locked|order late|wrong size|refund status
missing parcel|invoice copy|login error|app crash|update failed|disk full|sync problem
calendar invite|shared mailbox|guest wifi|badge lost|door code|parking permit|travel expenses
leave request|payslip question|headset noise|camera black|battery drain|keyboard layout
docking station|dual monitors|toner empty|paper jam|scan to mail|fax number|phone forwarding
voicemail pin|meeting room|projector cable|software install|admin rights|backup restore
file deleted|folder access|spam mail"""
WHAT_IT_LOADS = """
import json, sys
from siamese.corpus import handwritten_questions
from siamese.text.language import list_languages
questions = [row["question"] for row in handwritten_questions()]
# Names, amounts and words that are asked about are no other language.
questions[::20] = [f"What is the meaning of {word}?" for word in (
    "Gülen", "Pokémon GO", "₹500 notes", "अनुशासन", "café", "naïve art", "Zürich",
    "Björk", "São Paulo", "crème brûlée", "Gödel numbers", "smörgåsbord", "jalapeños",
    "Dvořák's ninth", "Łódź")]
languages = list_languages(questions)
assert list(languages.shares) == ["en"]
print(json.dumps([languages.main, "py3langid" in sys.modules]))
"""


def parts(text):
    return text.replace("\n", "|").split("|")


@pytest.mark.parametrize("code", QUESTIONS)
def test_a_text_and_a_list_are_told(code):
    questions = QUESTIONS[code]
    assert [language_of(question)[0] for question in questions] == [code] * 4
    languages = list_languages(questions)
    assert languages.main == code and list(languages.shares) == [code]


@pytest.mark.parametrize("code", ["de", "fr", "zh", "cs"])
def test_a_few_texts_of_another_language_are_told_where_they_are_sure(code):
    english = [row["question"] for row in handwritten_questions()]
    mixed = english[:36] + QUESTIONS[code]
    languages = list_languages(mixed)
    assert list(languages.shares) == ["en", code]
    assert text_languages(mixed, languages) == ["en"] * 36 + [code] * 4


def test_a_few_english_texts_of_a_german_list_are_told():
    english = [row["question"] for row in handwritten_questions()]
    foreign = QUESTIONS["de"] * 9 + english[:4]
    languages = list_languages(foreign)
    assert languages.main == "de"
    assert text_languages(foreign, languages) == ["de"] * 36 + ["en"] * 4


@pytest.mark.parametrize("text", [NAMES, TITLES], ids=["names", "titles"])
def test_titles_and_names_of_products_are_not_taken_for_another_language(text):
    titles = parts(text)
    assert len(titles) == 50
    languages = list_languages(titles)
    assert languages.is_english
    mixed = titles + QUESTIONS["sv"] + QUESTIONS["de"]
    languages = list_languages(mixed, main="en")
    assert text_languages(mixed, languages)[:50] == ["en"] * 50


def test_the_questions_of_the_package_are_in_english():
    handwritten = [row["question"] for row in handwritten_questions()]
    corpus = [question.text for question in embedded_corpus().questions]
    assert list_languages(handwritten).is_english
    assert list_languages(corpus).is_english
    every = list_languages(handwritten)._replace(shares=dict.fromkeys(LANGUAGES, 0.1))
    assert set(text_languages(handwritten, every)) == {"en"}


def test_a_list_in_plain_english_loads_no_model():
    result = subprocess.run(
        [sys.executable, "-c", WHAT_IT_LOADS], capture_output=True, check=True
    )
    assert json.loads(result.stdout) == ["en", False]


def test_the_owner_says_the_language_and_an_empty_list_is_english():
    languages = list_languages(["Toner", "WLAN"], main="de")
    assert languages.main == "de"
    assert text_languages(["Toner", "WLAN"], languages) == ["de", "de"]
    assert list_languages([]).is_english
    assert list_languages(["", "?", "123"]).is_english
