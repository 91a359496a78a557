"""Which ring a fresh memory belongs to, and why.

Rules and likeness to examples decide, or a language model where there is one. What a caller, a repetition
or an outcome has set is never changed here.
"""
