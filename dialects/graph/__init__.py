"""The graph dialect: tensors, values, a DAG of pure ops; one file per op family."""
