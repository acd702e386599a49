"""Judges placement policies with ksched: a policy scores nodes, ksched decides what is allowed."""
