"""What secrets look like: keys by their vendor's prefix, and values by what they are assigned to.

Every quantifier is bounded, and runs of one class cannot begin inside themselves, so that matching takes
linear time whatever the text. The secret itself is the group ``secret``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from libs.language.stopwords import word_set

PLACEHOLDER = re.compile(r"\[secret:[a-z_]{1,32}\]")
"""What stands in a secret's place; it is never taken for a secret again."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One way in which a secret stands in a text."""

    kind: str
    hints: tuple[str, ...]
    """Pieces, in lower case, of which one must be in a text for the pattern to be tried at all."""
    pattern: re.Pattern[str]
    accepts: Callable[[re.Match[str]], bool]
    """Whether what the pattern found is a secret and not a word, a variable or an example."""


def _any(_: re.Match[str]) -> bool:
    return True


def _mixed(match: re.Match[str]) -> bool:
    """Letters and digits: a token, not words joined by hyphens."""
    return looks_random(match["secret"])


def _token(kind: str, *starts: str, body: str = "A-Za-z0-9_-", least: int = 20, most: int = 255) -> Shape:
    """A key that shows its vendor by how it starts."""
    alternatives = "|".join(map(re.escape, starts))
    pattern = re.compile(rf"(?<![A-Za-z0-9])(?P<secret>(?:{alternatives})[{body}]{{{least},{most}}})")
    return Shape(kind, tuple(start.lower() for start in starts), pattern, _mixed)


def _shape(kind: str, hint: str, pattern: str, accepts: Callable[[re.Match[str]], bool] = _any) -> Shape:
    return Shape(kind, (hint,), re.compile(pattern), accepts)


VENDORS = (
    _token("aws_key", "AKIA", "ASIA", "ABIA", "ACCA", body="A-Z0-9", least=16, most=16),
    _token("github_token", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", least=22),
    _token("gitlab_token", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glagent-", "glsoat-", "glffct-"),
    _token(
        "slack_token", "xoxa-", "xoxb-", "xoxe-", "xoxe.xox", "xoxp-", "xoxr-", "xoxs-", "xapp-", least=10
    ),
    _token(
        "stripe_key", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_", body="A-Za-z0-9+/=", least=16
    ),
    _token("anthropic_key", "sk-ant-"),
    _token("openai_key", "sk-"),
    _token("google_key", "AIza", "GOCSPX-", "ya29.", "1//0", least=20, most=512),
    _token("groq_key", "gsk_", least=30),
    _token("xai_key", "xai-", least=30),
    _token("perplexity_key", "pplx-", least=30),
    _token("replicate_key", "r8_", least=30),
    _token("huggingface_token", "hf_", "api_org_", body="A-Za-z0-9", least=30),
    _token("npm_token", "npm_", body="A-Za-z0-9", least=36),
    _token("pypi_token", "pypi-", least=50, most=512),
    _token("rubygems_key", "rubygems_", body="a-f0-9", least=48),
    _token("docker_token", "dckr_pat_", "dckr_oat_"),
    _token("sendgrid_key", "SG.", body="A-Za-z0-9_.-", least=40),
    _token("mailgun_key", "key-", body="a-f0-9", least=32, most=32),
    _token("twilio_key", "SK", body="a-f0-9", least=32, most=32),
    _token("digitalocean_token", "dop_v1_", "doo_v1_", "dor_v1_", body="a-f0-9", least=60),
    _token("databricks_token", "dapi", body="a-f0-9-", least=32),
    _token("shopify_token", "shpat_", "shpca_", "shppa_", "shpss_", body="A-Fa-f0-9", least=32),
    _token("square_token", "sq0atp-", "sq0csp-", "EAAA", least=22),
    _token("atlassian_token", "ATATT3", "ATCTT3", body="A-Za-z0-9_=-", least=40, most=512),
    _token("airtable_token", "pat", body="A-Za-z0-9.", least=70, most=90),
    _token("linear_key", "lin_api_", "lin_oauth_", least=32),
    _token("notion_token", "ntn_", "secret_", body="A-Za-z0-9", least=40),
    _token("figma_token", "figd_", "figo_"),
    _token("vault_token", "hvs.", "hvb.", "hvr.", least=24),
    _token("doppler_token", "dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", least=40, body="A-Za-z0-9._-"),
    _token("grafana_token", "glsa_", "glc_", body="A-Za-z0-9_+/=", least=32),
    _token("newrelic_key", "NRAK-", "NRJS-", body="A-Za-z0-9", least=19),
    _token("sentry_token", "sntrys_", "sntryu_", body="A-Za-z0-9_+/=", least=32, most=512),
    _token("supabase_key", "sbp_", "sb_secret_", least=30),
    _token("planetscale_token", "pscale_pw_", "pscale_tkn_", "pscale_oauth_", body="A-Za-z0-9_.-", least=32),
    _token("postman_key", "PMAK-"),
    _token("tailscale_key", "tskey-"),
    _token("netlify_token", "nfp_", least=36),
    _token("terraform_token", "atlasv1.", least=60),
    _token("age_key", "AGE-SECRET-KEY-1", body="A-Z0-9", least=50),
    _token("pluggedin_key", "pg_in_"),
    _token("treering_key", "tr_", least=64),
    _shape(
        "telegram_token",
        ":aa",
        r"(?<![A-Za-z0-9])(?P<secret>[0-9]{8,10}:AA[A-Za-z0-9_-]{33})(?![A-Za-z0-9_-])",
    ),
    _shape(
        "discord_token",
        ".",
        r"(?<![A-Za-z0-9_-])(?P<secret>[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})(?![A-Za-z0-9_-])",
        _mixed,
    ),
    _shape(
        "webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/]{20,128})",
    ),
    _shape("webhook", "/api/webhooks/", r"/api/webhooks/(?P<secret>[0-9]{10,24}/[A-Za-z0-9_-]{30,128})"),
    _shape(
        "private_key",
        "private key",
        r"(?P<secret>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:"
        r"(?:(?!-----)[\s\S]){0,20000}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"|(?:(?:\\r|\\n|\s){1,6}[A-Za-z0-9+/=]{16,8192}){0,400}))",
    ),
    _shape(
        "jwt",
        "eyj",
        r"(?<![A-Za-z0-9_-])(?P<secret>eyJ[A-Za-z0-9_-]{8,8192}(?:\.[A-Za-z0-9_-]{0,16384}){1,4})",
    ),
)

