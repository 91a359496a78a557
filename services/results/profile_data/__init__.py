"""All that is kept of a profile's runs: erased, or read out whole."""
