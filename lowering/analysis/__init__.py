"""Analyses of loop nests for schedules and lowerings; nothing here rewrites."""
