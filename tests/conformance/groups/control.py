"""Control flow: loops, branches, Python's own around traced arrays."""

TABLE = """
python_loop | f[5] | __import__("functools").reduce(lambda a, k: a * 0.5 + np.sin(a * k), range(4), x)
python_branch | f[5] | np.sin(x) if x.ndim == 1 else np.cos(x)
cond | f[5] | jx.lax.cond(x[0] > 0, lambda a: a * 2, lambda a: a - 1, x)
cond_no_operand | f[5] | jx.lax.cond(x.sum() > 0, lambda: x, lambda: -x)
switch | f[5] i[]k+ | jx.lax.switch(y, [lambda a: a, lambda a: a * 2, lambda a: a * a], x)
select | f[5] f[5] | jx.lax.select(x > y, x, y)
select_n | f[5] f[5] | jx.lax.select_n(x > y, x, y)
while_loop | f[5]+ | jx.lax.while_loop(lambda a: a.sum() < 50, lambda a: a * 2, x) | value
map | f[5,3] | jx.lax.map(lambda r: np.sin(r) * r.sum(), x)
associative_scan | f[7] | jx.lax.associative_scan(np.add, x)
clamp | f[5] | jx.lax.clamp(np.asarray(-1, x.dtype), x, np.asarray(1, x.dtype))
stop_gradient | f[5] | x * jx.lax.stop_gradient(np.sin(x))
straight_through | f[5] | x + jx.lax.stop_gradient(np.round(x) - x)
unrolled_newton | f[5]+ | __import__("functools").reduce(lambda r, _: 0.5 * (r + x / r), range(5), x)
checkpoint | f[5] | jx.checkpoint(lambda a: np.sin(np.sin(a)))(x)
"""


def fori_sum(np, jx, x):
    """`f[5]`"""
    return jx.lax.fori_loop(0, 5, lambda i, a: a + x[i] * i, np.zeros((), x.dtype))


def fori_matrix_power(np, jx, x):
    """`f[3,3]u | tol=4`"""
    return jx.lax.fori_loop(0, 4, lambda i, a: a @ x, np.eye(3, dtype=x.dtype))


def fori_pair(np, jx, x):
    """`f[4]`"""
    return jx.lax.fori_loop(0, 3, lambda i, c: (c[1], c[0] + np.sin(c[1])), (x, x * 2))


def fori_update(np, jx, x):
    """`f[6]`"""
    return jx.lax.fori_loop(1, 6, lambda i, a: a.at[i].set(a[i] + 0.5 * a[i - 1]), x)


def fori_nested(np, jx, x):
    """`f[3,4]`"""

    def row(i, a):
        return jx.lax.fori_loop(0, 4, lambda j, b: b.at[i, j].set(b[i, j] * (i + j)), a)

    return jx.lax.fori_loop(0, 3, row, x)


def fori_bound_of_argument(np, jx, x, n):
    """`f[5] i[]k1 | value novmap`"""
    return jx.lax.fori_loop(0, n, lambda i, a: a * 0.5 + 1, x)


def fori_bound_mapped(np, jx, x, n):
    """`f[5] i[]k1 | value`"""
    return jx.lax.fori_loop(0, n, lambda i, a: np.sin(a) + i, x)


def fori_dict(np, jx, x):
    """`f[5]`"""
    return jx.lax.fori_loop(0, 3, lambda i, s: {"a": s["a"] * 0.5, "n": s["n"] + s["a"].sum()}, {"a": x, "n": x[0]})


def scan_cumulative(np, jx, x):
    """`f[6]`"""
    return jx.lax.scan(lambda c, v: (c + v, c * v), np.zeros((), x.dtype), x)


def scan_rows(np, jx, x, w):
    """`f[4,3] f[3,3]`"""
    return jx.lax.scan(lambda h, v: ((t := np.tanh(h @ w + v)), t.sum()), np.zeros(3, x.dtype), x)


def scan_reverse(np, jx, x):
    """`f[6]`"""
    return jx.lax.scan(lambda c, v: (c * 0.9 + v, c), x[0], x, reverse=True)


