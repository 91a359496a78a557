"""Screening: whether a text that a model will read tries to steer it.

`Screener().screen(text)` answers with a verdict. It decides, and does nothing else: what happens to a text
that is flagged is for whoever keeps or shows it.
"""
