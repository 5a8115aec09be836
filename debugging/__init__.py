"""Tools that find faults in the compiler and in programs: validation by running, reproducers, reduction, bisection,
explanations.
"""
