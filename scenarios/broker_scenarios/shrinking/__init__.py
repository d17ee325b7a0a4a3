"""Turns a scenario that fails with a seed into the smallest file that fails for the same reason.

`concrete` writes down what the seed has drawn, `failure` names the reasons for which a run fails, `delta` removes parts
of a document and lowers its numbers, `shrink` puts them together.
"""
