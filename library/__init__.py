"""Libraries of functions over the frontend: NumPy's names, linear algebra, special functions, random numbers, FFT, networks."""
