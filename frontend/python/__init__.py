"""Python's own source: control flow captured from it, and whole functions split into graphs."""
