"""Queries by name."""

import pytest

from libs.data import sql


def test_a_query_is_found_by_its_name() -> None:
    """Comments under the header stay with the query; what precedes the first header belongs to none."""
    queries = sql.parse("-- A file.\n\n-- name: one\n-- Why.\nSELECT 1;\n\n-- name: two\nSELECT 2;\n")

    assert queries.one == "-- Why.\nSELECT 1;"
    assert list(queries) == [("one", "-- Why.\nSELECT 1;"), ("two", "SELECT 2;")]


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A misspelt query fails where it is asked for, by its name."""
    with pytest.raises(AttributeError, match="'pop'"):
        _ = sql.parse("-- name: push\nSELECT 1;").pop


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("-- name: one\nSELECT 1;\n-- name: one\nSELECT 2;", "a second query named 'one'"),
        ("-- name: one\n-- Only words.\n\n-- name: two\nSELECT 2;", "'one' is empty"),
        ("-- name: One\nSELECT 1;", "lower_case_name"),
        ("--name: one\nSELECT 1;", "lower_case_name"),
        ("-- name:\nSELECT 1;", "lower_case_name"),
    ],
)
def test_a_faulty_file_is_refused(text: str, complaint: str) -> None:
    """Duplicate, empty and misspelt queries are found when the file is read."""
    with pytest.raises(ValueError, match=complaint):
        sql.parse(text)
