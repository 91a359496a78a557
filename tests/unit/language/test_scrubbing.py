"""Secrets go, everything else stays. All keys here are made up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libs.language.scrubbing import scrub

MIXED = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"
"""A body as keys have it. Joined to its prefix at run time, so that no scanner takes this file for a leak."""
HEX = "0123456789abcdef" * 4

VENDOR_KEYS = {
    "aws_key": "AKIA" + "IOSFODNN7EXAMPL2",
    "github_token": "ghp" + "_" + MIXED + "abcdefghi",
    "gitlab_token": "glpat" + "-" + MIXED,
    "slack_token": "xoxb" + "-123456789012-" + MIXED,
    "stripe_key": "sk" + "_live_" + MIXED,
    "anthropic_key": "sk-ant" + "-api03-" + MIXED,
    "openai_key": "sk-proj" + "-" + MIXED,
    "google_key": "AIza" + MIXED + "12345678",
    "groq_key": "gsk" + "_" + MIXED * 2,
    "huggingface_token": "hf" + "_" + MIXED + "abcdefgh",
    "npm_token": "npm" + "_" + MIXED + "abcdefghi",
    "pypi_token": "pypi" + "-" + MIXED * 3,
    "sendgrid_key": "SG" + "." + MIXED[:22] + "." + MIXED,
    "twilio_key": "SK" + HEX[:32],
    "digitalocean_token": "dop_v1" + "_" + HEX,
    "shopify_token": "shpat" + "_" + HEX[:32],
    "vault_token": "hvs" + "." + MIXED,
    "telegram_token": "1234567890" + ":AA" + MIXED + "abcdef",
    "jwt": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0." + MIXED,
    "treering_key": "tr" + "_" + MIXED * 3,
    "webhook": "https://hooks.slack.com/services/" + "T00000000/B00000000/" + MIXED,
}


@pytest.mark.parametrize(("kind", "key"), VENDOR_KEYS.items())
def test_a_key_is_known_by_its_vendor(kind: str, key: str) -> None:
    """Wherever it stands in a sentence, and counted under its kind."""
    scrubbed = scrub(f'We used {key}, then "{key}" again.')

    assert key[-20:] not in scrubbed.text
    assert scrubbed.found == {kind: 2}
    assert scrubbed.text.startswith("We used ")
    assert scrubbed.text.endswith(" again.")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("password=hunter2", "password=[secret:password]"),
        ("password: hunter2", "password: [secret:password]"),
        ("my password is hunter2!", "my password is [secret:password]"),
        ("I changed the password to hunter2 today", "I changed the password to [secret:password] today"),
        ("password=$ecret123", "password=[secret:password]"),
        ("password=hunter(2", "password=[secret:password]"),
        ("DB_PASSWORD='correct horse battery'", "DB_PASSWORD='[secret:password]'"),
        ('{"password": "hunter2", "user": "jane"}', '{"password": "[secret:password]", "user": "jane"}'),
        ("<password>hunter2</password>", "<password>[secret:password]</password>"),
        ("psql --password hunter2 -h db", "psql --password [secret:password] -h db"),
        ("curl -u admin:hunter2 https://x.org", "curl -u admin:[secret:password] https://x.org"),
        ("PGPASSWORD=hunter2 psql", "PGPASSWORD=[secret:password] psql"),
        (
            "Server=db;User Id=sa;Password=My$ecret1;Timeout=5",
            "Server=db;User Id=sa;Password=[secret:password];Timeout=5",
        ),
        ("postgres://bob:s3cr%40t@db:5432/app", "postgres://bob:[secret:url_password]@db:5432/app"),
        ("redis://:hunter2@cache", "redis://:[secret:url_password]@cache"),
        ("mongodb+srv://u:p%40ss@c0.mongodb.net/x", "mongodb+srv://u:[secret:url_password]@c0.mongodb.net/x"),
        ("amqp://guest:a@b@mq", "amqp://guest:[secret:url_password]@mq"),
        (f"Authorization: Bearer {MIXED}", "Authorization: Bearer [secret:bearer]"),
        ("Authorization: Basic YWRtaW46aHVudGVyMg==", "Authorization: Basic [secret:basic]"),
        ("api_key = 'a1b2c3d4e5f6'", "api_key = '[secret:secret]'"),
        ("the api key is ABCD1234EFGH5678", "the api key is [secret:secret]"),
        ('"clientSecret": "abcdefghijklmnopqrst"', '"clientSecret": "[secret:secret]"'),
        (f"SECRET_KEY={HEX}", "SECRET_KEY=[secret:secret]"),
        (f"session key: {MIXED}", "session key: [secret:secret]"),
        ("token: 550e8400-e29b-41d4-a716-446655440000", "token: [secret:secret]"),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws_secret_access_key = [secret:secret]",
        ),
    ],
)
def test_a_value_is_secret_by_what_it_is_assigned_to(text: str, left: str) -> None:
    """Assignments, flags, JSON, XML, headers, URLs and connection strings; all around the value stays."""
    assert scrub(text).text == left


@pytest.mark.parametrize("label", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n"])
def test_a_private_key_goes_whole(label: str, newline: str) -> None:
    """With its lines as lines or escaped, as in JSON; what follows stays."""
    body = newline.join(("MIIEowIBAAKCAQEA" + MIXED, "x/Y+" * 16, "abc="))
    pem = f"-----BEGIN {label}PRIVATE KEY-----{newline}{body}{newline}-----END {label}PRIVATE KEY-----"

    assert scrub(f"before {pem} after").text == "before [secret:private_key] after"


def test_a_private_key_that_breaks_off_goes_too() -> None:
    """Without its last line the lines of the key go, the prose behind stays."""
    text = f"-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA{MIXED}\nand then we stopped copying"

    assert scrub(text).text == "[secret:private_key]\nand then we stopped copying"


@pytest.mark.parametrize(
    "text",
    [
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "id 550e8400-e29b-41d4-a716-446655440000",
        f"sha256:{HEX}",
        f"idempotency_key: {HEX}",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA1234567890abcdef==",
        "The password is required.",
        "password: must be at least 12 characters",
        "Forgot your password? Reset it in the settings.",
        "Passwords: we discussed rotation and bcrypt.",
        "the password field, the token budget and the secret to success",
        "password = os.environ['DB_PASSWORD']",
        "password = getpass.getpass()",
        "password=${DB_PASSWORD}",
        "PASSWORD=$DB_PASSWORD",
        "$config->password = $password",
        "password = get_password(user)",
        "password={{ vault.password }}",
        "password=********",
        "password: [secret:password]",
        "PWD=/home/jane/project",
        "token_type: bearer, max_tokens=4096, tokenizer=cl100k_base",
        "sk-learn-estimators-are-nice-and-long",
        "Bearer tokens are sent in the header",
        "Basic authentication is off",
        "docker run -u 1000:1000 image",
        "passport A12345678, compass N45",
        "https://example.org:8080/@scope/package?x=a@b.org",
        "ssh://git@example.org:22/x.git",
        "cache key = user:profile:12",
        "Jane Doe, jane@example.com, +1 555 123 4567, 10.0.0.1, /home/jane/.ssh/config, 4111 1111 1111 1111",
        "Secret Santa: buy a gift for Bob",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
        "ein Schlüssel, une clé, 密码, パスワード",
    ],
)
def test_what_only_looks_secret_stays(text: str) -> None:
    """Hashes, ids, prose, variables and templates; personal data is its owner's."""
    scrubbed = scrub(text)

    assert scrubbed.text == text
    assert not scrubbed.found


