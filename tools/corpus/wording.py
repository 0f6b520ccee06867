"""Puts a meaning of the corpus grammar into words: frames, names, articles, -ing forms."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tools.corpus.grammar import Grammar, Intent

# A recipe is this many numbers in [0, 1); they decide every choice in a wording. The
# same recipe for two meanings of one intent gives two questions that differ only where
# the meanings do.
RECIPE_LENGTH = 20


def render(
    grammar: Grammar, intent: Intent, fills: Sequence[int], recipe: Sequence[float]
) -> str:
    """Puts a meaning into words.

    Args:
      grammar: from `load_grammar`.
      intent: one of its intents.
      fills: for each slot of the intent, in order, the index of its value.
      recipe: RECIPE_LENGTH numbers in [0, 1) that decide every choice.

    Returns:
      The question. The same arguments always give the same text.
    """
    draws = iter(recipe)
    lines = intent.lines_for(fills)
    line = lines[int(next(draws) * len(lines))]
    # The lower of two draws prefers what stands first: the plainer frames, the usual
    # names.
    frame_draw = min(next(draws), next(draws))
    style_draw, style_pick, form_draw = (next(draws) for _ in range(3))

    values = {
        slot: of_slot[i] for (slot, of_slot), i in zip(intent.slots.items(), fills)
    }
    if intent.symmetric and next(draws) < 0.5:
        values |= {
            slot: values[
                slot.removesuffix(":2") if slot.endswith(":2") else f"{slot}:2"
            ]
            for slot in values
            if slot.endswith(":2") or f"{slot}:2" in values
        }
    names = {
        slot: value.names[int(min(next(draws), next(draws)) * len(value.names))]
        for slot, value in values.items()
    }

    def expand(parts) -> str:
        words = []
        for part in parts:
            if part[0] == "text":
                words.append(part[1])
            elif part[0] == "choice":
                words.append(part[1][int(next(draws) * len(part[1]))])
            else:
                _, slot, form = part
                words.append(values[slot].forms[form] if form else names[slot])
        return "".join(words)

    text = expand(line.parts)
    if line.kind != "say":
        frames = grammar.frames[line.kind]
        sides = frames[int(frame_draw * len(frames))]
        side = fills[list(intent.slots).index("side")] if line.kind == "why" else 0
        before, ing, after = sides[side]
        text = expand(before) + (gerund(text) if ing else text) + expand(after)
    text = _dress(grammar, intent.subject, text, style_draw, style_pick)
    return tidy(text, form_draw)


def _dress(grammar: Grammar, subject: str, text: str, draw: float, pick: float) -> str:
    """Adds, to some questions, words around them that do not change what they ask."""
    contexts = grammar.contexts[subject]
    if draw < 0.05 and contexts:
        return f"{contexts[int(pick * len(contexts))]} {text}"
    if draw < 0.07:
        openers = grammar.frames["before"]
        opener = openers[int(pick * len(openers))]
        return f"{opener} {_lower_first(text)}"
    if draw < 0.09 and text.endswith("?"):
        closers = grammar.frames["after"]
        return f"{text} {closers[int(pick * len(closers))]}"
    return text


# First words that may lose their capital after "Quick question:"; names and "I" keep
# theirs.
_FIRST_WORDS = frozenset(
    """How What What's Which Where Why Who When Is Are Can Could Do Does Did Will Would Should Has
    Any Got In On If For With At After Between My Our As Whose There""".split()  # noqa: SIM905
)

# Short and full forms that people mix; each question keeps the line's own or takes the
# other.
_CONTRACTIONS = (
    ("What's", "What is"), ("what's", "what is"), ("I'm", "I am"), ("it's", "it is"),
    ("don't", "do not"), ("can't", "cannot"), ("I'd", "I would"), ("I've", "I have"),
    ("doesn't", "does not"), ("isn't", "is not"), ("won't", "will not"), ("that's", "that is"),
)  # fmt: skip

_SENTENCE_START = re.compile(r"(?:^|[.?!] )[a-z](?!Phone)")
_A_OR_AN = re.compile(r"\b([Aa])\(n\) (\S+)")
_VOWEL_SOUND = re.compile(r"[aeiouAEIO]|8|11\b|18\b|hour|honest|HP|MBA|SMS|XPS")
_NO_VOWEL_SOUND = re.compile(r"uni|us(?:e|ual)|[Oo]ne|once|e[uU]|Eu")


def tidy(text: str, draw: float) -> str:
    """Chooses a or an, mixes in contractions, capitalises sentences and mends spaces."""
    while "  " in text:
        text = text.replace("  ", " ")
    if "(n)" in text:
        text = _A_OR_AN.sub(_choose_article, text)
    if draw < 0.15:  # full forms
        for short, full in _CONTRACTIONS:
            text = text.replace(f"{short} ", f"{full} ")
    elif draw < 0.35:  # short forms of "What is"
        text = re.sub(r"\b([Ww]hat) is (?=the|a|your)", r"\1's ", text)
    text = _SENTENCE_START.sub(lambda match: match[0].upper(), text)
    if 0.35 <= draw < 0.37:  # a few people leave the question mark out
        text = text.removesuffix("?")
    elif 0.37 <= draw < 0.39:  # or the capital
        text = _lower_first(text)
    return text


def _lower_first(text: str) -> str:
    return text[0].lower() + text[1:] if text.split(" ", 1)[0] in _FIRST_WORDS else text


def _choose_article(match: re.Match) -> str:
    word = match[2].lstrip('"')
    vowel = _VOWEL_SOUND.match(word) and not _NO_VOWEL_SOUND.match(word)
    return f"{match[1]}{'n' if vowel else ''} {match[2]}"


# The grammar's verbs whose last letter is doubled before -ing.
_DOUBLED = frozenset(
    """begin bet chat cut debug dig drop fit get grab hit hop jog knit let log mop nap plan put quit
    reset rid run set ship shut sit skip slim slip spot step stop swim tip transfer trip win
    wrap""".split()  # noqa: SIM905
)


def gerund(phrase: str) -> str:
    """Puts the first verb of a phrase into its -ing form: 'make tea' becomes 'making tea'.

    >>> gerund("get rid of mice")
    'getting rid of mice'
    """
    verb, space, rest = phrase.partition(" ")
    if verb in _DOUBLED:
        verb += verb[-1]
    elif verb.endswith("ie"):
        verb = verb[:-2] + "y"
    elif verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) and verb != "be":
        verb = verb[:-1]
    return f"{verb}ing{space}{rest}"
