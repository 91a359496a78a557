"""Decay: how memories shrink as they age, and when they are forgotten.

It owns policies and remembers what sweeps did. It decides by numbers alone: no text ever comes here.
"""
