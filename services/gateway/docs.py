"""The docs page: OpenAPI as people read it. One file, no script, nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Final

from services.gateway.bodies import JSON
from services.gateway.rules import Schema

POLICY: Final = (
    "default-src 'none'; style-src {style}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
ELSEWHERE: Final = """\
For programs: <a href="/openapi.json">openapi.json</a>. For agents: MCP at <code>/mcp</code>."""
VERBS: Final = ("get", "post", "put", "patch", "delete")
EXAMPLES: Final = {"string": "…", "integer": 1, "number": 0.5, "boolean": True}
ID_EXAMPLE: Final = "0198e7a0-0000-7000-8000-000000000001"
TIME_EXAMPLE: Final = "2026-01-31T12:00:00Z"


@dataclass(frozen=True, slots=True)
class Page:
    """A page and the policy that lets a browser show it and nothing else."""

    html: str
    policy: str


def page(document: Schema) -> Page:
    """Render an OpenAPI document."""
    style = (importlib.resources.files("services.gateway") / "docs.css").read_text()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return Page(_html(document, style), POLICY.format(style=f"'sha256-{digest}'"))


def _html(document: Schema, style: str) -> str:
    info = document["info"]
    title = escape(f"{info['title']} {info['version']}")
    return "".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title><style>{style}</style></head><body><h1>{title}</h1>",
            f"{_prose(info['description'])}<p>{ELSEWHERE}</p>",
            *_sections(document),
            "</body></html>",
        ]
    )


def _sections(document: Schema) -> Iterator[str]:
    operations = [
        (verb, path, there[verb])
        for path, there in document["paths"].items()
        for verb in VERBS
        if verb in there
    ]
    for tag in document["tags"]:
        yield f"<h2>{escape(tag['name'])}</h2>{_prose(tag['description'])}"
        for verb, path, operation in operations:
            if tag["name"] in operation["tags"]:
                yield from _operation(verb, path, operation, document)


def _operation(verb: str, path: str, operation: Schema, document: Schema) -> Iterator[str]:
    yield f'<details id="{escape(operation["operationId"])}"><summary>'
    yield f'<span class="verb">{verb.upper()}</span> '
    yield f"<code>{escape(path)}</code> {escape(operation['summary'])}</summary><div>"
    yield _prose(operation["description"])
    body: Schema = operation.get("requestBody", {}).get("content", {}).get(JSON, {}).get("schema", {})
    yield from _table(
        "Parameters", [_row(each, each["schema"], each["required"]) for each in operation["parameters"]]
    )
    yield from _table("Body", _rows(body))
    yield f"<h4>Example</h4><pre>{escape(_curl(verb, path, body, document))}</pre>"
    answer: Schema = operation["responses"]["200"]["content"].get(JSON, {}).get("schema", {})
    yield from _table("Answer", _rows(_resolved(answer, document)))
    yield "</div></details>"


def _rows(schema: Schema) -> list[str]:
    required = schema.get("required", ())
    return [
        _row({"name": name, **each}, each, name in required)
        for name, each in schema.get("properties", {}).items()
    ]


def _row(said: Schema, schema: Schema, required: bool) -> str:
    name = f"<code>{escape(said['name'])}</code>{' *' if required else ''}"
    cells = (name, escape(_kind(schema)), _prose(said.get("description", "")))
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _table(title: str, rows: list[str]) -> Iterator[str]:
    if rows:
        heads = "<tr><th>Field</th><th>Type</th><th>What it is</th></tr>"
        yield f"<h4>{title}</h4><table>{heads}{''.join(rows)}</table>"


def _kind(schema: Schema) -> str:
    if "$ref" in schema:
        return schema["$ref"].rpartition(".")[2].rpartition("/")[2]
    kinds = schema.get("type", "any")
    kind = " or ".join(each for each in kinds if each != "null") if isinstance(kinds, list) else kinds
    if kind == "array":
        return f"array of {_kind(schema['items'])}"
    return f"{kind} ({schema['format']})" if "format" in schema else kind


def _curl(verb: str, path: str, body: Schema, document: Schema) -> str:
    url = re.sub(r"\{[^}]+\}", ID_EXAMPLE, path)
    lines = [f"curl -X {verb.upper()} $TREERING{url}", "-H 'Authorization: Bearer '$KEY"]
    if body:
        example = {name: _example(body["properties"][name], document) for name in body.get("required", ())}
        lines += [f"-H 'Content-Type: {JSON}'", f"-d '{json.dumps(example, ensure_ascii=False)}'"]
    return " \\\n  ".join(lines)


def _example(schema: Schema, document: Schema) -> object:
    """A value that a field might have."""
    schema = _resolved(schema, document)
    if "enum" in schema:
        return schema["enum"][-1]
    if schema.get("format") == "uuid":
        return ID_EXAMPLE
    if schema.get("format") == "date-time":
        return TIME_EXAMPLE
    if schema.get("type") == "array":
        return [_example(schema["items"], document)]
    if schema.get("type") == "object":
        return {name: _example(schema["properties"][name], document) for name in schema.get("required", ())}
    return EXAMPLES.get(schema.get("type", ""))


def _resolved(schema: Schema, document: Schema) -> Schema:
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"][name] if name else schema


def _prose(text: str) -> str:
    """Text with paragraphs and `code`."""
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
    return f'<p class="about">{marked}</p>' if marked else ""
