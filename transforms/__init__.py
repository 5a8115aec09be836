"""Passes from graph to graph: one per file, named after the pass; files that begin with `_` are shared."""
