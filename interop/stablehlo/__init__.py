"""StableHLO in and out: `lm.from_stablehlo`, `lm.to_stablehlo`, and the passes between the dialects `stablehlo` and `graph`."""
