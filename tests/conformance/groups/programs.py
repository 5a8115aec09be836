"""Whole programs, as people write them."""

import functools


def mlp(np, jx, x, w1, b1, w2):
    """`f[4,3] f[3,5] f[5] f[5,2]`"""
    return np.tanh(x @ w1 + b1) @ w2


def mlp_training_step(np, jx, x, y, w1, w2):
    """`f[6,3] f[6,2] f[3,4] f[4,2] | once tol=4`"""

    def loss(params):
        return ((np.tanh(x @ params["w1"]) @ params["w2"] - y) ** 2).mean()

    params = {"w1": w1, "w2": w2}
    value, slopes = jx.value_and_grad(loss)(params)
    return value, jx.tree.map(lambda p, g: p - 0.1 * g, params, slopes)


def adam_step(np, jx, w, m, v):
    """`f[5] f[5] f[5]+`"""
    g = jx.grad(lambda u: ((u - 1) ** 4).sum())(w)
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return w - 0.01 * (m / 0.1) / (np.sqrt(v / 0.001) + 1e-8), m, v


def logistic_regression(np, jx, x, y, w):
    """`f[8,3] b[8] f[3] | tol=8`"""
    return jx.grad(lambda u: np.mean(np.logaddexp(0.0, -(2.0 * y - 1).astype(u.dtype) * (x @ u))))(w)


def softmax_regression(np, jx, x, labels, w):
    """`f[6,3] i[6]k+ f[3,3]`"""
    return jx.value_and_grad(lambda u: -jx.nn.log_softmax(x @ u)[np.arange(6), labels].mean())(w)


def linear_regression_descent(np, jx, x, y):
    """`f[8,3] f[8] | tol=8 once`"""
    loss = lambda w: ((x @ w - y) ** 2).mean()  # noqa: E731
    return functools.reduce(lambda w, _: w - 0.05 * jx.grad(loss)(w), range(5), np.zeros(3, x.dtype))


def transformer_block(np, jx, x, wq, wk, wv, w1, w2):
    """`f[4,6] f[6,6]u f[6,6]u f[6,6]u f[6,8]u f[8,6]u | once tol=16`"""

    def norm(v):
        return (v - v.mean(-1, keepdims=True)) / np.sqrt(v.var(-1, keepdims=True) + 1e-5)

    h = norm(x)
    q, k, v = h @ wq, h @ wk, h @ wv
    x = x + jx.nn.softmax(q @ k.T / 6**0.5) @ v
    return x + jx.nn.gelu(norm(x) @ w1) @ w2


def multi_head_attention(np, jx, x, w):
    """`f[2,4,6] f[6,18]u | once tol=8`"""
    q, k, v = (a.reshape(2, 4, 2, 3).transpose(0, 2, 1, 3) for a in np.split(x @ w, 3, axis=-1))
    weights = jx.nn.softmax(q @ k.swapaxes(-1, -2) / np.sqrt(3.0).astype(x.dtype))
    return (weights @ v).transpose(0, 2, 1, 3).reshape(2, 4, 6)


def lstm_cell(np, jx, x, h, c, w):
    """`f[2,3] f[2,4] f[2,4] f[7,16]u | once tol=4`"""
    i, f, g, o = np.split(np.concatenate([x, h], 1) @ w, 4, axis=1)
    c = jx.nn.sigmoid(f) * c + jx.nn.sigmoid(i) * np.tanh(g)
    return jx.nn.sigmoid(o) * np.tanh(c), c


def gru_over_time(np, jx, xs, w, u):
    """`f[5,3] f[3,4]u f[4,4]u | once tol=4`"""

    def step(h, x):
        z = jx.nn.sigmoid(x @ w + h @ u)
        h = (1 - z) * h + z * np.tanh(x @ w + (h * z) @ u)
        return h, h

    return jx.lax.scan(step, np.zeros(4, xs.dtype), xs)


def gcn_with_residual(np, jx, x, a, w):
    """`f[6,4] f[6,6] f[4,4]u | tol=8`"""
    return jx.nn.relu(a @ x @ w) + x


def ode_step(np, jx, x, a):
    """`f[4] f[4,4]u`"""
    return x + 0.1 * (a @ x + np.sin(x))


