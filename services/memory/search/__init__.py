"""How memories are found again: by meaning, by words, by names.

Every filter reaches every arm, so that as many hits come back as there are; a hit shows layer 1 and no more;
`strict` returns only what clearly answers.
"""
