"""How memories age, for the decay service: it decides, this room moves the rows.

No lock is held while a text is compressed; nobody's work overwrites what was read or changed meanwhile.
"""