def neural_ode(np, jx, x, w):
    """`f[4] f[4,4]u | tol=8`"""
    return jx.lax.fori_loop(0, 4, lambda i, v: v + 0.25 * np.tanh(w @ v), x)


def kmeans_step(np, jx, x, c):
    """`f[8,2] f[3,2] | once`"""
    d = ((x[:, None] - c[None]) ** 2).sum(-1)
    hit = jx.nn.one_hot(np.argmin(d, 1), 3, dtype=x.dtype)
    return hit.T @ x / (hit.sum(0)[:, None] + 1e-3)


def pca_power_iteration(np, jx, x):
    """`f[8,3] | tol=64 once`"""
    c = (x - x.mean(0)).T @ (x - x.mean(0))
    v = np.ones(3, x.dtype)
    for _ in range(3):
        v = c @ v
        v = v / np.sqrt((v * v).sum())
    return v


def kalman_step(np, jx, m, p, z):
    """`f[2] f[2,2] f[] | tol=16`"""
    f = np.array([[1.0, 0.1], [0.0, 1.0]]).astype(m.dtype)
    p = f @ (p @ p.T + np.eye(2, dtype=m.dtype)) @ f.T
    m = f @ m
    gain = p[:, 0] / (p[0, 0] + 0.5)
    return m + gain * (z - m[0]), p - np.outer(gain, p[0])


def hidden_markov_forward(np, jx, logits, log_a):
    """`f[5,3] f[3,3] | tol=4`"""

    def step(alpha, e):
        alpha = jx.nn.logsumexp(alpha[:, None] + log_a, axis=0) + e
        return alpha, alpha

    return jx.lax.scan(step, logits[0], logits[1:])


def viterbi_scores(np, jx, e, a):
    """`f[5,3] f[3,3]`"""
    score = e[0]
    for t in range(1, 5):
        score = (score[:, None] + a).max(0) + e[t]
    return score


def gaussian_log_likelihood(np, jx, x, mu, log_sigma):
    """`f[6,2] f[2] f[2]u`"""
    z = (x - mu) * np.exp(-log_sigma)
    return (-0.5 * z**2 - log_sigma - 0.5 * np.log(2 * np.pi)).sum()


def mixture_log_likelihood(np, jx, x, mu, w):
    """`f[6] f[3] f[3]`"""
    return jx.nn.logsumexp(-0.5 * (x[:, None] - mu) ** 2 + jx.nn.log_softmax(w), axis=1).mean()


def variational_bound(np, jx, mu, log_var, eps):
    """`f[4] f[4]u f[4]`"""
    z = mu + np.exp(0.5 * log_var) * eps
    return -0.5 * np.sum(1 + log_var - mu**2 - np.exp(log_var)) + (z**4).mean()


def policy_gradient(np, jx, logits, actions, returns):
    """`f[5,3] i[5]k+ f[5]`"""
    return jx.grad(lambda u: -(jx.nn.log_softmax(u)[np.arange(5), actions] * returns).mean())(logits)


def discounted_returns(np, jx, r):
    """`f[6]`"""
    return jx.lax.scan(lambda g, x: (x + 0.9 * g, x + 0.9 * g), np.zeros((), r.dtype), r, reverse=True)[1]


def value_iteration(np, jx, r, p):
    """`f[4,2] f[2,4,4] | once tol=8`"""
    p = jx.nn.softmax(p)
    v = np.zeros(4, r.dtype)
    for _ in range(3):
        v = (r + 0.9 * (p @ v).T).max(1)
    return v


def conjugate_gradient(np, jx, a, b):
    """`f[3,3] f[3] | once tol=64`"""
    a = a @ a.T + 5 * np.eye(3, dtype=b.dtype)
    x, r = np.zeros_like(b), b
    p = r
    for _ in range(2):
        ap = a @ p
        alpha = (r @ r) / (p @ ap)
        x = x + alpha * p
        new = r - alpha * ap
        p = new + (new @ new) / (r @ r) * p
        r = new
    return x


def heat_equation(np, jx, u):
    """`f[8]`"""
    return jx.lax.fori_loop(0, 4, lambda i, v: v + 0.1 * (np.roll(v, 1) - 2 * v + np.roll(v, -1)), u)


