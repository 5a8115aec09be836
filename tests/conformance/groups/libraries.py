"""Programs as users of flax, optax, numpyro, blackjax, diffrax and brax write them, with what these libraries do written out."""


def train_state_of_batch_statistics(np, jx, x, scale, running):
    """`f[6,3] f[3] f[3]`"""

    def one(row):
        mean = jx.lax.pmean(row, "batch")
        var = jx.lax.pmean(row**2, "batch") - mean**2
        return scale * (row - mean) * jx.lax.rsqrt(var + 1e-5), 0.9 * running + 0.1 * mean

    return jx.vmap(one, axis_name="batch", out_axes=(0, None))(x)


def gradients_averaged_over_devices(np, jx, w, x, y):
    """`f[3] f[4,5,3] f[4,5] | once tol=8`"""

    def update(x, y):
        slope = jx.grad(lambda w: ((x @ w - y) ** 2).mean())(w)
        return w - 0.1 * jx.lax.pmean(slope, "devices")

    return jx.vmap(update, axis_name="devices", out_axes=None)(x, y)


def info_nce_across_the_batch(np, jx, a, b):
    """`f[5,4] f[5,4] | tol=16`"""

    def one(u, v):
        u, v = u / np.sqrt(u @ u), v / np.sqrt(v @ v)
        scores = jx.lax.all_gather(v, "batch") @ u / 0.5
        return jx.nn.logsumexp(scores) - np.take(scores, jx.lax.axis_index("batch"))

    return jx.vmap(one, axis_name="batch")(a, b).mean()


def ring_of_neighbours(np, jx, x):
    """`f[5,2]`"""

    def step(v):
        left = jx.lax.ppermute(v, "ring", [(k, (k + 1) % 5) for k in range(5)])
        right = jx.lax.ppermute(v, "ring", [(k, (k - 1) % 5) for k in range(5)])
        return v + 0.1 * (left - 2 * v + right)

    return jx.vmap(step, axis_name="ring")(x)


def eight_schools(np, jx, effect, spread, mu, log_tau, z):
    """`f[8] f[8]+ f[] f[]u f[8] | tol=16`"""
    norm, cauchy = jx.scipy.stats.norm, jx.scipy.stats.cauchy
    tau = np.exp(log_tau)
    prior = norm.logpdf(mu, 0.0, 5.0) + cauchy.logpdf(tau, 0.0, 5.0) + log_tau + norm.logpdf(z).sum()
    return prior + norm.logpdf(effect, mu + tau * z, spread).sum()


def leapfrog(np, jx, position, momentum):
    """`f[3] f[3]`"""
    potential = jx.grad(lambda q: -jx.scipy.stats.norm.logpdf(q, 1.0, 2.0).sum())

    def step(state, _):
        q, p = state
        p = p - 0.05 * potential(q)
        q = q + 0.1 * p
        p = p - 0.05 * potential(q)
        return (q, p), q @ q

    return jx.lax.scan(step, (position, momentum), None, length=4)[1]


def effective_sample_size(np, jx, x):
    """`f[16] | once tol=32`"""
    centered = x - x.mean()
    covariance = jx.scipy.signal.correlate(centered, centered, mode="full")[15:] / 16
    return 16 / (1 + 2 * (covariance[1:5] / covariance[0]).sum())


def poisson_regression(np, jx, x, counts, w):
    """`f[6,3]u i[6]k+ f[3]u | tol=16`"""
    return jx.scipy.stats.poisson.logpmf(counts, np.exp(x @ w)).sum()


def adaptive_heun_step(np, jx, y):
    """`f[3]`"""

    def field(v):
        return np.stack([10 * (v[1] - v[0]), v[0] * (28 - v[2]) - v[1], v[0] * v[1] - 8 / 3 * v[2]])

    def step(carry, _):
        v, h = carry
        k1 = field(v)
        k2 = field(v + h * k1)
        error = np.abs(h * (k2 - k1) / 2).max()
        taken = error < 0.1
        v = np.where(taken, v + h * (k1 + k2) / 2, v)
        return (v, np.where(taken, h * 1.1, h * 0.5)), v

    return jx.lax.scan(step, (y, np.asarray(0.01, y.dtype)), None, length=5)[1]


def initialized_dense_layer(np, jx, x):
    """`f[4,3] | novmap tol=8`"""
    kernel = jx.nn.initializers.lecun_normal()(jx.random.key(0), (3, 5), "float32")
    return jx.nn.relu(x.astype("float32") @ kernel)


def spring_energy(np, jx, position):
    """`f[4,2]`"""

    def energy(q):
        ends = q[1:] - q[:-1]
        return 0.5 * ((np.sqrt((ends**2).sum(-1)) - 1.0) ** 2).sum() + 9.8 * q[:, 1].sum()

    return -jx.grad(energy)(position)