# --- values that are secret because of what they are assigned to ---

_VALUE = (
    r"(?:\"(?P<double>[^\"\n]{4,512})\"|'(?P<single>[^'\n]{4,512})'"
    r"|(?P<bare>[^\s\"'`,;&<>\[]?[^\s\"'`,;&<>]{2,511}[^\s\"'`,;&<>.:)\]}?]))"
)
_SUFFIX = r"(?P<suffix>(?:[_-][A-Za-z0-9_-]{1,32}|[A-Z0-9][A-Za-z0-9]{0,32})?)"
_ASSIGNED = r"[\"'\]]{0,2}(?P<by>\s{0,4}(?::=|=>|=|:)\s{0,4}|>)"
_PASSWORDS = r"(?i:password|passwd|passphrase|passcode|pwd|(?<![A-Za-z])pass)"
_SECRETS = (
    r"(?i:secret|api[_ -]?key|access[_-]?key|auth[_-]?key|private[_-]?key|account[_-]?key|signing[_-]?key"
    r"|encryption[_-]?key|master[_-]?key|(?<![A-Za-z])token|[_-]token|(?:auth|access|refresh|bearer|id|bot|api)token"
    r"|credentials?|(?<![A-Za-z])(?:auth|jwt|sig)(?![A-Za-z]))"
)
_KEYS = r"(?i:key|salt|signature|license)"
_SECRET_HINTS = ("secret", "key", "token", "credential", "auth", "jwt", "sig")

_HARMLESS_SUFFIXES = word_set(
    """
    type count limit name id ids url uri path file length policy field label version expires expiry ttl
    size hint reset arn ref format manager store
    """
)
"""What follows the word in the name of something that is about a secret but is none: ``token_type``."""
_HARMLESS_WORDS = word_set(
    """
    required optional string none null true false missing invalid incorrect wrong expired empty unknown
    changed reset hidden redacted undefined disabled enabled text bytes number password secret token
    here correct forgotten protected field changeme example placeholder xxxx todo basic bearer
    """
)
_STANDS_FOR_A_VALUE = re.compile(
    r"\$[{(]|\$[A-Z_][A-Z0-9_]*\Z|\$\w*(?i:pass|pwd|secret|token|key)\w*\Z|%\w+%|%s|%\(|\{\{|\{[a-z_.]+\}|<[^>]*>"
    r"|\[[A-Za-z _-]*\]|\*{3}|x{4,}\Z|\.{3}|•|(?:os|process|self|this|config|settings|env)\."
    r"|[A-Za-z_][\w.]*[(\[]\Z|[A-Za-z]\w*[._]\w*\("
)
"""A variable, a template, a call, an ellipsis: a place where a secret would come."""
_UUID = re.compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
_HEX = re.compile(r"[0-9A-Fa-f]+")


