"""Columns by name: the usual names in exports of help desks and forums, and what a user calls them."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

from siamese.text.cleaning import folded

LONGEST = 80  # characters of a name that are looked at
_MARKS = re.compile(r"[\W_]++")  # between the words of "Ticket-ID" and "ticket_id"


@functools.lru_cache(10_000)  # Each reader of a file compares the same usual names.
def normal_name(name: str) -> str:
    """A column's name as it is compared: without differences of case, blanks, marks and Unicode forms."""
    text = folded(name)
    return _MARKS.sub("", text) or text


def _names(text: str) -> tuple[str, ...]:
    return tuple(map(normal_name, text.replace("\n", "|").strip("| ").split("|")))


# Of these alone the first that is there holds the questions; several are ambiguous.
USUAL_NAMES = _names("question|questions|text|title|sentence|query")
# A subject, where none of those is there; beside a body it is the title.
SUBJECT_NAMES = _names("""
subject|summary|short description|question title|question text|issue title|issue summary
ticket title|ticket subject|email subject|mail subject|case subject|request subject
betreff|titel|zusammenfassung|kurzbeschreibung|kurztext|überschrift|frage|fragen
fragetext
objet|titre|sujet|résumé|question posée|asunto|título|titulo|resumen|pregunta|preguntas
oggetto|titolo|riepilogo|domanda|domande|assunto|resumo|pergunta|perguntas
onderwerp|samenvatting|vraag|vragen|temat|tytuł|podsumowanie|pytanie|pytania
тема|заголовок|вопрос|вопросы|краткое описание|konu|başlık|özet|soru|sorular
subjek|judul|ringkasan|pertanyaan|ämne|fråga|předmět|otázka|emne|spørgsmål
主题|标题|主旨|標題|问题|問題|件名|タイトル|題名|質問|概要|제목|질문|หัวเรื่อง|คำถาม
الموضوع|العنوان|السؤال|سؤال
""")
# Where none of those is there either: often they hold a category.
LAST_NAMES = _names(
    "topic|headline|heading|thema|intitulé|tema|rubrik|onderwerpregel|หัวข้อ|トピック"
)
QUESTION_NAMES = (*USUAL_NAMES, *SUBJECT_NAMES, *LAST_NAMES)
TITLE_NAMES = ("title", *SUBJECT_NAMES, *LAST_NAMES)
BODY_NAMES = _names("""
body|description|content|contents|details|selftext|message|full description
long description|question body
detailed description|problem description|issue description|ticket description
message body|body text|mail body
email body|beschreibung|beschreibungstext|inhalt|nachricht|nachrichtentext|langtext
problembeschreibung
fehlerbeschreibung|mailtext|ausführliche beschreibung|corps|contenu|message complet
détails|descriptif
descripción|descripcion|cuerpo|contenido|mensaje|detalles|descrizione|corpo|contenuto
messaggio|dettagli
descrição|descricao|conteúdo|mensagem|detalhes|beschrijving|omschrijving|inhoud|bericht
opis|treść|wiadomość|szczegóły|описание|содержание|сообщение|текст сообщения|подробности
açıklama|içerik|mesaj|ayrıntılar|deskripsi|isi|pesan|rincian|beskrivning|innehåll
meddelande|popis|zpráva|obsah
beskrivelse|描述|内容|正文|內容|说明|詳細|説明|本文|내용|본문|설명|รายละเอียด|เนื้อหา
คำอธิบาย|الوصف|المحتوى|الرسالة
""")
ID_NAMES = _names("""
id|qid|question id|ticket|ticket id|issue key|post id|idx
""")
# These may count something else as well: they are ids only where no two rows have the
# same.
LIKELY_ID_NAMES = _names("""
ticket no|ticket number|ticket nr|ticket num|ticketnummer|issue id|issue number
issue no|case id|case number|case no
request id|request number|request no|incident|incident id|incident number|incident no
record number|task number
bug id|key|number|num|nr|no|#|ticket #|case #|issue #|reference|reference number|ref
guid|uuid|sys id|external id
id ticket|vorgang|vorgangsnummer|vorgangsnr|vorgangs id|vorgangsschlüssel|schlüssel
nummer|fallnummer|anfragenummer
meldungsnummer|störungsnummer|belegnummer|lfd nr|kennung|numéro|numero|n°|nº
numéro de ticket|référence|identifiant
clé|clave|identificador|número|número de ticket|número de caso|referencia
numero ticket|identificativo|riferimento
chiave|chave|número do chamado|chamado|protocolo|ticketnr|zaaknummer|meldingsnummer
kenmerk|referentie|sleutel
numer|numer zgłoszenia|nr zgłoszenia|identyfikator|klucz|номер|номер заявки
номер обращения|ключ|идентификатор
talep no|kayıt no|numara|bilet no|nomor|nomor tiket|no tiket|ärendenummer|číslo|编号
工单号|编码|单号|編號|番号|チケット番号|管理番号
번호|티켓 번호|หมายเลข|รหัส|الرقم|رقم التذكرة|معرف
""")
ALL_ID_NAMES = (*ID_NAMES, *LIKELY_ID_NAMES)
LINK_NAMES = _names("""
duplicate of|duplicates|duplicate|duplicate id|duplicate of id|duplicated by|dup of
dupe of|is duplicate of
closed as duplicate of|marked as duplicate of|master id|merged into|original id
canonical id
outward issue link (duplicate)|inward issue link (duplicate)|linked issues (duplicate)
duplikat von|duplikat|dublette von|doublon de|doublon|duplicado de|duplicato di
duplicaat van|duplikat zgłoszenia
дубликат|重复于
""")


