"""Timelines made of other things: of dumps, of traces, of a generator."""
