"""Histories of operations, in the form of `broker_scenarios.operations`: of any client from a file, or of a run.

The operations are folded into calls and partitions, checked by `broker_scenarios.checks`, and judged by what the
promises permit.
"""
