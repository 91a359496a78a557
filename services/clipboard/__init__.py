"""Clipboard: data that tools and agents hand to one another, under names or on a stack.

A value comes back byte for byte until it expires, and from that moment never again. The stack has one order
for any number of callers, and gives each entry out once.
"""
