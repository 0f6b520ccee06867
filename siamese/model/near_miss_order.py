"""Units of one text in the order in which they are compared: clauses, amounts, joined words."""

from __future__ import annotations

import itertools

from siamese.model.near_miss_units import (
    CURRENCIES,
    DATE,
    NUMBER,
    SMALL,
    ZEROS,
    Unit,
    Words,
    value_of,
)


class Arranger:
    """Arranges the units of a text whose words stand in another order for the same question."""

    def __init__(self, words: Words):
        self.words = words

    def __call__(self, units: list[Unit], commas: list[int]) -> tuple[list[Unit], bool]:
        """The units, and whether they are passive: "was eaten by".

        `commas` are the places of units after one.
        """
        units = self._with_late_clauses(units, commas)
        shown = [unit.shown for unit in units]
        if "half" in shown or any(unit.kinds & NUMBER for unit in units):
            units = self._with_units(units)
            shown = [unit.shown for unit in units]
        passive = self._is_passive(shown)
        return self._order_joined(units, shown), passive

    def _with_units(self, units: list[Unit]) -> list[Unit]:
        """Numbers joined with what they count: "1,000 mg" is "1 g", "$2 million" is "2,000,000 dollars"."""
        joined: list[Unit] = []
        place = 0
        while place < len(units):
            value, size = self._value_at(units, place)
            unit = units[place]
            place += size
            if value is None:
                joined.append(unit)
                continue
            sign = joined.pop() if joined and joined[-1].key == "-" else None
            currency = joined.pop() if joined and joined[-1].key in CURRENCIES else None
            if sign:
                value = -value
                unit = unit._replace(key=f"-{unit.key}", shown=f"-{unit.shown}")
            if currency:
                unit = unit._replace(shown=f"{currency.shown}{unit.shown}")
            unit, size = self._counted(unit, value, currency, units[place:])
            place += size
            joined.append(unit)
        return joined

    def _value_at(self, units: list[Unit], place: int) -> tuple[float | None, int]:
        """The number at a place, and how many units it takes; "half an hour" is 0.5 and a unit of time."""
        after = [unit.shown for unit in units[place + 1 : place + 3]]
        if units[place].shown == "half":
            skip = 1 + (after[:1] in (["a"], ["an"]))
            if len(after) >= skip and after[skip - 1] in self.words.language.units:
                return 0.5, skip
        return value_of(units[place]), 1

    def _counted(
        self, unit: Unit, value: float, currency: Unit | None, after: list[Unit]
    ) -> tuple[Unit, int]:
        """A number with the scales and the unit after it, and how many units these take."""
        language = self.words.language
        base = currency.key if currency else ""
        words = [unit.shown]
        size = 0
        while size < len(after) and after[size].shown in language.scales:
            value *= language.scales[after[size].shown]
            words.append(after[size].shown)
            size += 1
        following = after[size].shown if size < len(after) else ""
        if following in ("am", "pm"):
            hour = value % 12 + 12 * (following == "pm")
            shown = " ".join([*words, following])
            return Unit(f"at {hour:g}", DATE | NUMBER, 1.0, shown), size + 1
        if not base and following in language.units:
            base, factor = language.units[following]
            value *= factor
            words.append(following)
            size += 1
        if not base and len(words) == 1:
            return unit._replace(key=ZEROS.sub("", unit.key)), size
        return Unit(f"{value:.12g}{base}", NUMBER, 1.0, " ".join(words)), size

    def _is_passive(self, shown: list[str]) -> bool:
        """Whether there is a form of "be", a participle, and then "by"."""
        if "by" not in shown:
            return False
        place = shown.index("by")
        before = shown[:place]
        if not before or not before[-1].endswith(("ed", "en", "wn", "ght", "t")):
            return False
        return not {"is", "are", "was", "were", "be", "been"}.isdisjoint(before)

    def _with_late_clauses(self, units: list[Unit], commas: list[int]) -> list[Unit]:
        """The units with clauses such as "In R, ..." last."""
        if not commas:
            return units
        bounds = [0, *commas, len(units)]
        early: list[Unit] = []
        late: list[Unit] = []
        for start, stop in itertools.pairwise(bounds):
            part = units[start:stop]
            is_late = part and part[0].shown in self.words.language.clauses
            (late if is_late else early).extend(part)
        return early + late

    def _order_joined(self, units: list[Unit], shown: list[str]) -> list[Unit]:
        """The units with two words that "and" joins in the order of their keys."""
        units = [*units]
        language = self.words.language
        joins = language.joins
        if not language.mutual.isdisjoint(shown):
            joins = joins | {"with"}
        for place in range(1, len(units) - 1):
            if shown[place] in joins:
                after = place + 1
                if shown[after] in language.determiners and after + 1 < len(units):
                    after += 1
                one = units[place - 1]
                two = units[after]
                if one.key > two.key and not (one.kinds | two.kinds) & SMALL:
                    units[place - 1] = two
                    units[after] = one
        return units
