"""All that the service keeps of a profile: erased without a trace, or read out whole."""
