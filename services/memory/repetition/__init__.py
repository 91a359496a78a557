"""Repetition: what was said before in other words, and what only looks like it."""
