"""Compile the protos when the project is installed. `python hatch_build.py` does the same in place.

Everything lands in the ignored `gen/`: the imports of our protos, laid there from installed wheels, the Python code,
and `treering/image.binpb`, the descriptors with their comments.
"""

from __future__ import annotations

import importlib.metadata
import shutil
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # builds import this file by its path alone

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
GEN = ROOT / "gen"
THIRD_PARTY = GEN / "third_party"
GOOGLE_API = ("google/api/annotations.proto", "google/api/http.proto")
VALIDATE = "buf/validate/validate.proto"


class Protos(BuildHookInterface[Any]):
    """Generate before every build, editable ones included."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling with the build about to begin."""
        generate()
        if version == "standard":
            build_data["force_include"] |= {str(GEN / "treering"): "treering", str(GEN / "buf"): "buf"}


def generate() -> None:
    """Lay the imports and compile everything."""
    lay_third_party()
    from grpc_tools import protoc

    include = importlib.metadata.distribution("grpcio-tools").locate_file("grpc_tools/_proto")
    ours = sorted(path.relative_to(ROOT / "protos").as_posix() for path in (ROOT / "protos").rglob("*.proto"))
    paths = [f"-I{ROOT / 'protos'}", f"-I{THIRD_PARTY}", f"-I{include}"]
    outputs = [f"--python_out={GEN}", f"--pyi_out={GEN}", f"--grpc_python_out={GEN}"]
    image = GEN / "treering" / "image.binpb"
    image.parent.mkdir(parents=True, exist_ok=True)
    described = ["--include_imports", "--include_source_info", f"--descriptor_set_out={image}"]
    if protoc.main(["protoc", *paths, *outputs, VALIDATE, *ours]) or protoc.main(["protoc", *paths, *described, *ours]):
        sys.exit("The protos do not compile; see the messages above.")


def lay_third_party() -> None:
    """Copy what our protos import out of the wheels that carry it."""
    shutil.rmtree(GEN, ignore_errors=True)
    googleapis = importlib.metadata.distribution("googleapis-common-protos")
    for name in GOOGLE_API:
        write(THIRD_PARTY / name, Path(str(googleapis.locate_file(name))).read_text())
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from protovalidate._gen.buf.validate import validate_pb

    from proto_printer import source

    described = FileDescriptorProto.FromString(validate_pb.desc().proto.to_binary())
    write(THIRD_PARTY / VALIDATE, source(described))


def write(path: Path, text: str) -> None:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    generate()
