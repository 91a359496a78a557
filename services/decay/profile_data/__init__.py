"""All that is kept of a profile's sweeps: erased, or read out whole."""
