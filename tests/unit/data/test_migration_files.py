"""How migration files are read."""

from pathlib import Path

import pytest

from libs.data import migrations


def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **files: str) -> str:
    """A package with these migrations."""
    name = f"rooms_{abs(hash(tmp_path))}"
    folder = tmp_path / name / "migrations"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    for file, text in files.items():
        (folder / f"{file.removeprefix('_')}.sql").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_files_are_read_in_order_after_the_ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers decide; the ground of every schema is number 0."""
    room = package(tmp_path, monkeypatch, _0002_more="SELECT 2", _0001_rows="SELECT 1")

    assert [file.label for file in migrations.read(room, "room")] == ["0000_ground", "0001_rows", "0002_more"]


@pytest.mark.parametrize("names", [("_1_rows",), ("_0001_a", "_0001_b"), ("_0001_Rows",)])
def test_a_faulty_name_or_number_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    """A file that would be skipped or come twice is found at once."""
    room = package(tmp_path, monkeypatch, **dict.fromkeys(names, "SELECT 1"))

    with pytest.raises(ValueError, match=r"migrations|named"):
        migrations.read(room, "room")


def test_a_file_without_transaction_is_parted_at_line_ends() -> None:
    """Only a semicolon that ends a line ends a statement, so that one inside a text does not."""
    text = (
        "-- no-transaction\nCREATE INDEX CONCURRENTLY a ON t (x);\n-- why; so\nSELECT ';' || 'b';  \nSELECT 2"
    )

    assert migrations.statements(text) == [
        "CREATE INDEX CONCURRENTLY a ON t (x)",
        "SELECT ';' || 'b'",
        "SELECT 2",
    ]


@pytest.mark.parametrize("name", ["Memory", "a b", 'a"b', "", "1a", "a" * 64])
def test_only_plain_names_become_schemas(name: str) -> None:
    """Names stand in SQL text, so that no other may."""
    with pytest.raises(ValueError, match="cannot name"):
        migrations.read("services", name)
