"""What only users of jax ask for: `lax`, `scipy`, `image`, `tree_util`, `dtypes`, `debug`, arrays of keys."""
