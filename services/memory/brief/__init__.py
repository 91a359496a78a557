"""What an agent should read before it starts: shocks, procedures, habits, insights and the last report.

Within a budget of tokens, in a frame that nothing in it can break.
"""
