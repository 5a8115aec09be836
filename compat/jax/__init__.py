"""Names for users of jax alone: `lax`, `scipy`, `image`, `tree_util`, `dtypes`, `debug`, arrays of keys."""
