"""lamina-opt, one file for each group of options; `groups.py` lists them, `driver.py` runs them."""
