"""What a person means who answers a checkpoint: yes, no, or neither. Pure.

    yes             ok, go on, approved; ja, oui, はい if that is the language here
    yes, but …      a yes; what stands after "but", "and" or a colon is advice
    no              stop, nope, don't, not yet; nein, non, いいえ
    no, because …   a no; what stands beside it is the reason

Only a yes lets a checkpoint pass. There is no end to the ways to take a yes back. So
more words need a word that joins them to the yes, and none of them may be a no, in any
language listed here. Everything else is neither (yes, hmm; yes, no; y/n; don't stop;
ok?), and the question is asked again.
"""

# ruff: noqa: RUF001 - other languages have letters of their own.

from __future__ import annotations

import re
import unicodedata
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from bridge.protocol.wording import unseen

if TYPE_CHECKING:
    from collections.abc import Mapping

# The answers that count, for people.
HOW_TO_SAY = "yes, `yes, but …`, or no"
# The hint after any other answer.
MORE_WORDS = (
    "a plain yes goes on; more words begin with `but`, and have no not, if or wait"
)


class Consent(Enum):
    """What an answer means."""

    YES = "yes"
    ADVICE = "yes, with advice"
    NO = "no"
    UNCLEAR = "unclear"


class Words(NamedTuple):
    """What says yes in a language, and no; what joins more to them.

    `holds` are no answers, and still keep words from being advice. Each is divided by
    commas; the words of a phrase have single spaces between them.
    """

    yes: str
    no: str
    joins: str
    holds: str = ""


