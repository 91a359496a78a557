"""Policies, forecasts and sweeps."""
