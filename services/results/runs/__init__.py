"""Runs: started, finished or cancelled, and told where they stand.

A run that is finished leaves one episode in the journal, however often it is finished.
"""
