"""Mutation testing: small faults planted into a copy of the code in memory, and whether a test notices."""
