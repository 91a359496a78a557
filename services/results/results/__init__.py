"""What tasks came to: put once, read, waited for; and the turns of runs that are conversations.

A first result or turn begins a run that is not known yet.
"""
