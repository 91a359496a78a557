"""The barest server there can be: bytes in, the same bytes out. Run as a process of its own."""

from __future__ import annotations

import asyncio
import sys

import grpc
import uvloop

PATH = "/bench.Echo/Say"


async def say(request: bytes, _: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
    """Answer what was said."""
    return request


async def serve(port: int) -> None:
    """Serve until killed."""
    server = grpc.aio.server()
    handler = grpc.unary_unary_rpc_method_handler(say)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench.Echo", {"Say": handler}),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
