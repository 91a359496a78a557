"""Words too frequent to be worth a look-up, and words that give a language away."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


ENGLISH = word_set(
    """
    a about above after again against all am an and any are as at be because been before being below
    between both but by can cannot could did do does doing down during each few for from further had has
    have having he her here hers herself him himself his how i if in into is it its itself just me more
    most my myself no nor not now of off on once only or other our ours ourselves out over own same she
    should so some such than that the their theirs them themselves then there these they this those
    through to too under until up very was we were what when where which while who whom why will with
    won would you your yours yourself yourselves
    """
)
"""English function words."""

# Turkish, German, French, Spanish, Portuguese, Italian, Dutch, Swedish, Polish, Indonesian.
_ELSEWHERE = word_set(
    """
    ama bana ben bir biz bu bunu da daha de gibi hangi hem için ile ise kadar kim mi mu mı nasıl ne
    neden nedir nerede olan olarak sen var ve veya yok zaman
    aber auf aus bei bin das dem der des die ein eine einen einer für ich im ist mit nach nicht oder
    sich sie sind und von warum wer wie wir wo zu zum zur
    au aux avec ce cette ces dans des du elle est et il ils je la le les leur mais mon nous ont où par
    pas pour pourquoi quand que quel quelle qui sa ses son sont sur un une vous
    como con cual cuando del donde el ella ellos en entre esta este fue hay las lo los más muy nos para
    pero por porque qué quien se ser sin sobre su sus una unos y ya
    ao com dos ela ele em foi isso mas meu minha não nas nos onde os pela pelo quando quem são seu sua
    uma
    alla che chi come con cosa dal della di dove è gli ha ho nel non perché più quale questo sono tra
    aan bij dat deze dit een het hoe ik is maar met naar niet ook op te uit van voor waar wat wij zijn
    av att det där ej en ett hur inte jag med när och om på som till vad är
    co czy dla do gdzie jak jest już kiedy kto na nie od po się to w z za że
    apa dan dari di dengan ini itu kami untuk pada saya siapa tidak yang
    """
)
ELSEWHERE = _ELSEWHERE - ENGLISH
"""Function words of other languages in Latin letters, none of them English."""
