"""What says the same in other words, and what only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from services.memory.repetition.likeness import CHARS_MAX, Difference, Likeness

LIKENESS = Likeness()
SAME = (
    ("Restart the worker after every deploy", "After each deploy, restart the worker"),
    ("Restart the worker after every deploy.", "restart the workers after every deployment"),
    ("The build fails when the cache is stale", "When the cache is stale, the build breaks"),
    ("The build fails if the cache is stale", "Builds fail whenever the caches are stale"),
    ("User prefers dark mode in the editor", "The user likes dark mode in their editor"),
    ("Don't deploy on Fridays", "Do not deploy on Friday"),
    ("Never deploy on Fridays", "Please never deploy on a Friday!"),
    ("The API listens on port 5432", "the API is listening on port 5432"),
    ("The API waits 30 seconds", "The API waits for 30s"),
    ("Retry three times", "Retry 3 times"),
    ("Alice manages Bob", "Alice is managing Bob."),
    ("Uploads of 5,000 files fail", "uploads of 5000 files failed"),
    ("Run the migrations before the tests", "Before the tests, run the migrations"),
    ("We must rotate keys monthly", "We have to rotate keys monthly"),
    ("Enable the cache, then restart", "then restart, enable the cache"),
    ("Cafés close early", "Cafes close early"),
    ("Fixed the error in src/main.py", "Repaired the error in src/main.py"),
    ("Keep the DB config in the repo", "Keep the database configuration in the repository"),
    ("It can't connect to Redis", "it cannot connect to redis"),
    ("Delete old logs daily", "Remove old logs daily"),
    ("Wir testen vor dem Release", "wir testen vor dem release!"),
    ("部署前先备份。", "部署前先备份"),
    ("Use tabs, not spaces", "Use tabs and not spaces"),
    ("Version v2.3.1 is out", "version 2.3.1 is out"),
)
CHANGED = (
    ("Speak to the physician about it", "Speak to the doctor about it", "physician", "doctor"),
    ("Park the automobile at home", "Park the car at home", "automobile", "car"),
)
DIFFERENT = (
    ("The API listens on port 5432", "The API listens on port 5433", "number"),
    ("Retry three times", "Retry four times", "number"),
    ("Scale from 2 to 5 replicas", "Scale from 5 to 2 replicas", "order"),
    ("Backups are kept 30 days", "Backups are kept 30 hours", "words"),
    ("The limit is 10 MB", "The limit is 100 MB", "number"),
    ("Released v2.3.1 today", "Released v2.3.2 today", "number"),
    ("Fixes #123", "Fixes #124", "number"),
    ("It costs 5%", "It costs 15%", "number"),
    ("Always run migrations first", "Never run migrations first", "negation"),
    ("Deploy on Fridays", "Do not deploy on Fridays", "negation"),
    ("The service is stable", "The service is unstable", "negation"),
    ("Run with a lock", "Run without a lock", "negation"),
    ("All tests passed except the slow ones", "All tests passed", "negation"),
    ("Only admins may delete", "Admins may delete", "negation"),
    ("It works, do not deploy", "It does not work, deploy", "order"),
    ("She moved to Berlin in May", "She moved to Munich in May", "name"),
    ("The bug is in PostgreSQL", "The bug is in MySQL", "name"),
    ("Alice manages Bob", "Bob manages Alice", "order"),
    ("Alice likes tea", "Bob likes tea", "words"),
    ("Ask Alice first", "Ask Bob first", "name"),
    ("The error is in src/main.py", "The error is in src/test.py", "name"),
    ("Call getUser twice", "Call getUsers twice", "name"),
    ("We deploy on Mondays", "We deploy on Tuesdays", "contrast"),
    ("Backups run at night", "Backups run in the morning", "contrast"),
    ("Run lint before the tests", "Run lint after the tests", "contrast"),
    ("Run lint before the tests", "Before lint run the tests", "order"),
    ("The server calls the client", "The client calls the server", "order"),
    ("Deploy to staging", "Deploy to production", "contrast"),
    ("Enable the cache", "Disable the cache", "contrast"),
    ("Turn the cache on", "Turn the cache off", "contrast"),
    ("Migrate from MySQL", "Migrate to MySQL", "contrast"),
    ("User prefers tea over coffee", "User prefers coffee over tea", "order"),
    ("He loves tea", "She loves tea", "contrast"),
    ("The server was down", "The server is down", "contrast"),
    ("Retries must back off", "Retries may back off", "contrast"),
    ("The invoices are kept in the bucket", "The invoices are kept in the bucket for reports", "words"),
    ("If the cache is cold, the deploy fails", "If the deploy fails, the cache is cold", "order"),
    ("The user is allergic to peanuts", "The user is not allergic to peanuts", "negation"),
    ("Der Dienst läuft", "Der Dienst läuft nicht", "negation"),
    ("服务器可以重启", "服务器不可以重启", "words"),
    ("Alert when x > 5", "Alert when x < 5", "name"),
    ("It is -5 degrees", "It is 5 degrees", "number"),
    ("The demo went 👍", "The demo went 👎", "name"),
    ("👍", "👎", "name"),
    ("yes", "no", "negation"),
    ("and", "or", "words"),
    ("Upload the logs", "Download the logs", "contrast"),
    ("The first replica leads", "The last replica leads", "contrast"),
)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_says_the_same(one: str, other: str) -> None:
    """No word is left over, in either direction."""
    for each in (LIKENESS.compare(one, other), LIKENESS.compare(other, one)):
        assert (each.difference, each.only_one, each.only_other) == (None, (), ())


@pytest.mark.parametrize(("one", "other", "word", "another"), CHANGED)
def test_what_says_the_same_if_its_words_do(one: str, other: str, word: str, another: str) -> None:
    """They are named, for somebody who knows words."""
    found = LIKENESS.compare(one, other)
    assert (found.difference, found.only_one, found.only_other) == (None, (word,), (another,))


@pytest.mark.parametrize(("one", "other", "why"), DIFFERENT)
def test_what_only_looks_alike(one: str, other: str, why: str) -> None:
    """It is kept apart, in either direction, or at least words are left over that differ."""
    for each in (LIKENESS.compare(one, other), LIKENESS.compare(other, one)):
        if why == "words" and each.difference is None:
            assert each.only_one
        else:
            assert each.difference is Difference(why)


@given(some.text(max_size=200))
def test_a_text_says_what_it_says(text: str) -> None:
    """Whatever it is; a long one is never compared."""
    found = LIKENESS.compare(text, text)
    assert (found.difference, found.only_one) == (None, ())
    assert LIKENESS.compare("a" * (CHARS_MAX + 1), "a").difference is Difference.WORDS


@given(some.text(max_size=80), some.text(max_size=80))
def test_likeness_has_no_direction(one: str, other: str) -> None:
    """Either way round it is the same."""
    there, back = LIKENESS.compare(one, other), LIKENESS.compare(other, one)
    assert there.difference is back.difference
    assert (there.only_one, there.only_other) == (back.only_other, back.only_one)
