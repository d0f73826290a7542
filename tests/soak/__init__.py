"""Thousands of runs at once, with faults at random; afterwards the books have to balance."""
