"""What is measured: one page of ratios. A benchmark reports; it never fails a test run."""
