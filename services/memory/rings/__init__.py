"""Memories that change: reinforced, promoted, revised, superseded, deleted and brought back.

Whatever changes a memory reaches every read path in the same transaction. A shock never leaves its ring by
accident, and nothing is in LONG_TERM that has not earned it.
"""