def is_named(column: str, names: Sequence[str]) -> bool:
    """Whether a column has one of some names; one in two languages, "Betreff/Subject", has two of them."""
    known = set(map(normal_name, names))
    if normal_name(column) in known:
        return True
    parts = [part for part in re.split(r"[/|()]", column[:LONGEST]) if part.strip()]
    return len(parts) > 1 and all(normal_name(part) in known for part in parts)


def columns_named(names: Sequence[str], header: Sequence[str]) -> list[str]:
    """The columns of a header with one of some names, each once, in the order of the names."""
    columns = [column for column in dict.fromkeys(header) if is_named(column, names)]
    order = {normal_name(name): place for place, name in enumerate(names)}
    return sorted(
        columns, key=lambda column: order.get(normal_name(column), len(order))
    )


def question_columns(header: Sequence[str]) -> list[str]:
    """The columns that may each be the one with the questions, in the order of the header."""
    for names in (USUAL_NAMES, SUBJECT_NAMES, LAST_NAMES):
        columns = [name for name in dict.fromkeys(header) if is_named(name, names)]
        if columns:
            return columns
    return []


# ---- Columns as a user calls them ----


class TextColumns(NamedTuple):
    """What makes a text: columns, and how many of their first words count (None: all)."""

    columns: list[str]
    words: int | None = None

    @property
    def is_joined(self) -> bool:
        """Whether the text is another than that of one column."""
        return len(self.columns) > 1 or self.words is not None


def shown_names(header: Sequence[object]) -> str:
    """The names of a header for a message, the first twelve, cut."""
    names = ", ".join(" ".join(str(name).split())[:40] for name in header[:12])
    return f"{names}, …" if len(header) > 12 else names


def columns_called(name: str, header: Sequence[str]) -> list[str]:
    """The columns of exactly this name; else those that differ in case or blanks; else in marks, too."""
    for form in (str, folded):
        same = [other for other in header if form(other) == form(name)]
        if same:
            return same
    normal = normal_name(name)
    return [other for other in header if normal_name(other) == normal]


def read_spec(spec: str, header: Sequence[str] = ()) -> TextColumns:
    """What a user calls columns, "title+body:50" taken apart; a column's own name may have these marks."""
    own = set(map(folded, header))
    if folded(spec) in own:
        return TextColumns([spec])
    limit = re.search(r":([1-9]\d{0,8}+)\Z", spec)
    names = spec[: limit.start()] if limit else spec
    columns = [names] if folded(names) in own else names.split("+")
    return TextColumns(columns, int(limit[1]) if limit else None)
