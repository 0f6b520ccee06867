"""Columns of real exports are found by their usual names, whatever their case, marks and language."""

import pytest

from siamese.reading.questions import read_ids, read_questions

IDS = """
id|ID|Ticket-ID|TicketID|ticket_id|Ticket Id|Ticket No|Ticket No.
TICKET NUMBER|ticket#|Ticket #|Ticketnummer|Ticket-Nr.|Nr|Nr.|Key
key|number|Number|Issue key|Issue Key|issue_id|Issue-ID
Case Number|Case ID|CaseNumber|Incident|Incident Number|Request ID
Vorgang|Vorgangsnummer|Vorgangs-ID|Schlüssel|Numéro|N°|Clave
Número|Numero|Номер|编号|番号|번호|#|Reference|Post ID|question_id
Ticket/Vorgang
"""
TITLES = """
question|Question|QUESTION|Subject|SUBJECT|Summary|Betreff
Betreff/Subject|Subject / Betreff|Subject (Betreff)
Short description|short_description|Kurzbeschreibung
Zusammenfassung|Titel|Frage|Objet|Titre|Asunto|Título|Oggetto
Domanda|Assunto|Onderwerp|Vraag|Temat|Тема|Заголовок|Konu|Judul|件名
主题|제목|Ticket subject|Question text
"""
BODIES = """
Description|description|DESCRIPTION|Beschreibung|Body|body|Message
Nachricht|Inhalt|Content|Details|Beschreibung/Description
Problem description|Contenu|Descripción|Descrizione|Descrição
Omschrijving|Opis|Описание|Açıklama|Deskripsi|説明|描述|설명
"""


def names(text: str) -> list[str]:
    return text.strip().replace("\n", "|").split("|")


@pytest.mark.parametrize("name", names(IDS))
def test_ids_are_found(name):
    table = {
        name: ["A-7", "A-8"],
        "Subject": ["How far?", "Why?"],
        "State": ["open", "open"],
    }
    questions = read_questions(table)
    assert questions.ids == ["A-7", "A-8"]
    assert questions.columns == [{"State": "open"}] * 2
    assert read_ids(table)[0] == ["A-7", "A-8"]


@pytest.mark.parametrize("name", names(TITLES))
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_questions_are_found(tmp_path, name, mark):
    path = tmp_path / "list.csv"
    path.write_text(
        mark.join(["State", name, "By"]) + "\n" + mark.join(["a", "How far?", "b"])
    )
    questions = read_questions(path)
    assert questions.questions == ["How far?"]
    assert questions.column == name


@pytest.mark.parametrize("body", names(BODIES))
@pytest.mark.parametrize("title", ["Subject", "Betreff"])
def test_a_title_and_its_body_are_found(body, title):
    questions = read_questions({title: ["How far?"], body: ["It is late."]})
    assert questions.questions == ["How far? It is late."]
    assert questions.column.startswith(f"{title}+{body}")


def test_a_text_beside_a_subject_is_its_body():
    questions = read_questions({"Betreff": ["How far?"], "Text": ["It is late."]})
    assert questions.questions == ["How far? It is late."]


@pytest.mark.parametrize("values", [["7", "7"], ["7", ""], ["7", None]])
def test_a_likely_column_that_holds_no_ids_is_a_column(values):
    questions = read_questions({"Number": values, "question": ["How far?", "Why?"]})
    assert questions.ids == ["0", "1"] and not questions.has_ids
    assert [row["Number"] for row in questions.columns] == values
    assert "Number" in " ".join(questions.report.notes)


@pytest.mark.parametrize("asked", ["ticket-id", "TICKET ID", "TicketID", "Ticket_ID"])
def test_a_named_column_is_found_whatever_its_marks(asked):
    table = {
        "Ticket-ID": ["7"],
        "Other": ["1"],
        "Kurz-Text": ["How far?"],
        "Lang_Text": ["It is."],
    }
    questions = read_questions(table, id_column=asked, column="kurz text+langtext")
    assert questions.ids == ["7"] and questions.questions == ["How far? It is."]


def test_an_exact_name_comes_before_a_like_one():
    table = {
        "ticket id": ["7"],
        "ticket_id": ["8"],
        "question": ["How far?"],
        "title_body": ["x"],
    }
    assert read_questions(table, id_column="ticket_id").ids == ["8"]
    table = {"title": ["How far?"], "body": ["It is."], "title_body": ["x"]}
    assert read_questions(table, column="title+body").questions == ["How far? It is."]
