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
