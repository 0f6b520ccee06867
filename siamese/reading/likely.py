"""Which encoding a text that is not UTF-8 is likely to have."""

from __future__ import annotations

import re
import unicodedata

SAMPLE = 1 << 18  # bytes that are looked at
_HIGH = re.compile(rb"[\x80-\xff]")
_WESTERN = "äöüßÄÖÜéèêàâçñóíáúïëôûùœæøåÅØÆÉÈÀÇÑÓÍÁÚãõìòñ’‘“”„–—…€°§«»®©•´·¿¡\xa0"
_CENTRAL = "ąćęłńóśźżĄĆĘŁŃÓŚŹŻáčďéěíňřšťúůýžÁČĎÉĚÍŇŘŠŤÚŮÝŽőűŐŰäöüßÄÖÜ’“”„–—…€\xa0"
_TURKISH = "ğşıçöüĞŞİÇÖÜâî’“”–…\xa0"
_COMMON_HANZI = (
    "的一是不了在有我他这個个中大来來上国國到说說们們为為子和你地出道也时時年得就那要"
    "下以生会會自着去之过過家学學对對可她里裡后後小么麼心多天而能好都然没沒日于起还還"
    "发發成事只作当當想看文无開开手十用主行方又如前所本见見经經头頭面公同三已老从從动"
    "動两長长知民样樣现現分将將外但身些与與高意进進把法此实實回二理美点點月明其种種声"
    "聲全工己话話儿兒者向情部正名定女问問力机機给給等几幾很业業最间間新什打便位因重被"
    "走电電四第门門相次东東政海口使教西再平真听聽世气氣信北少关關并內内加化由却代军軍"
    "产產入先山五太水万萬市码碼密请請怎何登录錄账號号網网"
)
_COMMON_HANGUL = (
    "이다는을가의에하고를은도지한사기로어나인시아대리있그일해자수서정것안부전만었과주"
    "보여들게장동까요습니까어떻비밀번호재설정왜무엇저내우면되원"
)


def _first(name: str) -> str:
    return name.split(" ", 1)[0]


def _share(text: str, good: str | tuple[str, ...]) -> float:
    """How natural the characters of a text beyond ASCII are, from below 0 to 1.

    `good` are those that are expected, or the first words of their Unicode names.
    """
    characters = [character for character in text if ord(character) > 127]
    points = 0.0
    for character in characters:
        if isinstance(good, str):
            points += 1 if character in good else -1
        elif _first(unicodedata.name(character, "")) in good:
            points += 0.6 if character.isupper() else 1
        elif not unicodedata.category(character).startswith(("P", "Z")):
            points -= 1
    return points / max(1, len(characters))


def _share_of_cjk(text: str, common: str) -> float:
    """As `_share`, of Chinese or Korean: common characters count."""
    characters = [character for character in text if ord(character) > 127]
    points = 0.0
    for character in characters:
        kind = _first(unicodedata.name(character, "?"))
        if character in common:
            points += 1
        elif kind in ("CJK", "HANGUL", "FULLWIDTH", "IDEOGRAPHIC"):
            points += 0.2
        else:
            points -= 1
    return points / max(1, len(characters))


# In the order of preference.
_CANDIDATES = (
    ("cp1252", _WESTERN),
    ("cp1250", _CENTRAL),
    ("cp1254", _TURKISH),
    ("mac_roman", _WESTERN),
    ("cp850", _WESTERN),
    ("cp1251", ("CYRILLIC",)),
    ("koi8_r", ("CYRILLIC",)),
    ("cp866", ("CYRILLIC",)),
    ("cp1253", ("GREEK",)),
    ("cp1256", ("ARABIC",)),
    ("cp1255", ("HEBREW",)),
    ("cp874", ("THAI",)),
    ("shift_jis", ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")),
    ("euc_jp", ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")),
    ("euc_kr", _COMMON_HANGUL),
    ("gb18030", _COMMON_HANZI),
    ("big5", _COMMON_HANZI),
)
_BY_COMMON = ("euc_kr", "gb18030", "big5")
_KANJI_IS_FINE = ("shift_jis", "euc_jp")


def likely_encoding(content: bytes) -> str | None:
    """The likely encoding of a text's bytes; None where they are UTF-8, or fit none.

    Example:
      >>> likely_encoding("Größe;Straße".encode("cp1252"))
      'cp1252'
    """
    sample = content[:SAMPLE]
    if not _HIGH.search(sample):
        sample = b"".join(re.findall(rb"[^\r\n]*[\x80-\xff][^\r\n]*", content))[:SAMPLE]
    try:
        sample.decode("utf-8")
        return None
    except UnicodeDecodeError as error:
        if error.end >= len(sample) and "unexpected end" in error.reason:
            return None
    best: tuple[float, str | None] = (0.3, None)
    for encoding, good in _CANDIDATES:
        try:
            text = sample.decode(encoding)
        except UnicodeDecodeError as error:
            if error.end < len(sample) - 4:  # The sample may end in a character.
                continue
            text = sample[: error.start].decode(encoding)
        if encoding in _BY_COMMON:
            points = _share_of_cjk(text, str(good))
        elif encoding in _KANJI_IS_FINE:
            kana = sum(_first(unicodedata.name(c, "")) in good for c in text)
            others = "".join(
                c for c in text if not unicodedata.name(c, "").startswith("CJK")
            )
            points = _share(others, good) if kana else 0.0
        else:
            points = _share(text, good)
            # All bytes are Thai letters in it.
            points *= 0.5 if encoding == "cp874" else 1
        if points > best[0] + 1e-9:
            best = (points, encoding)
    return best[1]
