"""Who may call, and as whom: owners, their workspaces, profiles in these, and the keys of profiles.

A key's secret is shown once and kept as a hash. Names are kept sealed. Whatever is wrong with a
secret, the answer is the same.
"""
