"""What the benchmark suites share."""
