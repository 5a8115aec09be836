"""Modules as executables of this process: `executor.py` has the key and the cache, `kernels.py` lowers handwritten kernels."""
