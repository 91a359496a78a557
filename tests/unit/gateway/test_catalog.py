"""What is read from the compiled protos."""

from __future__ import annotations

import pytest

from services.gateway.catalog import Effect, Tool, UnsupportedMethod, load
from tests.rig.specimen import catalog_of, method

KNOWN = {each.path: each for each in load().methods}


def test_a_method_knows_how_it_is_called() -> None:
    """Paths, types, scope, tool, effect and comment come from the protos as they stand there."""
    search = KNOWN["/treering.memory.v1.MemoryService/Search"]

    assert (search.takes.name, search.gives.name) == ("SearchRequest", "SearchResponse")
    assert [(binding.verb, binding.template.text, binding.body) for binding in search.bindings] == [
        ("POST", "/v1/memories:search", "*")
    ]
    assert Tool("memory_search", "Search memories", destructive=False) == search.tool
    assert (search.scope, search.effect, search.streams) == ("memory:read", Effect.READS, False)
    assert search.comment.startswith("Find memories by meaning and by words.")


def test_what_is_inside_only_has_no_path_and_no_tool() -> None:
    """Checking keys is neither a route nor a tool."""
    verify = KNOWN["/treering.access.v1.VerificationService/VerifyKey"]

    assert (verify.bindings, verify.tool) == ((), None)


@pytest.mark.parametrize(
    "name",
    [
        "treering.memory.v1.MemoryService",
        "treering.memory.v1.MemoryService.Observe",
        "treering.memory.v1.SearchRequest.query",
        "treering.memory.v1.Ring",
        "treering.memory.v1.Ring.RING_SHOCK",
    ],
)
def test_comments_are_found_by_full_name(name: str) -> None:
    """Services, methods, fields, enums and values are explained."""
    assert load().comments[name]


def test_additional_bindings_are_further_ways_to_call() -> None:
    """Each binding of a rule counts, nested fields included."""
    rule = (
        'get: "/v1/trees/{id}" additional_bindings { post: "/v1/leaves/{branch.leaf.name}:grow" body: "*" }'
    )

    bindings = catalog_of(method(rule)).methods[0].bindings

    assert [(each.verb, each.template.fields, each.body) for each in bindings] == [
        ("GET", ("id",), ""),
        ("POST", ("branch.leaf.name",), "*"),
    ]


def test_what_takes_a_stream_is_for_grpc_alone() -> None:
    """It is known, and neither a route nor a tool."""
    (plant,) = catalog_of(method(streams="client_streaming: true")).methods

    assert (plant.bindings, plant.tool) == ((), None)


@pytest.mark.parametrize(
    ("options", "streams", "seconds"),
    [
        ("", "", 30),
        ("", "server_streaming: true", 60),
        ("[treering.options.v1.waits]: true", "", 65),
        ("[treering.options.v1.waits]: true", "server_streaming: true", 65),
    ],
)
def test_a_method_says_how_long_it_may_take(options: str, streams: str, seconds: float) -> None:
    """The doors wait for as long, and no longer."""
    options = f'[treering.options.v1.scope]: "tree:read" {options}'

    (grow,) = catalog_of(method(options=options, streams=streams)).methods

    assert grow.seconds == seconds


@pytest.mark.parametrize(
    ("described", "said"),
    [
        (method('get: "/v1/{id=trees/*}"'), "neither a literal nor a plain {field}"),
        (method('get: "/v1/*"'), "neither a literal"),
        (method('get: "/v1/trees:{id}"'), "at most one final :verb"),
        (method('get: "/v1/{id}/{id}"'), "each field once"),
        (method('get: "/v1/{nothing}"'), "has no field nothing"),
        (method('get: "/v1/{id.name}"'), "has no field id.name"),
        (method('get: "/v1/{branch}"'), "not a single plain value"),
        (method('get: "/v1/{leaves}"'), "not a single plain value"),
        (method('custom { kind: "HEAD" path: "/v1/trees" }'), "only get, put"),
        (method('post: "/v1/trees" body: "id"'), "not a single message"),
        (method('post: "/v1/trees" body: "leaves"'), "not a single message"),
        (method('get: "/v1/trees" body: "*"'), "has no body"),
        (method('get: "/v1/trees" response_body: "id"'), "not a single message"),
        (method('get: "/v1/trees" response_body: "nothing"'), "has no field nothing"),
        (method('get: "/v1/trees"', options=""), "names no scope"),
        (method('post: "/v1/trees" body: "*"', streams="client_streaming: true"), "takes a stream"),
        (
            method(
                streams="client_streaming: true",
                options='[treering.options.v1.scope]: "a" [treering.options.v1.tool] { name: "a" }',
            ),
            "takes a stream",
        ),
        (
            method(
                streams="server_streaming: true",
                options='[treering.options.v1.scope]: "a" [treering.options.v1.tool] { name: "a" }',
            ),
            "which a tool cannot",
        ),
    ],
)
def test_what_is_not_supported_is_refused_by_name(described: str, said: str) -> None:
    """The house does not start with a method that it could only serve in part."""
    with pytest.raises(UnsupportedMethod, match=r"TreeService\.Grow: ") as refused:
        catalog_of(described)

    assert said in str(refused.value)


def test_two_tools_never_share_a_name() -> None:
    """An agent calls a tool by its name alone."""
    options = '[treering.options.v1.scope]: "a" [treering.options.v1.tool] { name: "tree_grow" }'

    with pytest.raises(UnsupportedMethod, match="tree_grow"):
        catalog_of(method(options=options), method(name="Fell", options=options))
