"""The benchmark suite: cases (what is computed, as each library writes it), peers (the libraries), sessions that take turns."""
