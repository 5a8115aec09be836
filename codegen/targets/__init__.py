"""Target facts as data, one file per target."""
