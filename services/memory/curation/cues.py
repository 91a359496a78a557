"""Words that tell what a text is: a disaster, a way of doing something, a habit.

English in some breadth, the strong words of German, French, Spanish, Turkish, Persian, Hindi and Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

CHARS_MAX = 4_000
"""Of a text that are looked at; what it is shows at its beginning."""


class Cue(Enum):
    """What the words of a text speak of."""

    LOSS = "loss"
    OUTAGE = "outage"
    BREACH = "breach"
    HARM = "harm"
    AT_STAKE = "at_stake"
    """What a failure is worse for: production, customers, money."""
    FINAL = "final"
    """That there is no way back."""
    HARMLESS = "harmless"
    """That it was a test, a trifle, or did not happen."""
    HOW_TO = "how_to"
    FIRST = "first"
    NEXT = "next"
    LAST = "last"
    HABIT = "habit"
    NEVER = "never"
    ADVICE = "advice"
    PAST = "past"
    """That something happened once."""


_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")

# A word stands for itself, with a star for all that begin with it.
_WORDS = {
    Cue.LOSS: """
        data loss, lost, lose, gone, wiped, wipe, deleted, erased, destroy*, overwr*, overwritten,
        corrupt*, truncated,
        vanish*, dropped the, was removed, were removed, unreadable, split brain, nothing to restore,
        missing, mixed up
        verloren*, gelöscht, datenverlust*, zerstört, überschrieben, vernichtet, beschädigt
        perdu*, supprimé*, perte de données, effacé*, détruit*, écrasé*
        perdi*, borr*, eliminad*, pérdida de datos, destruid*, sobrescrit*
        silindi, veri kaybı, kayboldu, bozuldu, yok oldu
        پاک شد, از دست رفت, حذف شد, از بین رفت, خراب شد
        मिट गया, खो गया, डिलीट हो, नष्ट, हटा दिया
        误删, 丢失, 删除了, 被删, 损坏, 清空
    """,
    Cue.OUTAGE: """
        outage, downtime, was down, were down, is down, went down, down for, took down, brought down,
        down with it, on fire,
        unreachable, unavailable for
        totalausfall, ausfall, nicht erreichbar, ausgefallen
        panne, en panne, indisponible, tombé
        caída, caído, cayó, fuera de servicio
        çöktü, erişilemez, kesinti*
        از کار افتاد, قطع شد, قطعی
        ठप, बंद हो गय, डाउन
        宕机, 瘫痪, 中断, 崩溃
    """,
    Cue.BREACH: """
        breach*, leak, leaks, leaked, stolen, stole, compromised, hacked, attacker*, ransomware,
        exposed, phish*, malware,
        security incident,
        unauthorised, unauthorized, without login, without password, without a password, public gist,
        public repository, open to the internet, opened to the internet, exfiltrat*, intrusion, private key
        sicherheitsvorfall*, missbraucht, datenleck*, gestohlen, angreifer*, öffentlich einsehbar
        fuite, sans mot de passe, piraté*, volé*, attaquant*
        filtración, filtrad*, hacke*, robad*, atacante*, sin contraseña
        sızıntı*, sızdı*, çalındı, saldırgan*
        نشت, هک, دزدیده, مهاجم
        लीक, हैक, चोरी
        泄露, 攻击者, 被盗, 安全事故, 入侵
    """,
    Cue.HARM: """
        injur*, killed, died, wrist, lawsuit, fined, fraud*, paid twice, charged twice, drained,
        could not be recovered,
        regulator, furious, whole company, wrong dose, doses
        verletzt, strafe, betrug*, bußgeld
        blessé*, amende, fraude*
        herid*, multa, fraude
        yaralan*, ceza
        مجروح, جریمه, زخمی
        घायल, जुर्माना
        受伤, 罚款, 损失
    """,
    Cue.AT_STAKE: """
        production, prod, live, customer*, client*, all users, every tenant, tenants, patient*,
        merchant*, payment*,
        payout*, billing, ledger, invoice*, primary, master key, root key, backup*, secrets, wallet,
        accounts, orders
        produktion*, kunden*, zahlung*, sicherung*, bestellung*
        production, clients, sauvegarde*, paiement*, commandes
        producción, clientes, pagos, pedidos, respaldo*
        üretim*, müşteri*, ödeme*, sipariş*, yedek*
        تولید, مشتری, سفارش, پرداخت, پشتیبان
        प्रोडक्शन, ग्राहक, भुगतान, बैकअप
        生产, 客户, 支付, 订单, 备份, 用户表
    """,
    Cue.FINAL: """
        never again, for ever, forever, for good, irrevers*, unrecoverable, beyond repair, no backup,
        no copy, cannot be undone,
        can not be undone, could not be recovered, irretriev*, all of it, everything, every, total,
        entire, whole, all
        endgültig, unwiderruflich, sämtliche, alle, kein backup
        totale, définitivement, irrécupérable, aucune sauvegarde, tout
        total, todos, todas, irrecuperable
        tamamen, geri getiril*, hiçbir
        همه, برای همیشه, غیرقابل بازگشت
        सारा, हमेशा के लिए, पूरा
        所有, 无法恢复, 永久, 全部
    """,
    Cue.HARMLESS: """
        no data was lost, nothing was lost, without loss, drill*, simulat*, sandbox, exercise,
        unit test, test for,
        temporary, would happen, would have, could have, might, minor, article, blog, prevented,
        avoided, no harm, coffee,
        rehears*, hypothetical*, in theory, tabletop
        übung*, simuliert*, kein datenverlust, testumgebung
        exercice, simul*, sans perte
        simulacro, sin pérdida, de prueba
        tatbikat, deneme ortamı
        تمرین, شبیه‌سازی
        अभ्यास
        演练, 模拟, 没有丢失
    """,
    Cue.HOW_TO: """
        how to, how we, steps to, steps for, the steps, step by step, runbook, playbook, checklist,
        procedure, recipe,
        goes like this, is done, the way to, are made, instructions, sequence,
        set up like, path that
        anleitung*, schritte, vorgehen, ablauf, wird so, so wird
        étapes, procédure, marche à suivre, mode d'emploi
        pasos, cómo, procedimiento, instrucciones
        adımlar*, nasıl yapılır, adım adım, talimat*
        مراحل, روش, چگونه, دستورالعمل
        चरण, कैसे, तरीका
        步骤, 如何, 流程, 操作方法
    """,
    Cue.FIRST: """
        first, firstly, start by, begin by, begin with
        zuerst, zunächst, als erstes
        d'abord, premièrement
        primero
        önce, ilk olarak
        ابتدا, اول
        पहले
        首先, 先
    """,
    Cue.NEXT: """
        then, next, after that, afterwards, second
        dann, danach, anschließend
        ensuite, puis, après
        luego, después
        sonra, ardından
        سپس, بعد
        फिर, उसके बाद
        然后, 接着, 之后
    """,
    Cue.LAST: """
        finally, lastly, at the end, in the end
        zum schluss, schließlich, zuletzt, am ende
        enfin, finalement
        por último, finalmente
        en son, son olarak
        در پایان, در آخر, در نهایت
        अंत में, आखिर में
        最后, 最终
    """,
    Cue.HABIT: """
        always, every time, every single time, each time, whenever, usually, habit, as a rule,
        rule of thumb, best practice,
        from now on, no exceptions, without exception, each morning, each pull request,
        every pull request, by default we,
        we keep, stick to, no longer, prior to, each deploy, every deploy
        immer, grundsätzlich, jedes mal, vor jedem, nach jedem, stets, gewohnheit
        toujours, chaque fois, systématiquement, d'habitude
        siempre, cada vez, por costumbre
        her zaman, daima, her seferinde
        همیشه, هر بار
        हमेशा, हर बार
        总是, 每次, 一定要, 都要
    """,
    Cue.NEVER: """
        never, don't, do not, avoid, must not
        niemals, nie, nicht ohne
        jamais, ne jamais, éviter
        nunca, jamás, evitar
        asla, hiçbir zaman
        هرگز, هیچ‌وقت
        कभी नहीं, कभी मत
        永远不要, 绝不, 切勿, 不要
    """,
    Cue.ADVICE: """
        make sure, remember to, should, prefer, keep, it pays, it is best, best to, double-check,
        before answering,
        ought to, belongs, belong, worth, look at, ask first, ask for
        sollte*, darauf achten, am besten
        il faut, penser à, mieux vaut
        hay que, conviene, es mejor
        gerekir, dikkat et
        باید, بهتر است
        चाहिए
        应该, 必须, 最好
    """,
    Cue.PAST: """
        yesterday, today, last week, last night, this morning, we stopped, once more, now, currently,
        again this
        gestern, heute
        hier, aujourd'hui
        ayer, hoy
        dün, bugün
        امروز, دیروز
        आज, कल
        今天, 昨天
    """,
}


def _listed() -> Iterator[tuple[str, Cue]]:
    for cue, words in _WORDS.items():
        yield from (
            (word.strip(), cue) for line in words.splitlines() for word in line.split(",") if word.strip()
        )


def _parted(word: str) -> bool:
    """Whether its script parts words; those that know no capitals are looked for anywhere."""
    return word[0].isascii() or word[0].lower() != word[0].upper()


def _single() -> dict[str, frozenset[Cue]]:
    """Whole words: a text's own words are looked up, however many are known."""
    known: dict[str, frozenset[Cue]] = {}
    for word, cue in _listed():
        if _parted(word) and _WORD.fullmatch(word):
            known[word] = known.get(word, frozenset()) | {cue}
    return known


