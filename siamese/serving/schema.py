"""The JSON objects of requests and answers: the server checks them, and its OpenAPI document shows them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BeforeValidator, ConfigDict, Field, Strict, create_model

from siamese.search.explain import WordEffect
from siamese.search.index import Added, Hit

# A search has at most so many questions, and so large a k.
SIZES = ((10, 1000), (100, 100), (1000, 10))
EXAMPLE = "How can I learn Spanish?"

# A character that is neither blank nor invisible; the ranges mean the same in Rust, Python and JavaScript.
VISIBLE = (
    r"[^\x00-\x20\x7f-\xa0\xad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]"
)
Text = Annotated[str, Field(max_length=10_000)]
Worded = Annotated[str, Field(max_length=10_000, pattern=VISIBLE)]
Short = Annotated[str, Field(max_length=1_000, pattern=VISIBLE)]  # each word is one more question


def _number(value: Any) -> Any:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError("a whole number is expected")
    return value


def whole(**bounds: Any) -> Any:
    """The type of a whole number; 7.0 is one, as in JSON's schema, but no text and no boolean."""
    return Annotated[int, Strict(False), Field(**bounds), BeforeValidator(_number)]


Id = Annotated[str, Field(max_length=500, pattern=r"^[^\x00]*$")] | whole()
Number = Annotated[float, Field(allow_inf_nan=False)]
Value = str | int | Number | bool
Cut = Annotated[float | None, Field(ge=-1, le=1, description="a cosine [the index's own]")]


def body(name: str, schema: dict[str, Any] | None = None, **fields: Any) -> Any:
    """The JSON object of a request; its types are strict, and a misspelt name is refused."""
    config = ConfigDict(strict=True, extra="forbid", json_schema_extra=schema)
    return create_model(name, __config__=config, **fields)


def sizes(name: str) -> dict[str, Any]:
    """`SIZES` as a schema."""
    properties = [{name: {"maxItems": most}, "k": {"maximum": k}} for most, k in SIZES]
    return {"anyOf": [{"properties": limits} for limits in properties]}


def several(kind: Any, example: Any = None) -> Any:
    """A list of at most 1,000."""
    return Annotated[list[kind], Field(max_length=1000, examples=[[example]] if example else None)]


Two = Annotated[list[Text], Field(min_length=2, max_length=2)]
COLUMNS = dict[str, Value | list[Value | None] | None]
SEARCHED = {"k": (whole(ge=1, le=1000), 10), "threshold": (Cut, None)}
NEW = {"question": Worded, "columns": (COLUMNS, {})}

Pairs = body("Pairs", pairs=several(Two, [EXAMPLE, EXAMPLE]), threshold=(Cut, None))
Pair = body("Pair", question1=Short, question2=Short)
Questions = body("Questions", questions=several(Text, EXAMPLE))
Search = body(
    "Search",
    sizes("questions"),
    questions=several(Text, EXAMPLE),
    **SEARCHED,
    mode=(Literal["hybrid", "vectors", "words"], "hybrid"),
    where=(dict[str, Value] | None, None),  # column -> value
    min_probability=(Annotated[float | None, Field(ge=0, le=1)], None),
    merge_same=(bool, False),  # of hits with the same text only the first
)
Ids = body("Ids", ids=several(Id, "7"))
Stored = body("Stored", sizes("ids"), ids=several(Id, "7"), **SEARCHED)
New, NewWithId = body("New", **NEW), body("NewWithId", **NEW, id=Id)
NewQuestions = body("NewQuestions", questions=several(NewWithId) | several(New))
Page = body("Page", offset=(whole(ge=0), 0), limit=(whole(ge=1, le=10_000), 1000))
Nothing = body("Nothing")
Left = body("Left", leave_out=(several(Two), []))  # pairs that the client has skipped
Said = body("Said", question1=Text, question2=Text, is_duplicate=(bool | None, ...))


def model_of(kind: Any) -> Any:
    """The schema of a named tuple, an object of its fields."""
    return create_model(kind.__name__, **{n: (t, ...) for n, t in get_type_hints(kind).items()})


ANSWER = {"similarity": float, "probability": float | None, "is_duplicate": bool}
HITS = {"results": list[list[model_of(Hit)]]}
WORDS = list[model_of(WordEffect)]
GROUP_ROW = {
    "group": str,
    "keep": int,
    "similarity": float,
    "same_text": int,
    "id": str,
    "question": str,
}
Answer, GroupRow = create_model("Answer", **ANSWER), create_model("GroupRow", **GROUP_ROW)
ADDED = get_type_hints(Added)
NEXT = {"pair": list[str], "shown": list[str], "answers": int}
Problem = create_model("Problem", detail=str)
