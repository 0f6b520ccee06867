"""A wrapped copy is a copy, and a question about marks stays to the letter."""

import pytest

from siamese import DuplicateDetector
from siamese.text.wrapping import plain

QUESTIONS = [
    "How do I reset my password?",
    "Why does the printer on the third floor jam?",
    "Where can I see my holiday balance?",
    "Can I borrow a projector for Friday?",
    "Is the car park open at night?",
    "What does a parking permit cost?",
    "The VPN drops every ten minutes",
    "Wie setze ich mein Passwort zurück?",
    "Comment réinitialiser mon mot de passe ?",
    "¿Dónde puedo ver mis vacaciones?",
]
FORMS = [
    "**{}**",
    "*{}*",
    "_{}_",
    "__{}__",
    "~~{}~~",
    "# {}",
    "### **{}**",
    "> {}",
    "- {}",
    "* {}",
    "• {}",
    "- [ ] {}",
    "1. {}",
    "2) {}",
    "(3) {}",
    "```\n{}\n```",
    "[{}](https://example.org/q/5)",
    "- **[{}](https://example.org/q/5)**",
    "{}\n===",
    "h2. {}",
    "bq. {}",
    "{{code}}{}{{code}}",
    "{{quote}}\n{}\n{{quote}}",
    "[{}|https://example.org/q/5]",
    "[b]{}[/b]",
    "[quote=A. Person]{}[/quote]",
    "[url=https://example.org/q/5]{}[/url]",
    "[size=5][color=red]{}[/color][/size]",
    "[#48213] {}",
    "[SUP-311] {}",
    "SUP-311: {}",
    "RE: [#48213] {}",
    "Ticket 48213: {}",
    "INC0048213 - {}",
    "{} [closed]",
    "Hello,\n\n{}\n\nThanks\nA. Person",
    "{}\n\n-- \nA. Person\nExample Ltd",
    "{}\n\nMit freundlichen Grüßen\nA. Person",
    "{}\n\nSent from my phone",
    "<p>{}</p><p>Kind regards<br>A. Person</p>",
]
ABOUT_MARKS = r"""What does **bold** mean in Markdown?
2*3*4
What is 2**3**2?
List<String>
What is a List<String> in Java?
__init__
What does __init__ do?
> 5 or < 5?
# of people
How do I count the # of people?
C:\_temp
Where is C:\_temp on Windows?
How do I use *args and **kwargs?
`ls -l`
What does `ls -l` print?
arr[i][j]
a[0](b)
What do [b] and [/b] mean?
What is {code} in Jira?
{{variable}}
snake_case_name
_GET or _POST in PHP?
#1 song of 1999?
#include <stdio.h>
C# or F#?
- 5 degrees: is it cold?
* or / first?
1. FC Köln: when is the next match?
2. Weltkrieg: wann begann er?
COVID-19: How long is it contagious?
UTF-8: What is it?
WD-40: What is it for?
R2-D2: Is it a robot?
1984: Who wrote it?
1984 - who is the author?
Case 39: is it scary?
Ticket 42: who wrote it?
What is [x](y) in Markdown?
Where is ~/.bashrc?
--force
>>> prompt in Python
Is E*TRADE a bank?
What is <br> for?
f(x) = x**2
*.txt and *.csv
(a + b) * c
|x| < 5?
= or ==?
# in Python
[sic]
@property
7-Zip or WinRAR?
2001: A Space Odyssey""".splitlines()


@pytest.fixture(scope="module")
def use():
    return DuplicateDetector.pretrained()


def test_there_are_forty_of_each_kind():
    assert len(set(FORMS)) == 40
    assert len(set(ABOUT_MARKS)) >= 40


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_wrapped_copy_has_the_vector_of_its_question(use, question):
    wrapped = [form.format(question) for form in FORMS]
    cosines = use.similarity(question, wrapped)
    low = [text for text, cosine in zip(wrapped, cosines) if cosine < 0.99]
    assert len(low) <= 2, low


@pytest.mark.parametrize("question", ABOUT_MARKS)
def test_a_question_about_marks_stays_to_the_letter(question):
    assert plain(question) == question


@pytest.mark.parametrize(
    "text", ["", " ", "**", "# ", "[b][/b]", "```\n```", "[#48213]", "- ", "> "]
)
def test_marks_alone_stay(text):
    assert plain(text) == text


@pytest.mark.parametrize(
    "text, expected",
    [
        ("How do I **reset** my password?", "How do I reset my password?"),
        ("See [the manual](https://example.org): how?", "See the manual: how?"),
        ("**Q:** How do I reset it?", "How do I reset it?"),
        ("# How do I log in?\n\n- on a phone", "How do I log in?\n\n- on a phone"),
        ("<div>How far?</div><div>How long?</div>", "How far?\nHow long?"),
        ('"How do I log in?"', "How do I log in?"),
    ],
)
def test_marks_inside_a_text_are_undone(text, expected):
    assert plain(text) == expected


OUTPUTS = [
    "```\nTypeError: x\n```",
    "```python\nfor a in b:\n    print(a)\n```",
    "~~~\nlog\n~~~",
    "{code:java}\nint a;\n{code}",
    "{noformat}\nlog\n{noformat}",
    'Traceback (most recent call last):\n  File "/opt/a.py", line 3, in run',
    "at com.example.App.main(App.java:12)\n... 12 more",
    "2026-01-18 10:01 [ERROR] plugins: code 960\n10:01:02.123 worker stopped",
]


@pytest.mark.parametrize("output", OUTPUTS)
def test_what_a_program_printed_is_left_out(output):
    assert (
        plain(f"The window closes at once.\n\n{output}").strip()
        == "The window closes at once."
    )
    text = plain(f"{output}\n\nThe window closes at once.\nWhat can I do?")
    assert text == "The window closes at once.\nWhat can I do?"


@pytest.mark.parametrize(
    "text",
    [
        "```\nHow do I reset my password?",
        "Look at this: why?\n```\nselect 1",
        "What does this print?\nat the end of the day\nFile a complaint, line 3",
        "Error\n10:30 in the morning\nno sound",
    ],
)
def test_text_beside_such_marks_stays(text):
    assert plain(text).split()[-3:] == text.split()[-3:]