def _needles() -> tuple[tuple[str, Cue], ...]:
    """Phrases and beginnings of words, as they stand where single spaces part words."""
    return tuple(
        (f" {word[:-1]}" if word.endswith("*") else f" {word} ", cue)
        for word, cue in _listed()
        if _parted(word) and not _WORD.fullmatch(word)
    )


def _pieces() -> tuple[tuple[str, Cue], ...]:
    """What is looked for anywhere."""
    return tuple((word, cue) for word, cue in _listed() if not _parted(word))


_SINGLE, _NEEDLES, _PIECES = _single(), _needles(), _pieces()
_NUMBERED = re.compile(
    r"(?<![\w.])(?:step\s*)?[1-9۱-۹][.)](?=\s)|(?<!\w)step\s+[1-9]\b|^\s*[-*•]\s+\S",
    re.MULTILINE | re.IGNORECASE,
)
_LINKED = re.compile(r"->|→|&&|;\s")
_LISTED = re.compile(r"[,،、，;](?!\d)")


def cues(text: str) -> frozenset[Cue]:
    """What the words of a text speak of."""
    folded = text[:CHARS_MAX].casefold().replace("’", "'")
    return frozenset(_found(folded))


def _found(folded: str) -> Iterator[Cue]:
    words = _WORD.findall(folded)
    for word in _SINGLE.keys() & set(words):
        yield from _SINGLE[word]
    spaced = f" {' '.join(words)} "
    yield from (cue for needle, cue in _NEEDLES if needle in spaced)
    if not folded.isascii():
        yield from (cue for piece, cue in _PIECES if piece in folded)


def steps(text: str) -> int:
    """How many steps are numbered, bulleted or linked by arrows."""
    text = text[:CHARS_MAX]
    linked = len(_LINKED.findall(text))
    return max(len(_NUMBERED.findall(text)), linked + 1 if linked else 0)


def parts(text: str) -> int:
    """How many parts an enumeration has, if it is one."""
    return 1 + len(_LISTED.findall(text[:CHARS_MAX]))
