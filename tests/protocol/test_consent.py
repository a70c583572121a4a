"""What a person means at a checkpoint: it goes on after a yes, and nothing else."""

# ruff: noqa: RUF001 - other languages have letters of their own.

import pytest

from bridge.config import language
from bridge.protocol.consent import _ENGLISH, _LANGUAGES, Consent, consent_of

YES = (
    "yes", "Yes.", "Y", "YES!", "ok", "okay", "go", "go on", "Go ahead!", "approved",
    "LGTM", "sure", '"yes"', "“yes”", "`yes`", "\uff59\uff45\uff53", "  yes\r\n",
    "ok, go on", "yes, yes, yes", "yes please",
)  # fmt: skip
ADVICE = (
    "yes but rename it", "yes, but rename it", "Yes - and small steps", "yes, but: a",
    "ok: in src only", "yes\nand then the tests", "y, but just the first",
    "yes (but the second)", "yes, because it knows another node, now",
)  # fmt: skip
NO = (
    "no", "No.", "n", "N!", "nope", "stop", "don't", "don\u2019t", "don\u2018t",
    "don\u00b4t", "don\u02bct", "don`t", "do not", "not yet", "halt", "\N{CROSS MARK}",
    "no, not yet", "no because it breaks", "no, no", "no no", "no but later", "never",
    "cancel", "no: stop", "no, it is not a go",
)  # fmt: skip
# What begins like one of them, says both, asks back, or says nothing.
UNCLEAR = (
    "", "  ", ".", "\n", "yesterday", "go away", "okayish", "ok?", "yes, really?",
    "y/n",
    "yes/no", "yes-no", "yes—no", "yes or no", "yes no", "yes, no", "no, yes",
    "yes don't", "ok stop", "yes but no", "yes, but stop", "yes, wait",
    "yes if it passes",
    "yes, rename it. No, stop!", "not yes", "no problem", "don't worry", "none", "now",
    "nein", "ja", "jain", "maybe", "fine", "1", "true", "yes rename it",
    "\N{THUMBS UP SIGN}",
    "yes\0", "ye\x1b[Ds", "y\u200bes", "\u0443es", "yes and no", "no\nyes", "I say yes",
    "don't stop", "do not cancel", "no, go on",
    # Other words after a yes need a word that joins them …
    "yes, slowly", "yes, hmm, stop the run", "yes, I said no", "yes, actually no",
    "yes, I disagree", "ok, hang on", "ok, halt", "ok, forget it",
    "yes, \N{CROSS MARK}",
    # … and then some,
    "yes, but", "yes and", "yes:", "yes :(",
    # none of which takes it back,
    "yes, but hmm, don\u2018t touch it", "yes, but I can\u00b4t agree",
    "yes, but it isn`t", "yes, but dont", "yes and I said no", "yes: actually, no",
    "yes, but hang on", "yes: halt", "yes, but _not_ this", "yes, but (no)",
    "yes, but no-one", "yes, but \N{CROSS MARK}", "yes, and go on if it passes",
    # or asks, or does not show.
    "yes, but why? go on", "yes;", "yes, n\u200bo", "yes, but n\u200bo",
    "yes, but n\u034fo", "yes, but n\u00ado", "no\u200b",
)  # fmt: skip


MEANT = {
    **dict.fromkeys(YES, Consent.YES),
    **dict.fromkeys(ADVICE, Consent.ADVICE),
    **dict.fromkeys(NO, Consent.NO),
    **dict.fromkeys(UNCLEAR, Consent.UNCLEAR),
}


@pytest.mark.parametrize(("text", "meant"), MEANT.items())
def test_only_a_yes_is_a_yes(text, meant):
    """A run that goes on after a stop does what cannot be undone."""
    assert consent_of(text) is meant


# Of all words of all languages: in the tests below.
LANGUAGES = [
    ("de", "Ja", "Nein!", "jain"),
    ("de", "ja, aber mit Tests", "noch nicht", "ja, wenn es geht"),
    ("es", "sí", "no", "si pasa"),
    ("el", "ναι", "όχι", "ναι;"),
    ("ja", "はい\u3000でも\u3000先に", "やめて", "はい、やめて"),
    ("zh", "好的\uff0c但改名", "不要", "是不是"),
    ("zh", "可以", "停", "好的\uff0c但现在不行"),
    ("tr", "EVET", "HAYIR", "evet, stop"),
    ("ru", "Да", "нет", "да нет"),
    ("hi", "हाँ", "नहीं", "हाँ नहीं"),
    ("xx", "yes", "no", "ja"),
]


@pytest.mark.parametrize(("here", "yes", "no", "neither"), LANGUAGES)
def test_ones_own_language_counts_beside_english(here, yes, no, neither):
    assert consent_of(yes, here) in (Consent.YES, Consent.ADVICE)
    assert consent_of(no, here) is Consent.NO
    assert consent_of(neither, here) is Consent.UNCLEAR


OFTEN = ("en", "de", "zh")


@pytest.mark.parametrize(
    "here",
    [
        *OFTEN,
        *(
            pytest.param(each, marks=pytest.mark.full)
            for each in _LANGUAGES
            if each not in OFTEN
        ),
    ],
)
def test_a_yes_with_a_no_of_any_language_is_no_yes(here):
    """People mix languages, and a locale says little about who types."""
    own = _LANGUAGES.get(here, _ENGLISH)
    nos = {no for each in (_ENGLISH, *_LANGUAGES.values()) for no in listed(each.no)}
    yeses = [yes + mark for yes in listed(own.yes) for mark in (" ", ", ", ": ", "\n")]
    joins = [
        "",
        *(f"{join} {more}" for join in listed(own.joins) for more in ("", "hmm, ")),
    ]

    went_on = [
        said
        for yes in yeses
        for join in joins
        for no in nos
        if consent_of(said := f"{yes}{join}{no}", here) in (Consent.YES, Consent.ADVICE)
    ]

    assert went_on == []


@pytest.mark.parametrize("here", ["en", *_LANGUAGES])
def test_each_listed_word_says_what_its_list_says(here):
    """None of a language says both, and each advice can be given."""
    own = _LANGUAGES.get(here, _ENGLISH)

    for yes in listed(own.yes):
        assert consent_of(yes, here) is Consent.YES
        for join in listed(own.joins):
            assert consent_of(f"{yes}, {join} src", here) is Consent.ADVICE
        for hold in listed(own.holds):
            assert consent_of(f"{yes}: {hold}", here) is Consent.UNCLEAR
    for no in listed(own.no):
        assert consent_of(no, here) is Consent.NO


def listed(phrases: str) -> list[str]:
    return [phrase.strip() for phrase in phrases.split(",") if phrase.strip()]


LOCALES = [
    ({}, ""),
    ({"LANG": "C"}, ""),
    ({"LANG": "C.UTF-8"}, ""),
    ({"LANG": "POSIX"}, ""),
    ({"LANG": "de_DE.UTF-8"}, "de"),
    ({"LANG": "sr@latin"}, "sr"),
    ({"LANG": "de_DE", "LC_MESSAGES": "fr.UTF-8", "LC_ALL": ""}, "fr"),
    ({"LANG": "de_DE", "LC_MESSAGES": "fr_FR", "LC_ALL": "en_US.UTF-8"}, "en"),
]


@pytest.mark.parametrize(("env", "here"), LOCALES)
def test_the_locale_says_which_language(env, here):
    assert language(env) == here
