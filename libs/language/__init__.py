"""How text is understood: tokens, vectors, lexemes, short forms, names, and secrets taken out.

Nothing here knows a profile, a row or a call. Everything works without a network, except the
embedders that are somebody else's service by definition.
"""
