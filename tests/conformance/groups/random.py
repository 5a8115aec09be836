"""Random numbers from keys: bit-equal streams."""

_KEY = "jx.random.key(3)"

TABLE = f"""
uniform | f[5] | jx.random.uniform({_KEY}, (5,), x.dtype) + x | novmap
uniform_range | f[5] | jx.random.uniform({_KEY}, (5,), x.dtype, minval=-1.0, maxval=2.0) * x | novmap value
normal | f[5] | jx.random.normal({_KEY}, (5,), x.dtype) * x | novmap value
bernoulli | f[5] | np.where(jx.random.bernoulli({_KEY}, 0.5, (5,)), x, 0) | novmap
randint | f[5] | jx.random.randint({_KEY}, (5,), 0, 10) | novmap
split | f[5] | jx.random.uniform(jx.random.split({_KEY})[1], (5,), x.dtype) | novmap value
split_many | f[3] | np.stack([jx.random.uniform(k, (), x.dtype) for k in jx.random.split({_KEY}, 3)]) | novmap value
fold_in | f[5] | jx.random.uniform(jx.random.fold_in({_KEY}, 7), (5,), x.dtype) | novmap value
prng_key | f[5] | jx.random.uniform(jx.random.PRNGKey(0), (5,), x.dtype) | novmap value
bits | f[4] | jx.random.bits({_KEY}, (4,), "uint32") | novmap
permutation | f[6] | jx.random.permutation({_KEY}, x) | novmap value
choice | f[6] | jx.random.choice({_KEY}, x, (3,)) | novmap value
categorical | f[6] | jx.random.categorical({_KEY}, x) | novmap
exponential | f[5] | jx.random.exponential({_KEY}, (5,), x.dtype) | novmap value
gumbel | f[5] | jx.random.gumbel({_KEY}, (5,), x.dtype) + x | novmap value
laplace | f[5] | jx.random.laplace({_KEY}, (5,), x.dtype) | novmap value
truncated_normal | f[5] | jx.random.truncated_normal({_KEY}, -1.0, 1.0, (5,), x.dtype) | novmap value
dropout | f[6] | np.where(jx.random.bernoulli({_KEY}, 0.8, x.shape), x / 0.8, 0.0) | novmap
"""
