"""The JSON objects of requests and answers: the server checks them, and its OpenAPI document shows them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BeforeValidator, ConfigDict, Field, create_model

from siamese.groups.table import GROUP_COLUMNS
from siamese.index import Added, Hit
from siamese.model.explain import WordEffect
from siamese.system.open_types import Keywords
from siamese.text.values import as_whole

# A character that is no blank and no mark; the ranges mean the same in Rust, Python and
# JavaScript.
WORDED = (
    r"[^\x00-/:-@\[-`{-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb\xbf\xd7\xf7\u1680\u180e\u2000-\u206f"
    r"\u3000-\u3004\u3008-\u3020\ufeff\uff01-\uff0f\uff1a-\uff20]"
)
NAMED = r"^[^\x00]*[^\x00-\x20\x7f-\xa0][^\x00]*$"
EXPECTED = {
    WORDED: "a question needs a letter or a digit",
    NAMED: "an id must not be blank",
}
EXPECTED["model_attributes_type"] = (
    "send an object, with Content-Type: application/json"
)
Text = Annotated[str, Field(max_length=10_000)]
Worded = Annotated[str, Field(max_length=10_000, pattern=WORDED)]
# each word is one more question
Short = Annotated[str, Field(max_length=1_000, pattern=WORDED)]


def whole(**bounds: Any) -> Any:
    """The type of a whole number; 7.0 is one, as in JSON's schema."""
    return Annotated[int, Field(**bounds), BeforeValidator(as_whole)]


def several(kind: Any, most: int = 1000) -> Any:
    """A list of at most so many."""
    return Annotated[list[kind], Field(max_length=most)]


def body(name: str, **fields: Any) -> Any:
    """The JSON object of a request; its types are strict, and a misspelt name is refused."""
    return create_model(
        name, __config__=ConfigDict(strict=True, extra="forbid"), **fields
    )


Id = Annotated[str, Field(max_length=500, pattern=NAMED)] | whole()
Value = str | int | Annotated[float, Field(allow_inf_nan=False)] | bool
Cut = Annotated[
    float | None,
    Field(
        ge=-1, le=1, description="what a duplicate's score exceeds [the index's own]"
    ),
]
Two = Annotated[list[Text], Field(min_length=2, max_length=2)]
NEW = {
    "question": Worded,
    "columns": (dict[str, Value | list[Value | None] | None], {}),
}

WITHIN = Field(
    max_length=20,
    description="columns and their values: only questions with all of these are searched; "
    "language null is that of each question",
)

Pairs = body("Pairs", pairs=several(Two), threshold=(Cut, None))
Pair = body("Pair", question1=Short, question2=Short)
Search = body(
    "Search",
    questions=several(Worded, 100),
    k=(whole(ge=1, le=100), 10),
    threshold=(Cut, None),
    mode=(Literal["hybrid", "vectors", "words"], "hybrid"),
    within=(Annotated[dict[str, Value | None], WITHIN], {}),
)
Ids = body("Ids", ids=several(Id))
New = body("New", **NEW)
NewWithId = body("NewWithId", **NEW, id=Id)
NewQuestions = body("NewQuestions", questions=several(NewWithId) | several(New))
GROUPED_WITHIN = Field(
    max_length=20, description="columns: only questions of equal values are compared"
)
GroupsPage = body(
    "GroupsPage",
    offset=(whole(ge=0, le=1 << 40), 0),
    limit=(whole(ge=1, le=10_000), 1000),
    within=(Annotated[list[Short], GROUPED_WITHIN], []),
)
Nothing = body("Nothing")
Left = body("Left", leave_out=(several(Two), []))  # pairs that the client has skipped
BEFORE = Field(
    description="the answer that this one replaces, null for none; any where left out"
)
Said = body(
    "Said",
    question1=Text,
    question2=Text,
    is_duplicate=(bool | None, ...),
    before=(Annotated[bool | None, BEFORE], None),
)


AllSaid = body("AllSaid", pairs=several(Said))


def list_of(kind: Any) -> Any:
    """A list of any length."""
    return list[kind]


def model_of(kind: Any) -> Any:
    """The schema of a named tuple, an object of its fields."""
    return create_model(kind.__name__, **get_type_hints(kind))


ANSWER: Keywords = {
    "similarity": float,
    "probability": float | None,
    "is_duplicate": bool,
}
ANSWER |= {"difference": str}  # what the near-miss check took a penalty for; or empty
WORDS = list_of(model_of(WordEffect))
Problem = create_model("Problem", detail=str)
Answers = create_model("Answers", answers=list_of(create_model("Answer", **ANSWER)))
EFFECTS: Keywords = {"threshold": float, "words1": WORDS, "words2": WORDS}
# What the near-miss check counts, by `siamese.model.near_miss_features.FEATURES`.
EFFECTS |= {"compared": dict[str, float]}
Explained = create_model("Explained", **ANSWER, **EFFECTS)
# The code of a hit's language, empty where it is the main one of the list.
FOUND = create_model("Hit", **get_type_hints(Hit), language=str)
# `floors`: of each question the cosine below which no hit is similar.
Hits = create_model("Hits", results=list_of(list_of(FOUND)), floors=list[float | None])
Changed = model_of(Added)
Removed = create_model("Removed", removed=int)
ROW_FIELDS: Keywords = {**GROUP_COLUMNS}
ROW = create_model("GroupRow", **ROW_FIELDS)
Groups = create_model("Groups", rows=list_of(ROW), total=int, groups=int)
Next = create_model("Next", pair=list[str], shown=list[str], answers=int)
FITTED: Keywords = {"stored": int, "answers": int, "threshold": float, "fitted": bool}
Fitted = create_model("Fitted", **FITTED)
AllFitted = create_model("AllFitted", **FITTED, before=list[bool | None])
VALUES = dict[str, list[str]]  # of columns, for `within`
Examples = create_model("Examples", questions=list[str], values=VALUES)
ABOUT: Keywords = {"version": str, "questions": int, "threshold": float, "measure": str}
ABOUT |= {"note": str, "is_fitted": bool, "read_only": bool}
SHOWN: Keywords = {"joined": list[str], "languages": list[str]}
About = create_model("About", **ABOUT, **SHOWN)
