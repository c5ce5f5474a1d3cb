"""Chaos: real processes under seeded scripts of faults, and a checker over the histories that they leave."""