def scan_length(np, jx, x):
    """`f[4]`"""
    return jx.lax.scan(lambda c, _: (np.sin(c), c), x, None, length=3)


def scan_pair_of_inputs(np, jx, x, y):
    """`f[5] f[5]`"""
    return jx.lax.scan(lambda c, vs: (c * vs[0] + vs[1], c), np.ones((), x.dtype), (x, y))


def scan_recurrence(np, jx, x):
    """`f[8]`"""
    return jx.lax.scan(lambda c, v: ((c[1], c[0] + c[1] + v), c[0]), (x[0], x[1]), x)[1]


def while_newton(np, jx, x):
    """`f[5]+ | value novmap`"""

    def step(s):
        return s[0] + 1, 0.5 * (s[1] + x / s[1])

    return jx.lax.while_loop(lambda s: s[0] < 6, step, (0, x))[1]


def collatz_length(np, jx, n):
    """`i[]k1`"""
    step = lambda s: (np.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1)  # noqa: E731
    return jx.lax.while_loop(lambda s: s[0] > 1, step, (n, np.asarray(0, n.dtype)))[1]


def masked_loop(np, jx, x):
    """`f[5]`"""
    return jx.lax.fori_loop(0, 6, lambda i, a: np.where(a > 1, a * 0.5, a + 0.75), x)


def generator_sum(np, jx, x):
    """`f[4,3]`"""
    return sum(np.sin(x[k]) * (k + 1) for k in range(4))


def list_of_results(np, jx, x):
    """`f[4]`"""
    out = []
    for k in range(3):
        out.append(x**k)
    return np.stack(out)


def python_recursion(np, jx, x):
    """`f[5]`"""

    def f(k, v):
        return v if k == 0 else np.sin(f(k - 1, v)) + v

    return f(3, x)


def horner(np, jx, x, c):
    """`f[5] f[4]`"""
    total = np.zeros_like(x)
    for k in range(4):
        total = total * x + c[k]
    return total


def runge_kutta(np, jx, x):
    """`f[4]`"""
    f = lambda v: -v + np.sin(v)  # noqa: E731

    def step(i, v):
        k1 = f(v)
        k2 = f(v + 0.05 * k1)
        k3 = f(v + 0.05 * k2)
        k4 = f(v + 0.1 * k3)
        return v + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return jx.lax.fori_loop(0, 5, step, x)


def triangular_solve_loop(np, jx, x, y):
    """`f[4,4] f[4] | tol=4`"""

    def step(i, out):
        return out.at[i].set((y[i] - x[i] @ out * 0.1) / (2.0 + i))

    return jx.lax.fori_loop(0, 4, step, np.zeros(4, x.dtype))


def cond_nested(np, jx, x):
    """`f[5]`"""
    inner = lambda a: jx.lax.cond(a[1] > 0, lambda b: np.sin(b) * b[0], lambda b: b * b, a)  # noqa: E731
    return jx.lax.cond(x[0] > x[1], inner, lambda a: a - inner(-a), x)


def cond_tree(np, jx, x, y):
    """`f[4] f[4]`"""
    yes = lambda d: {"s": d["a"] * d["b"], "n": d["b"].sum()}  # noqa: E731
    return jx.lax.cond(x.sum() > y.sum(), yes, lambda d: {"s": d["b"], "n": d["a"][0]}, {"a": x, "b": y})


def cond_closure(np, jx, x, w):
    """`f[3] f[3,3]`"""
    z = w @ x
    return jx.lax.cond(z[0] > 0, lambda a: a * z + w[0], lambda a: np.cos(a) * w[1], x)


def switch_out_of_range(np, jx, x, k):
    """`f[5] i[]k`"""
    return jx.lax.switch(k * 2, [lambda a: a * 3, lambda a: np.exp(-a * a), lambda a: a.sum() * a], x)


def cond_in_scan(np, jx, x):
    """`f[6]`"""

    def step(c, v):
        c = jx.lax.cond(v > c, lambda a, b: a + np.sin(b), lambda a, b: a * 0.5, c, v)
        return c, c * v

    return jx.lax.scan(step, np.zeros((), x.dtype), x)


