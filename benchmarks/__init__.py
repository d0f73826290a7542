"""Speed of the library against hand-written code that does the same work: `python -m benchmarks`.

Machines are noisy and differ, so most rows are ratios inside one run, or growth: the time at 2n
over the time at n.
"""
