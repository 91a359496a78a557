"""Results: what the tasks of runs came to, redeemed by workflow and task, and the runs themselves.

A result is written once and comes back byte for byte until its run expires, as a whole. Nobody has to ask
again and again: whoever waits is woken, on whichever replica.
"""
