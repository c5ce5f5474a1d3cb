"""The parts that the benchmark suites share."""
