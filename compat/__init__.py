"""Names and conventions of other frameworks."""
