"""Programs of other systems, in and out: StableHLO. The functions are in `lamina` itself."""
