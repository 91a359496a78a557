"""Erasures as messages."""

from __future__ import annotations

from treering.access.v1 import erasure_pb2 as pb

from libs.messages import of_time
from services.gateway.access.erasures import REMAINS, Erasure, Receipt

UINT32_MAX = 2**32 - 1


def erasure_message(erasure: Erasure) -> pb.Erasure:
    """An erasure."""
    return pb.Erasure(
        profile_id=str(erasure.profile_id),
        state=pb.ERASURE_STATE_ERASED if erasure.completed_at else pb.ERASURE_STATE_ERASING,
        requested_at=of_time(erasure.requested_at),
        completed_at=of_time(erasure.completed_at) if erasure.completed_at else None,
        receipts=[receipt_message(receipt) for receipt in erasure.receipts.values()],
        remains=REMAINS,
    )


def receipt_message(receipt: Receipt) -> pb.ErasureReceipt:
    """What one service has deleted."""
    return pb.ErasureReceipt(
        service=receipt.service,
        rows_deleted=min(receipt.rows_deleted, UINT32_MAX),
        keys_destroyed=receipt.keys_destroyed,
        remaining=receipt.remaining,
        completed_at=of_time(receipt.completed_at) if receipt.completed_at else None,
    )
