"""Calling compiled code: entry, pytrees, the reference interpreter."""
