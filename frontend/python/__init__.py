"""Works on Python source: captures control flow from it, and splits whole functions into graphs."""
