"""Sessions, the observations made in them, and how these are found and read again.

The same content in one session is kept once; a session has at most one Z-report; a read shows no more text
than was asked for.
"""
