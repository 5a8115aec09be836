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
gamma | f[5]+ | jx.random.gamma({_KEY}, x, (2, 5), x.dtype) | novmap value
loggamma | f[5]+ | jx.random.loggamma({_KEY}, x, None, x.dtype) | novmap value
beta | f[4]+ f[4]+ | jx.random.beta({_KEY}, x, y, None, x.dtype) | novmap value
dirichlet | f[2,3]+ | jx.random.dirichlet({_KEY}, x, None, x.dtype) | novmap value
chisquare | f[4]+ | jx.random.chisquare({_KEY}, x, None, x.dtype) | novmap value
f | f[4]+ | jx.random.f({_KEY}, x, 3.0, (4,), x.dtype) | novmap value
t | f[4]+ | jx.random.t({_KEY}, x, None, x.dtype) | novmap value
wald | f[4]+ | jx.random.wald({_KEY}, x, None, x.dtype) | novmap value
poisson | f[6]+ | jx.random.poisson({_KEY}, 6 * x) | novmap
binomial | f[6]p | jx.random.binomial({_KEY}, 30.0, x, None, x.dtype) | novmap value
generalized_normal | f[4] | jx.random.generalized_normal({_KEY}, 1.5, (4,), x.dtype) + x | novmap value
ball | f[3] | jx.random.ball({_KEY}, 3, 2, (2,), x.dtype) + x | novmap value
multivariate_normal | f[3] | jx.random.multivariate_normal({_KEY}, x, np.eye(3, dtype=x.dtype) + 0.5, (2,), x.dtype) | novmap value
double_sided_maxwell | f[4] | jx.random.double_sided_maxwell({_KEY}, 1.0, 2.0, (4,), x.dtype) + x | novmap value
categorical_without_replacement | f[6] | jx.random.categorical({_KEY}, x, shape=(3,), replace=False) | novmap value
bernoulli_high | f[6]p | jx.random.bernoulli({_KEY}, x, mode="high") | novmap
gumbel_high | f[5] | jx.random.gumbel({_KEY}, (5,), x.dtype, mode="high") + x | novmap value
"""
