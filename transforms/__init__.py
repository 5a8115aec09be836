"""graph to graph passes: one pass per file, file name = pass name."""
