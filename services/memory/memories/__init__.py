"""What was observed, and how it is kept and read.

The same content in one session is kept once; a read shows no more text than was asked for.
"""