def test_kinds_are_counted() -> None:
    """How many of each, once for each place."""
    text = f"password=hunter2 PASSWORD=hunter3 key {VENDOR_KEYS['github_token']}"

    assert scrub(text).found == {"password": 2, "github_token": 1}


def test_overlapping_secrets_are_one() -> None:
    """A vendor's key assigned to a password is one secret and leaves nothing of itself."""
    scrubbed = scrub(f"password={VENDOR_KEYS['openai_key']}")

    assert scrubbed.text.count("[secret:") == 1
    assert sum(scrubbed.found.values()) == 1


PIECES = st.sampled_from(
    (
        *VENDOR_KEYS.values(), "password", "secret", "api_key", "token", "key", "=", ": ", " is ", '"', "'",
        "://", ":", "@", "/", " ", "\n", "hunter2", MIXED, HEX, "Bearer ", "Authorization: Basic ",
        "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----",
        "[secret:", "[secret:password]", "]", "-u ", "a1", "eyJ", ".", "_",
    )
)  # fmt: skip


@given(st.lists(PIECES, max_size=14).map("".join))
def test_scrubbing_twice_changes_nothing_more(text: str) -> None:
    """However secrets, marks and placeholders stand together."""
    once = scrub(text)
    twice = scrub(once.text)

    assert twice.text == once.text
    assert not twice.found


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "piece",
    [
        "password=", 'password:"', "password is ", "pass ", "passworD_", "eyJ-", "eyJ.", "eyJa.", "a1", "M",
        "-----BEGIN ", "-----BEGIN PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAA", "://a:",
        "://", "sk-", "bearer ", "1//0", "AKIA", "key=", 'secret="a1', "-u a:", "hvs.", "xoxe.xox", "0:AA",
        "[secret:", "password=[secret:x]", "tr_a1", "authorization:basic ", "secret=a1b2c3d4 ",
        "hooks.slack.com/services/", " ", "\n", "=", "é",
    ],
)  # fmt: skip
def test_hostile_texts_end(piece: str) -> None:
    """50,000 characters of what the patterns look for are scrubbed, once and for all."""
    once = scrub((piece * 50_000)[:50_000])

    assert scrub(once.text).text == once.text
