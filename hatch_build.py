"""Compile the protos when the project is installed; `python hatch_build.py` does the same in place.

The ignored `gen/` receives the Python code and `treering/image.binpb`: every descriptor with its comments,
which the gateway is derived from and which buf lints. What our protos import comes out of installed packages.
"""

from __future__ import annotations

import shutil
import sys
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
PROTOS = ROOT / "protos"
GEN = ROOT / "gen"
IMAGE = "treering/image.binpb"
VALIDATE = "buf/validate/validate.proto"


class Protos(BuildHookInterface[Any]):
    """Generate before every build of a wheel, editable ones included."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling with the build about to begin."""
        generate()
        if version == "standard":
            build_data["force_include"] |= {str(GEN / name): name for name in ("treering", "buf")}


def generate() -> None:
    """Replace `gen/` by what the protos say now. Protos that do not compile leave it as it is."""
    with TemporaryDirectory() as scratch:
        made = Path(scratch, "gen")
        made.mkdir()
        languages = ("python", "pyi", "grpc_python")
        protoc(PROTOS, *(f"--{language}_out={made}" for language in languages), VALIDATE)
        describe(PROTOS, made / IMAGE)
        shutil.rmtree(GEN, ignore_errors=True)
        shutil.copytree(made, GEN)


def describe(protos: Path, image: Path) -> None:
    """Write the descriptors of all protos below a directory, comments and imports included, to one file."""
    image.parent.mkdir(parents=True, exist_ok=True)
    protoc(protos, "--include_imports", "--include_source_info", f"--descriptor_set_out={image}")


def protoc(protos: Path, *arguments: str) -> None:
    """Run protoc over all protos below a directory."""
    from grpc_tools import protoc as compiler

    ours = sorted(path.relative_to(protos).as_posix() for path in protos.rglob("*.proto"))
    google_api = distribution("googleapis-common-protos").locate_file("")
    google_protobuf = distribution("grpcio-tools").locate_file("grpc_tools/_proto")
    with TemporaryDirectory() as scratch:
        validate = Path(scratch, "validate.binpb")
        validate.write_bytes(validate_descriptor())
        places = (f"-I{protos}", f"-I{google_api}", f"-I{google_protobuf}", f"--descriptor_set_in={validate}")
        if compiler.main(["protoc", *places, *arguments, *ours]):
            sys.exit("The protos do not compile; see the messages above.")


def validate_descriptor() -> bytes:
    """`buf/validate/validate.proto` as a descriptor set: protovalidate's package carries no source of it."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
    from protovalidate._gen.buf.validate import validate_pb

    described = FileDescriptorProto.FromString(validate_pb.desc().proto.to_binary())
    return FileDescriptorSet(file=[described]).SerializeToString()


if __name__ == "__main__":
    generate()
