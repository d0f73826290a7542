"""Scenarios with their outcome, and a runner that compares the library with them."""
