"""Ask the process in this container, whatever its roles, whether it serves. For HEALTHCHECK."""

from __future__ import annotations

import os
import sys

import grpc
from grpc_health.v1 import health_pb2 as pb

CHECK = "/grpc.health.v1.Health/Check"
TIMEOUT_SECONDS = 4


def serves(address: str) -> bool:
    """Whether the server as a whole calls itself healthy."""
    with grpc.insecure_channel(address) as channel:
        check = channel.unary_unary(
            CHECK, pb.HealthCheckRequest.SerializeToString, pb.HealthCheckResponse.FromString
        )
        try:
            answer = check(pb.HealthCheckRequest(), timeout=TIMEOUT_SECONDS)
        except grpc.RpcError:
            return False
    return answer.status == pb.HealthCheckResponse.SERVING


if __name__ == "__main__":
    sys.exit(not serves(f"127.0.0.1:{os.environ.get('TREERING_GRPC_PORT', '7600')}"))
