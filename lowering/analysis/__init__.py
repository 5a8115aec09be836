"""Facts about loop nests that schedules and lowerings ask for: no rewrites."""