def wave_equation_2d(np, jx, u, v):
    """`f[5,5] f[5,5]`"""
    lap = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
    v = v + 0.1 * lap
    return u + 0.1 * v, v


def n_body(np, jx, x, v):
    """`f[4,3] f[4,3] | tol=4`"""
    d = x[None] - x[:, None]
    f = (d / ((d**2).sum(-1, keepdims=True) + 0.1) ** 1.5).sum(1)
    return x + 0.01 * v, v + 0.01 * f


def lennard_jones(np, jx, x):
    """`f[4,3] | once tol=64`"""
    d = x[:, None] - x[None] + np.eye(4, dtype=x.dtype)[:, :, None] * 10
    r2 = (d**2).sum(-1) + 0.5
    return (1 / r2**6 - 1 / r2**3).sum()


def pendulum_energy_gradient(np, jx, q, p):
    """`f[3] f[3]`"""
    return jx.grad(lambda a, b: (b**2 / 2 + 1 - np.cos(a)).sum(), (0, 1))(q, p)


def game_of_life(np, jx, x):
    """`b[6,6]`"""
    a = x.astype(np.int32)
    n = sum(np.roll(np.roll(a, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1)) - a
    return (n == 3) | (x & (n == 2))


def sobel(np, jx, x):
    """`f[6,6]`"""
    gx = x[:-2, 2:] + 2 * x[1:-1, 2:] + x[2:, 2:] - x[:-2, :-2] - 2 * x[1:-1, :-2] - x[2:, :-2]
    gy = x[2:, :-2] + 2 * x[2:, 1:-1] + x[2:, 2:] - x[:-2, :-2] - 2 * x[:-2, 1:-1] - x[:-2, 2:]
    return np.sqrt(gx**2 + gy**2 + 1e-6)


def bilinear_sample(np, jx, image, p):
    """`f[5,5] f[3,2]p`"""
    at = p * 3
    i = np.floor(at).astype(np.int32)
    f = at - np.floor(at)
    pick = lambda a, b: image[i[:, 0] + a, i[:, 1] + b]  # noqa: E731
    top = pick(0, 0) * (1 - f[:, 1]) + pick(0, 1) * f[:, 1]
    bottom = pick(1, 0) * (1 - f[:, 1]) + pick(1, 1) * f[:, 1]
    return top * (1 - f[:, 0]) + bottom * f[:, 0]


def sinusoid_fit(np, jx, t, y, a):
    """`f[8] f[8] f[3]`"""
    return jx.grad(lambda p: ((p[0] * np.sin(p[1] * t + p[2]) - y) ** 2).mean())(a)


def black_scholes(np, jx, s, k, t):
    """`f[5]1 f[5]1 f[5]p | tol=4`"""
    d1 = (np.log(s / k) + 0.5 * 0.04 * t) / (0.2 * np.sqrt(t))
    cdf = lambda v: 0.5 * (1 + jx.scipy.special.erf(v / np.sqrt(2.0).astype(s.dtype)))  # noqa: E731
    return s * cdf(d1) - k * cdf(d1 - 0.2 * np.sqrt(t))


def quaternion_rotate(np, jx, q, v):
    """`f[4]n f[3] | tol=4`"""
    q = q / np.sqrt((q * q).sum())
    t = 2 * np.cross(q[1:], v)
    return v + q[0] * t + np.cross(q[1:], t)


def ray_sphere(np, jx, o, d):
    """`f[4,3] f[4,3]`"""
    d = d / np.sqrt((d * d).sum(-1, keepdims=True))
    b = (o * d).sum(-1)
    disc = b * b - (o * o).sum(-1) + 4
    return np.where(disc > 0, -b - np.sqrt(np.where(disc > 0, disc, 1.0)), 0.0)


def contrastive_loss(np, jx, a, b):
    """`f[4,3] f[4,3] | once tol=4`"""
    a, b = (v / np.sqrt((v * v).sum(1, keepdims=True)) for v in (a, b))
    s = a @ b.T / 0.5
    return -np.diagonal(jx.nn.log_softmax(s)).mean()


def moving_average(np, jx, x):
    """`f[9]`"""
    c = np.cumsum(np.concatenate([np.zeros(1, x.dtype), x]))
    return (c[3:] - c[:-3]) / 3


def exponential_smoothing(np, jx, x):
    """`f[7]`"""
    return jx.lax.scan(lambda s, v: (0.7 * s + 0.3 * v, s), x[0], x)


def polynomial_regression(np, jx, t, w):
    """`f[7]u f[4]`"""
    features = np.stack([t**k for k in range(4)], axis=1)
    return features @ w


def batched_matrix_vector(np, jx, a, b):
    """`f[3,4,5] f[3,5]`"""
    return (a @ b[..., None])[..., 0]


def image_normalise(np, jx, x):
    """`f[2,4,4,3] | once tol=8`"""
    return (x - x.mean((1, 2), keepdims=True)) / (x.std((1, 2), keepdims=True) + 1e-5)


def residual_network(np, jx, x, w):
    """`f[3,4] f[2,4,4]u | once tol=8`"""
    for k in range(2):
        x = x + jx.nn.relu(x @ w[k])
    return jx.nn.log_softmax(x)


def lotka_volterra(np, jx, x, y):
    """`f[]+ f[]+`"""

    def step(i, s):
        a, b = s
        return a + 0.1 * (a - a * b), b + 0.1 * (a * b - b)

    return jx.lax.fori_loop(0, 5, step, (x, y))


def ising_energy(np, jx, s):
    """`f[5,5]`"""
    return -(s * np.roll(s, 1, 0) + s * np.roll(s, 1, 1)).sum()


def levenshtein_row(np, jx, previous, cost):
    """`f[6]+ f[5]+ | once`"""
    best = np.minimum(previous[1:] + 1, previous[:-1] + cost)
    return jx.lax.scan(lambda c, b: ((t := np.minimum(b, c + 1)), t), previous[0] + 1, best)[1]


def pagerank(np, jx, a):
    """`f[5,5]+ | tol=4`"""
    p = a / a.sum(0)
    r = np.ones(5, a.dtype) / 5
    for _ in range(4):
        r = 0.85 * p @ r + 0.03
    return r


def triplet_margin(np, jx, a, p, n):
    """`f[4,3] f[4,3] f[4,3]`"""
    d = lambda u, v: np.sqrt(((u - v) ** 2).sum(1) + 1e-6)  # noqa: E731
    return jx.nn.relu(d(a, p) - d(a, n) + 1.0).mean()


def sampled_softmax(np, jx, q, table, ids):
    """`f[3,4] f[9,4] i[3,5]k+`"""
    return jx.nn.log_softmax(np.einsum("bd,bkd->bk", q, table[ids]))[:, 0].mean()


def stencil_3d(np, jx, u):
    """`f[4,4,4]`"""
    return u[1:-1, 1:-1, 1:-1] * -6 + sum(np.roll(u, s, axis)[1:-1, 1:-1, 1:-1] for axis in range(3) for s in (-1, 1))


def finite_differences(np, jx, x):
    """`f[9]`"""
    return (x[2:] - x[:-2]) / 2, x[2:] - 2 * x[1:-1] + x[:-2]


def per_example_gradients(np, jx, w, x, y):
    """`f[3] f[5,3] f[5]`"""
    return jx.vmap(jx.grad(lambda u, a, b: (a @ u - b) ** 2), in_axes=(None, 0, 0))(w, x, y)


def hessian_of_logistic(np, jx, w, x):
    """`f[3] f[5,3] | once`"""
    g = jx.grad(lambda u: np.logaddexp(x @ u, 0.0).sum())
    return jx.vmap(lambda e: jx.jvp(g, (w,), (e,))[1])(np.eye(3, dtype=w.dtype))


def meta_gradient(np, jx, w, x):
    """`f[3] f[5,3] | once tol=8`"""
    inner = lambda u: ((x @ u) ** 2).mean()  # noqa: E731
    return jx.grad(lambda u: inner(u - 0.1 * jx.grad(inner)(u)))(w)


def fixed_point(np, jx, x):
    """`f[4]`"""
    return jx.lax.fori_loop(0, 8, lambda i, v: np.cos(v), x)


def sphere_projection(np, jx, x):
    """`f[5,3]`"""
    return x / np.maximum(1.0, np.sqrt((x * x).sum(-1, keepdims=True)))