_ENGLISH = Words(
    "y, yes, yes please, yep, yeah, yup, ok, okay, sure, go, go on, go ahead, do it, "
    "approve, approved, accept, accepted, agree, agreed, i agree, lgtm",
    "n, no, no thanks, no thank you, no way, nope, nah, never, not, not yet, not now, "
    "don't, dont, do not, don't do it, do not do it, stop, stop it, halt, cancel, "
    "abort, forget it, reject, rejected, refuse, refused, deny, denied, "
    "❌, 👎, 🛑, ✋, 🚫, ⛔",
    "but, and, because",
    "cannot, cant, wont, shouldnt, mustnt, doesnt, didnt, isnt, nothing, nobody, none, "
    "nor, neither, disagree, wait, hold, hang on, later, maybe, perhaps, or, unless, "
    "if, when, once, until, after",
)
# By the language of a locale. A yes counts in that language only: "no" is one in parts
# of Poland, "si" an if in France.
_LANGUAGES: Mapping[str, Words] = {
    "ar": Words(
        "نعم",
        "لا, ولا, توقف, قف, أبدا, أبدًا",
        "لكن, ولكن, و",
        "ليس, ليست, لم, لن, انتظر",
    ),
    "bg": Words("да", "не, недей, спри, стоп, никога", "но, и", "чакай"),
    "ca": Words("sí, d'acord", "no, mai, atura", "però, i", "para, espera"),
    "cs": Words("ano, jo", "ne, nikdy, stop, přestaň, zastav", "ale, a", "počkej"),
    "da": Words("ja, ok", "nej, ikke, aldrig, stop", "men, og", "ingen, intet, vent"),
    "de": Words(
        "ja, jawohl, ja bitte",
        "nein, nee, nö, nicht, noch nicht, lieber nicht, nie, niemals, stopp, halt, "
        "abbrechen, abbruch, auf keinen fall",
        "aber, und",
        "nichts, kein, keine, keinen, keinem, keiner, keines, warte, warten, moment, "
        "später, vielleicht, oder, wenn, falls, sobald, erst",
    ),
    "el": Words("ναι", "όχι, οχι, μη, μην, ποτέ, σταμάτα, στοπ", "αλλά, και", "δεν"),
    "es": Words(
        "sí, si, vale, de acuerdo",
        "no, todavía no, nunca, jamás, jamas, alto, detente, cancela",
        "pero",
        "para, nada, tampoco, espera, luego, quizás, tal vez, o, si, cuando",
    ),
    "et": Words("jah", "ei, ära, mitte, stopp, lõpeta", "aga, ja", "oota"),
    "fi": Words(
        "kyllä, joo",
        "ei, älä, älkää, lopeta, pysäytä",
        "mutta, ja",
        "en, seis, emme, eivät, odota",
    ),
    "fr": Words(
        "oui, d'accord",
        "non, pas, pas encore, surtout pas, jamais, arrête, arrêtez, stop",
        "mais, et",
        "rien, aucun, aucune, attends, attendez, plus tard, peut-être, ou, si, quand, "
        "dès",
    ),
    "he": Words("כן", "לא, ולא, אל, עצור, עצרי, תעצור", "אבל", "אין, בלי, חכה, רגע"),
    "hi": Words("हाँ, हां", "नहीं, मत, रुको, रुकिए, कभी नहीं", "लेकिन, पर, और"),
    "hr": Words("da", "ne, nemoj, nikad, nikada, stani, stop", "ali, i", "čekaj"),
    "hu": Words("igen", "nem, ne, soha, állj, stop, hagyd", "de, és", "várj"),
    "id": Words("ya, iya", "tidak, jangan, bukan, berhenti", "tapi, dan", "tunggu"),
    "it": Words(
        "sì, si, va bene",
        "no, non, non ancora, mai, ferma, fermati, fermo, basta",
        "ma, e",
        "niente, aspetta, dopo, forse, o, se, quando",
    ),
    "ja": Words(
        "はい, ええ",
        "いいえ, いや, だめ, だめです, ダメ, 駄目, やめて, やめろ, やめる, 止めて, "
        "中止, ストップ, 却下",
        "でも, ただし",
        "ない, ません, なし, するな, やめ, 止, 待, 後で, あとで, かも, もし",
    ),
    "ko": Words(
        "네, 예",
        "아니요, 아니오, 아니, 안돼, 안 돼, 안돼요, 하지마, 하지 마, 멈춰, 그만, 중지",
        "하지만, 그리고",
        "안, 못, 않, 없, 지마, 지 마, 말고, 절대, 기다려, 잠깐, 나중",
    ),
    "lt": Words("taip", "ne, niekada, stok, sustok", "bet, ir", "palauk"),
    "lv": Words("jā", "nē, nekad, ne, stop, beidz", "bet, un", "pagaidi"),
    "nb": Words("ja", "nei, ikke, aldri, stopp", "men, og", "ingen, vent"),
    "nl": Words(
        "ja",
        "nee, niet, nog niet, nooit, stop, liever niet",
        "maar, en",
        "geen, niets, wacht, later, misschien, of, als, zodra",
    ),
    "nn": Words("ja", "nei, ikkje, aldri, stopp", "men, og", "ingen, vent"),
    "no": Words("ja", "nei, ikke, aldri, stopp", "men, og", "ingen, vent"),
    "pl": Words("tak", "nie, nigdy, stop, stój, przestań", "ale, i", "czekaj"),
    "pt": Words(
        "sim",
        "não, nao, ainda não, nunca, jamais, pare, cancela",
        "mas, e",
        "para, nada, espera, depois, talvez, ou, se, quando",
    ),
    "ro": Words("da", "nu, niciodată, stop, oprește", "dar, și", "așteaptă"),
    "ru": Words(
        "да",
        "нет, не, не надо, нельзя, никогда, стоп, стой, хватит, отмена",
        "но, и",
        "ничего, без, подожди, потом, если",
    ),
    "sk": Words("áno", "nie, nikdy, stop, prestaň, zastav", "ale, a", "počkaj"),
    "sl": Words("da, ja", "ne, nikoli, stop, nehaj, ustavi", "ampak, in", "počakaj"),
    "sr": Words(
        "да, da",
        "не, ne, немој, nemoj, никад, nikad, стани, stani",
        "али, ali, и, i",
        "чекај, čekaj",
    ),
    "sv": Words(
        "ja", "nej, inte, aldrig, stopp, sluta", "men, och", "ingen, inga, vänta"
    ),
    "tr": Words(
        "evet",
        "hayır, hayir, asla, dur, durun, yapma, yapmayın, istemiyorum, olmaz, sakın",
        "ama, ve",
        "değil, yok, bekle, sonra",
    ),
    "uk": Words("так", "ні, не, ніколи, стоп, стій", "але, і, та", "зачекай"),
    "vi": Words("có, vâng, đồng ý", "không, đừng, dừng, dừng lại", "nhưng, và", "chờ"),
    "zh": Words(
        "是, 是的, 好, 好的, 可以, 同意",
        "不, 否, 不行, 不要, 不可以, 不同意, 别, 別, 停, 停止, 停下, 取消",
        "但是, 但, 而且, 并且",
        "没, 沒, 勿, 莫, 无, 無, 非, 等, 如果, 再说",
    ),
}
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘‛`´ʹʻʼʽˈˊˋ′‵ꞌ΄՚׳᾽᾿", "'"))
_ASKS = re.compile("[?;¿‽؟՞]")  # A semicolon is how Greek asks.
# What parts an answer. A hyphen does so between blanks only: "ok-ish" is one word.
_MARKS = re.compile(
    r"""[.!,()\[\]"“”„«»「」،、。\n–—]+|(?<!\w)'+|'+(?!\w)|\s-+(?=\s)"""
)
# What stands between blanks: neither signs nor Chinese, Japanese, Korean.
_SPACED = re.compile("(?![\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3])\\w")


def consent_of(text: str, language: str = "") -> Consent:
    """What an answer to a checkpoint means; `language` is that of the locale: `de`."""
    said = _plain(text).replace("\r\n", "\n").strip()
    if unseen(said, kept="\n\t") or _ASKS.search(said):
        return Consent.UNCLEAR
    said = " ".join(_MARKS.sub(" , ", said).replace(":", " : ").split()).strip(" ,")
    yes, no, joins, denials = _expressions(language)
    if agreed := re.fullmatch(f"(?:{yes}(?:, )*)++({joins}(.*))?", f"{said} "):
        if agreed[1] is None:
            return Consent.YES
        denied = not agreed[2] or re.search(denials, agreed[2])
        return Consent.UNCLEAR if denied else Consent.ADVICE
    if refused := re.fullmatch(f"({no})\\1*((?:[,:]|{joins}).*)?", f"{said} "):
        parts = re.split("[,:]", refused[2] or "")
        is_back = any(re.match(f" ?(?:{joins})?{yes}", part) for part in parts)
        return Consent.UNCLEAR if is_back else Consent.NO
    return Consent.UNCLEAR


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text.translate(_APOSTROPHES)).casefold()


def _phrases(*listed: str) -> list[str]:
    """The phrases in lists of them, the longest first."""
    found = {phrase.strip() for each in listed for phrase in _plain(each).split(",")}
    return sorted(found - {""}, key=len, reverse=True)


@cache
def _expressions(language: str) -> tuple[str, str, str, str]:
    """Expressions for a yes, a no, what joins more, and what more may not have.

    That is a no of any language: people mix them, and their locale may be English.
    """
    own = _LANGUAGES.get(language, _ENGLISH)
    yes = _any_of(_ENGLISH.yes, own.yes)
    no = _any_of(_ENGLISH.no, own.no)
    joined = (
        re.escape(join) + (" " if _SPACED.match(join) else "")
        for join in _phrases(":", _ENGLISH.joins, own.joins)
    )
    nos = (each.no for each in (_ENGLISH, *_LANGUAGES.values()))
    denied = _phrases(*nos, _ENGLISH.holds, own.holds)
    words = [re.escape(phrase) for phrase in denied if _SPACED.match(phrase)]
    signs = [re.escape(phrase) for phrase in denied if not _SPACED.match(phrase)]
    denials = rf"(?<![^\W_])(?:{'|'.join(words)}|\w+n't)(?![^\W_])|{'|'.join(signs)}"
    return yes, no, f"(?>{'|'.join(joined)})[ ,]*+", denials


def _any_of(*listed: str) -> str:
    """An expression for one of these phrases, and the blank after it."""
    return f"(?>(?:{'|'.join(map(re.escape, _phrases(*listed)))}) )"