def looks_random(value: str) -> bool:
    """Letters and digits together, as in no word."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _value(match: re.Match[str]) -> str:
    return match["double"] or match["single"] or match["bare"]


def _is_value(match: re.Match[str]) -> bool:
    """Whether a value, and not a word about values, was assigned to something secret."""
    value = _value(match)
    if PLACEHOLDER.match(value) or value.strip(".!*").lower() in _HARMLESS_WORDS:
        return False
    if match["suffix"].strip("_-").replace("-", "_").lower().rsplit("_")[-1] in _HARMLESS_SUFFIXES:
        return False
    return not _STANDS_FOR_A_VALUE.match(value)


def _is_password(match: re.Match[str]) -> bool:
    """After ``=`` or in quotes nearly anything is a password; after a colon words may follow."""
    if not _is_value(match):
        return False
    bare, by = match["bare"], match["by"].strip()
    if bare is None:
        return True
    if bare[0] in "/~.":
        return False
    rest = match.string[match.end() : match.end() + 1]
    return by in ("=", ":=", "=>", ">") or looks_strange(bare) or rest in ("", "\n", "\r")


def looks_strange(value: str) -> bool:
    """A digit or a sign among at least six characters: no word of a sentence."""
    return len(value) >= 6 and any(not char.isalpha() and char not in "-'’./" for char in value)


def _is_secret(match: re.Match[str]) -> bool:
    """One word of at least eight characters that is random, or of sixteen in quotes."""
    value = _value(match)
    if not _is_value(match) or len(value) < 8 or " " in value:
        return False
    return looks_random(value) or (match["bare"] is None and len(value) >= 16)


def _is_key(match: re.Match[str]) -> bool:
    """Long, in upper and lower case with digits: random, and neither a hash nor an id."""
    value = _value(match)
    if not _is_value(match) or len(value) < 20 or _UUID.fullmatch(value) or _HEX.fullmatch(value):
        return False
    cases = (str.isupper, str.islower, str.isdigit)
    return " " not in value and "/" not in value[:1] and all(any(map(case, value)) for case in cases)


def _is_told(match: re.Match[str]) -> bool:
    return looks_strange(match["bare"]) and not PLACEHOLDER.match(match["bare"])


def _is_login(match: re.Match[str]) -> bool:
    return not _STANDS_FOR_A_VALUE.match(match["secret"])


def _is_user_login(match: re.Match[str]) -> bool:
    """After ``-u`` a user and a password stand, or two numbers: a user and a group."""
    return _is_login(match) and any(map(str.isalpha, match["secret"]))


_HEADER = r"(?i:authorization)[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?i:basic|token|digest|apikey)\s{1,4}"

ASSIGNMENTS = (
    _shape("bearer", "bearer", r"(?i:bearer)\s{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,4096})", _mixed),
    _shape("basic", "authorization", _HEADER + r"(?P<secret>[A-Za-z0-9._~+/=-]{8,4096})"),
    _shape("url_password", "://", r"(?<=://)[^\s:/?#@]{0,128}:(?P<secret>[^\s/?#]{1,256})@", _is_login),
    _shape("url_token", "://", r"(?<=://)(?P<secret>[A-Za-z0-9_-]{20,255})@", _mixed),
    _shape(
        "password",
        "-u",
        r"(?:-u|--user)[ =]{1,2}[\"']?[^\s:\"']{1,64}:(?P<secret>[^\s\"']{4,256})",
        _is_user_login,
    ),
    Shape(
        "password",
        ("pass", "pwd"),
        re.compile(rf"{_PASSWORDS}{_SUFFIX}{_ASSIGNED}(?P<secret>{_VALUE})"),
        _is_password,
    ),
    Shape(
        "password",
        ("pass", "pwd"),
        re.compile(rf"{_PASSWORDS}(?i: is| was| to|:)? {{1,2}}(?P<secret>{_VALUE})"),
        lambda match: match["bare"] is not None and _is_told(match),
    ),
    Shape(
        "secret",
        _SECRET_HINTS,
        re.compile(rf"{_SECRETS}{_SUFFIX}{_ASSIGNED}(?P<secret>{_VALUE})"),
        _is_secret,
    ),
    Shape(
        "secret",
        _SECRET_HINTS,
        re.compile(
            rf"(?:--{_SECRETS}|{_SECRETS} (?:is|was))(?P<suffix>)(?P<by>) {{1,2}}(?P<secret>{_VALUE})"
        ),
        _is_secret,
    ),
    Shape(
        "secret",
        ("key", "salt", "signature", "license"),
        re.compile(rf"{_KEYS}{_SUFFIX}{_ASSIGNED}(?P<secret>{_VALUE})"),
        _is_key,
    ),
)

SHAPES = VENDORS + ASSIGNMENTS
