"""Sessions, and the Z-report that each ends with.

A name leads to one open session at a time; a session has at most one Z-report, however often it is ended.
"""