def cond_in_fori(np, jx, x):
    """`f[6]`"""
    body = lambda i, a: jx.lax.cond(i % 2 == 0, lambda b: b * 0.9 + 1, lambda b: np.cos(b), a)  # noqa: E731
    return jx.lax.fori_loop(0, 5, body, x)


def scan_in_cond(np, jx, x):
    """`f[6]`"""
    total = lambda a: jx.lax.scan(lambda c, v: (c * 0.5 + v, c), a[0] * 0, a)  # noqa: E731
    return jx.lax.cond(x[0] > 0, total, lambda a: (a[1], a * 2), x)


def while_pair_swap(np, jx, x, y, n):
    """`f[5] f[5] i[]k1 | value novmap`"""
    step = lambda s: (s[0] + 1, s[2], s[1])  # noqa: E731
    return jx.lax.while_loop(lambda s: s[0] < n, step, (np.zeros_like(n), x, y))


def while_mapped(np, jx, x, n):
    """`f[5] i[]k1 | value`"""
    step = lambda s: (s[0] - 1, np.sin(s[1]) + s[0].astype(x.dtype))  # noqa: E731
    return jx.lax.while_loop(lambda s: s[0] > 0, step, (n, x))


def while_no_iteration(np, jx, x):
    """`f[5]+ | value`"""
    return jx.lax.while_loop(lambda a: a.sum() < 0, lambda a: a * 2, x)


def while_forward(np, jx, x):
    """`f[5]+ | value`"""
    loop = lambda a: jx.lax.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, np.sin(s[1]) * a), (0, a))[1]  # noqa: E731
    return jx.jvp(loop, (x,), (np.cos(x),))


def while_update(np, jx, n):
    """`i[]k1 | novmap`"""

    def step(s):
        k, marked = s
        return k + 1, marked.at[k * 2 % 10].set(marked[k] + k)

    return jx.lax.while_loop(lambda s: s[0] < n + 3, step, (np.zeros_like(n), np.arange(10)))


def while_in_cond_in_scan(np, jx, x):
    """`f[6]+ | value`"""
    halve = lambda v: jx.lax.while_loop(lambda u: u > 1, lambda u: u * 0.5, v)  # noqa: E731

    def step(c, v):
        y = jx.lax.cond(v > c, lambda a: halve(a * 4), lambda a: a, v)
        return c + y * 0.25, y

    return jx.lax.scan(step, x[0] * 0, x)


def gcd(np, jx, x, y):
    """`i[]k1 i[]k1`"""
    return jx.lax.while_loop(lambda s: s[1] > 0, lambda s: (s[1], s[0] % s[1]), (x * 12, y * 18))[0]


def bisection(np, jx, x):
    """`f[]+ | value`"""

    def step(s):
        low, high = s
        middle = (low + high) / 2
        return jx.lax.cond(middle * middle < x, lambda: (middle, high), lambda: (low, middle))

    return jx.lax.while_loop(lambda s: s[1] - s[0] > 1e-3, step, (np.zeros_like(x), x + 1))[0]


def scan_unrolled(np, jx, x):
    """`f[7]`"""
    return jx.lax.scan(lambda c, v: (c * 0.9 + v, c * v), np.zeros((), x.dtype), x, unroll=3)


def scan_unrolled_reverse(np, jx, x):
    """`f[7,2]`"""
    return jx.lax.scan(lambda c, v: (c * 0.9 + v, c.sum()), np.zeros(2, x.dtype), x, reverse=True, unroll=2)


def map_by_batches(np, jx, x):
    """`f[5,3]`"""
    return jx.lax.map(lambda r: np.sin(r) * r.sum(), x, batch_size=2)


def associative_scan_affine(np, jx, x, y):
    """`f[6]u f[6]`"""
    combine = lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])  # noqa: E731
    return jx.lax.associative_scan(combine, (x, y), reverse=True)


def fori_unused_and_unchanged(np, jx, x, w):
    """`f[3] f[3]`"""
    body = lambda i, s: (s[0] * s[1], s[1], s[2] + np.exp(s[0]))  # noqa: E731
    return jx.lax.fori_loop(0, 3, body, (x, w, x))[0]
