"""A query meets a text: in any language, by word, by identifier, by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libs.language.lexemes import (
    PHRASES_MAX,
    QUERY_TERMS_MAX,
    TERMS_MAX,
    Lexer,
    fold_name,
    phrases,
)

LEXER = Lexer()


def meet(query: str, text: str) -> set[str]:
    """The terms by which a query finds a text."""
    return set(LEXER.query_terms(query)) & set(LEXER.terms(text))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("running configurations", "She runs the configuration"),
        ("Where does Caroline's sister live?", "Caroline lives in Bergen"),
        ("cafe in Malmo", "Le CAFÉ à Malmö"),
        ("Strasse", "Die Straße ist gesperrt"),
        ("Versicherungen", "Die Versicherung zahlt nicht"),
        ("réunions", "La réunion est annulée"),
        ("reuniones", "La reunión fue cancelada"),
        ("toplantılar ne zaman", "Bugünkü toplantı ertelendi"),
        ("kitap", "Kitaplarımdan birini Ayşe'ye verdim"),
        ("kitabı nerede", "Masadaki kitap benim değil"),
        ("evde", "Evlerinde çok kedi var"),
        ("ISPARTA", "Isparta'da güller açtı"),
        ("istanbul", "İSTANBUL çok kalabalık"),
        ("Ankara", "Ankara'dan yeni döndük"),
        ("किताब", "मैंने किताबें खरीदीं"),
        ("लड़की", "लड़कियाँ स्कूल जाती हैं"),
        ("كتاب", "الكتاب على الطاولة"),
        ("کتاب", "كتاب‌ها روی میز است"),
        ("می‌خواهم", "میخواهم بروم"),
        ("خانه‌های", "خانه بزرگ است"),
        ("١٢٣", "order 123"),
        ("книги", "Я купил новую книгу"),
        ("ещё", "еще раз"),
        ("ΑΘΗΝΑ", "στην Αθήνα"),
        ("猫", "我家的猫很可爱"),
        ("可爱的猫", "我家的猫很可爱"),
        ("数据库", "我们把数据库迁移到新服务器"),
        ("東京タワー", "昨日、東京タワーに行きました"),
        ("서울", "서울에서 만나요"),
        ("สวัสดี", "เขาพูดว่าสวัสดีครับ"),
        ("Ｐｙｔｈｏｎ", "Python的内存"),
        ("שלום", "שָׁלוֹם עולם"),
    ],
)
def test_a_query_finds_its_text_in_any_language(query: str, text: str) -> None:
    """Inflected, accented, in other spellings, with or without spaces between words."""
    assert meet(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("snake_case", "rename snake_case"),
        ("case", "rename snake_case"),
        ("response", "see parseHTTPResponse()"),
        ("parsehttpresponse", "see parseHTTPResponse()"),
        ("v2.3.1", "pinned to 2.3.1"),
        ("2.3", "pinned to v2.3.1"),
        ("#123", "closes #123"),
        ("123", "closes #123"),
        ("E0425", "error[E0425]: cannot find value"),
        ("config.yaml", "edit /etc/app/config.yaml first"),
        ("/etc/app/config.yaml", "edit /etc/app/config.yaml first"),
        ("jane.doe@example.com", "mail jane.doe@example.com"),
        ("doe", "mail jane.doe@example.com"),
        ("3000", "cost 3,000.50 euros"),
        ("C++", "written in C++, not C"),
        ("email", "send an e-mail"),
        ("192.168.0.1", "ping 192.168.0.1"),
        ("std::vector", "a std::vector of ints"),
        ("🦊", "the 🦊 team"),
    ],
)
def test_an_identifier_is_found_whole_and_by_its_parts(query: str, text: str) -> None:
    """Names of code, versions, numbers of issues, paths, addresses, amounts."""
    assert meet(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("the and of", "the and of"),
        ("C++", "the C language"),
        ("E0425", "E0426"),
        ("car", "careful"),
        ("2.3.1", "2.4.1"),
    ],
)
def test_what_differs_does_not_meet(query: str, text: str) -> None:
    """Stop words are no terms; a neighbour is not a match."""
    assert not meet(query, text)


def test_an_english_text_has_no_truncation_stems() -> None:
    """Only texts in other languages pay for them."""
    assert LEXER.terms("Where did the internal interpreter go?") == ["internal", "interpret", "go"]


def test_repetition_stays_in_a_text_and_goes_from_a_query() -> None:
    """BM25 counts the one and not the other."""
    assert LEXER.terms("cats chase cats") == ["cat", "chase", "cat"]
    assert LEXER.query_terms("the cats chase the cats")[:2] == ["cat", "chase"]


@pytest.mark.parametrize("query", ["foo &&& bar", "'", ":*", "a <-> b | !c", "\\", "%_", '"', "* OR 1=1 --"])
def test_a_query_has_no_syntax(query: str) -> None:
    """Operators of other search languages are not even terms."""
    assert not any(set("&|!*<>\"'%\\") & set(term) for term in LEXER.query_terms(query))


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "a." * 25_000,
        "a" * 50_000,
        "aA" * 25_000,
        "/a" * 25_000,
        "1," * 25_000,
        "'" * 50_000,
        "#" * 50_000,
        "中" * 50_000,
        "\u200c" * 50_000,
        "\u0301\u0316" * 25_000,
        "\ufdfa" * 50_000,
        " ".join(f"w{number}" for number in range(9_000)),
    ],
)
def test_everything_has_a_limit(text: str) -> None:
    """Hostile texts of 50,000 characters end, within the limits of terms, query terms and phrases."""
    assert len(LEXER.terms(text)) <= TERMS_MAX
    assert len(LEXER.query_terms(text)) <= QUERY_TERMS_MAX
    assert len(phrases(text)) <= PHRASES_MAX
    assert all(len(term) <= 72 for term in LEXER.terms(text))


@given(st.text(max_size=200))
def test_any_text_finds_itself(text: str) -> None:
    """Whatever is indexed of a text is found by asking for the same text; nothing fails, nothing is empty."""
    asked, kept = LEXER.query_terms(text), LEXER.terms(text)

    assert all(asked)
    assert not kept or set(asked) & set(kept)


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        ("  José_O'Brien-Smith ", "josé o brien smith"),
        ("JOSE\u0301", "josé"),
        ("İstanbul", "istanbul"),
        ("STRASSE", "strasse"),
        ("straße", "strasse"),
        ("C++", "c++"),
        ("node.js", "node js"),
        ("ＡＢＣ", "abc"),
        ("علي", "علی"),
        ("🦊", "🦊"),
        ("!!!", "!!!"),
    ],
)
def test_a_name_has_one_folded_form(name: str, folded: str) -> None:
    """Case, width, spelling and separators are folded; folding twice changes nothing."""
    assert fold_name(name) == folded
    assert fold_name(folded) == folded


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("Caroline", "What is Caroline's dog called?"),
        ("mary ann o'brien", "ask Mary-Ann O’Brien about it"),
        ("C++", "who knows C++?"),
        ("billing_service", "is the billing service down"),
        ("小明", "小明在哪里工作？"),
        ("علی", "علي کجاست؟"),
        ("🦊", "where is 🦊 now"),
        ("İstanbul ofisi", "istanbul OFİSİ nerede"),
    ],
)
def test_phrases_hold_every_name_in_a_query(name: str, query: str) -> None:
    """A name of up to five words is found in a query by its folded form."""
    assert fold_name(name) in phrases(query)


def test_phrases_are_no_longer_than_asked() -> None:
    """All runs of words up to the longest, each once."""
    assert phrases("a b a", 2) == ["a", "a b", "b", "b a"]
