"""Memory: what agents observe, kept sealed and found again by meaning and by words.

Everything belongs to one profile. A secret is removed before anything else sees the text, an observation
can be found the moment it is acknowledged, and what is deleted is gone together with all that could find it.
"""
