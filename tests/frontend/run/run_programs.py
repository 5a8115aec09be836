"""Programs whose Python looks at values while they are differentiated: each runs with lamina and, as it stands, with jax.

`programs(lm, lnp, value)` are functions without arguments, whose results are compared; `lm` is lamina or jax, `lnp` its NumPy.
jax has `float(x)` of `value(x)` alone, which is `stop_gradient` there and nothing here.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def programs(lm: Any, lnp: Any, value: Any) -> dict[str, Any]:
    """The programs by name."""
    X = np.array([0.5, -1.25, 2.0, 0.75])
    found = {}

    def program(function):
        found[function.__name__] = function
        return function

    # -- branches

    def branch(x):
        if x.sum() > 0:
            return (x * x).sum()
        elif x[0] < -5:
            return x[0]
        return -(x**3).sum()

    @program
    def branches():
        return [lm.grad(branch)(X), lm.grad(branch)(-X), lm.grad(branch)(X * 0 - 6), lm.value_and_grad(branch)(X)]

    @program
    def second_derivatives_of_branches():
        return [lm.hessian(branch)(X), lm.grad(lambda x: lm.grad(branch)(x).sum())(-X), lm.jacfwd(lm.jacrev(branch))(-X)]

    @program
    def ternaries_and_words():
        def f(x):
            a = x[0] if x[0] > 0 and not x[1] > 0 else x[1]
            b = x[2] if x[2] > 5 or x[3] > 0.5 else -x[2]
            return a * b * (2.0 if 0 < x[3] < 1 else 3.0)

        return [lm.grad(f)(X), lm.grad(f)(-X), lm.jvp(f, (X,), (X,))]

    @program
    def elements_one_by_one():
        def leaky(x):
            return sum((v if v > 0 else 0.1 * v) for v in x)

        return [lm.grad(leaky)(X), lm.jacfwd(leaky)(X), lm.vjp(leaky, X)[1](2.0)]

    @program
    def a_rule_that_depends_on_the_largest():
        def f(x):
            k = int(lnp.argmax(lnp.abs(x)))
            return x[k] ** 2 + sum(x[j] for j in range(len(x)) if j != k)

        return [lm.grad(f)(X), lm.grad(f)(X[::-1].copy())]

    @program
    def membership_and_equality():
        def f(x):
            return x.sum() if (x == 2.0).any() else (x * x).sum()

        return [lm.grad(f)(X), lm.grad(f)(X + 1)]

    @program
    def a_match_on_an_integer():
        def f(x):
            match int(lnp.sum(x > 0)):
                case 0:
                    return x[0]
                case 3:
                    return x[1] * x[2]
                case _:
                    return x.prod()

        return [lm.grad(f)(X), lm.grad(f)(-X), lm.grad(f)(-X * 0)]

    # -- loops

    @program
    def newton():
        def root(a):
            x = a
            while abs(x * x - a) > 1e-13:
                x = (x + a / x) / 2
            return x

        return [lm.grad(root)(3.0), lm.grad(lm.grad(root))(3.0), lm.jvp(root, (2.0,), (1.0,))]

    @program
    def collatz():
        def f(x, n):
            while n != 1:
                if n % 2 == 0:
                    x, n = x * 0.5, n // 2
                else:
                    x, n = 3 * x + 1, 3 * n + 1
            return x

        return [lm.grad(f)(1.5, 7), lm.value_and_grad(f)(1.5, 12)]

    @program
    def loops_that_break_and_continue():
        def f(x):
            total = 0.0
            for v in x:
                if v < 0:
                    continue
                total = total + v**2
                if total > 1:
                    break
            else:
                total = total * 100
            return total

        return [lm.grad(f)(X), lm.grad(f)(X * 0.1), lm.grad(f)(X * 3)]

    @program
    def a_series_until_it_converged():
        def exp(x):
            term, total, k = 1.0, 1.0, 0
            while abs(term) > 1e-16 and k < 60:
                k += 1
                term = term * x / k
                total = total + term
            return total

        return [lm.grad(exp)(1.25), lm.grad(lm.grad(exp))(-0.5)]

    @program
    def runge_kutta_with_rejected_steps():
        def solve(rate):
            t, y, h = 0.0, 1.0, 0.5
            while t < 1.0 - 1e-12:
                h = min(h, 1.0 - t)
                k1 = -rate * y
                k2 = -rate * (y + h * k1)
                error = float(value(abs(h * (k2 - k1) / 2)))
                if error > 1e-3:
                    h = h / 2
                    continue
                t, y = t + h, y + h * (k1 + k2) / 2
                h = h * 1.5
            return y

        return [lm.value_and_grad(solve)(2.0), lm.grad(solve)(0.5)]

    @program
    def repeated_as_often_as_a_value_says():
        def f(x):
            y = x
            for _ in range(int(lnp.ceil(x.max()))):
                y = y * x
            return y.sum()

        return [lm.grad(f)(X), lm.grad(f)(X + 1.5)]

    @program
    def bisection():
        def f(target):
            low, high = 0.0, 4.0
            for _ in range(30):
                middle = (low + high) / 2
                if middle**3 > target:
                    high = middle
                else:
                    low = middle
            return target * (low + high) / 2

        return [lm.value_and_grad(f)(5.0)]

    # -- containers

    @program
    def lists_and_dicts():
        def f(params, x):
            layers = []
            for name in sorted(params):
                x = lnp.tanh(params[name] @ x)
                layers.append(x)
            best = max(layers, key=lambda h: float(value(h.sum())))
            return (best * best).sum() + layers[0][0]

        params = {"a": np.eye(4) * 0.5, "b": np.arange(16.0).reshape(4, 4) / 10}
        return [lm.grad(f)(params, X), lm.grad(f, argnums=(0, 1))(params, X)]

    @program
    def a_stack_machine():
        def f(x):
            stack = []
            for word in "x x * 3 + x *".split():
                if word in "+*":
                    b, a = stack.pop(), stack.pop()
                    stack.append(a + b if word == "+" else a * b)
                else:
                    stack.append(x if word == "x" else float(word))
            return stack.pop()

        return [lm.grad(f)(1.5), lm.grad(lm.grad(f))(1.5)]

    @program
    def sorted_by_value():
        def f(x):
            order = sorted(range(4), key=lambda k: float(value(x[k])))
            return sum((k + 1) * x[j] ** 2 for k, j in enumerate(order))

        return [lm.grad(f)(X), lm.hessian(f)(X)]

    @program
    def a_tree_recursion():
        def tree(x, depth):
            if depth == 0 or abs(x) < 0.2:
                return x
            return tree(x * 0.5, depth - 1) * tree(x - 0.4, depth - 1)

        return [lm.grad(tree)(1.5, 3), lm.grad(tree)(0.3, 2)]

    @program
    def a_cache_between_steps():
        def f(x):
            seen = {}

            def fib(n):
                if n not in seen:
                    seen[n] = x * n if n < 2 else fib(n - 1) + fib(n - 2) * x
                return seen[n]

            return fib(8)

        return [lm.grad(f)(0.7)]

    @program
    def beam_search():
        def score(w):
            beams = [((), 0.0)]
            for step in range(3):
                grown = [((*path, k), s + w[step, k] * (1 + len(path))) for path, s in beams for k in range(3)]
                beams = sorted(grown, key=lambda beam: -float(value(beam[1])))[:2]
            return beams[0][1] - beams[1][1] * 0.5

        return [lm.value_and_grad(score)(np.cos(np.arange(9.0)).reshape(3, 3))]

    @program
    def k_means():
        def loss(centers):
            points = np.array([[0.0, 0.1], [0.2, 0.0], [2.0, 2.1], [1.9, 2.2], [5.0, 0.0]])
            total = 0.0
            for point in points:
                distances = [((point - c) ** 2).sum() for c in centers]
                total = total + distances[int(np.argmin([float(value(d)) for d in distances]))]
            return total

        return [lm.value_and_grad(loss)(np.array([[0.0, 0.0], [2.0, 2.0], [4.0, 1.0]]))]

    # -- transformations in each other

    @program
    def grad_in_grad():
        def f(x):
            slope = lm.grad(branch)(x)
            return (slope**2).sum() if slope[0] > 0 else slope.sum()

        return [lm.grad(f)(X), lm.grad(f)(-X)]

    @program
    def grad_under_vmap_and_vmap_under_grad():
        rows = np.stack([X, X + 1, X - 1])
        smooth = lambda x: (lnp.sin(x) * x).sum()  # noqa: E731
        per_row = lm.vmap(lm.grad(smooth))

        def f(x):
            y = lm.vmap(smooth)(x)
            return y.sum() if y[0] > 0 else (y * y).sum()

        return [per_row(rows), lm.grad(f)(rows), lm.grad(f)(-rows * 0.1), lm.vmap(lm.vmap(lm.grad(lnp.sin)))(rows)]

    @program
    def jit_in_grad_and_grad_in_jit():
        inner = lm.jit(lambda x: lnp.tanh(x).sum())

        def f(x):
            return inner(x) * 2 if inner(x) > 0 else inner(x * x)

        return [lm.grad(f)(X), lm.grad(f)(-X), lm.jit(lm.grad(inner))(X), lm.grad(lambda x: lm.jit(lm.grad(inner))(x).sum())(X)]

    @program
    def jvp_in_vjp():
        def f(x):
            y, dy = lm.jvp(branch, (x,), (x * 2,))
            return y * dy if dy > 0 else y

        y, pull = lm.vjp(f, X)
        return [y, pull(1.0), lm.jvp(lm.grad(f), (X,), (X,))]

    @program
    def jacobians():
        def f(x):
            return lnp.stack([x[0] * x[1], x[2] if x[3] > 0 else x[3], lnp.exp(x).sum()])

        return [lm.jacfwd(f)(X), lm.jacrev(f)(X), lm.jacrev(f)(-X), lm.linearize(f, X)[1](X)]

    @program
    def loops_of_ours_inside():
        def f(x):
            y = lm.lax.fori_loop(0, 3, lambda i, c: c * x[0] + i, x)
            if y.sum() > 3:
                y = lm.lax.scan(lambda c, v: (c + v * v, c), 0.0, y)[0]
            else:
                y = lm.lax.cond(y[0] > 0, lambda: y.sum(), lambda: y.prod())
            return y

        return [lm.grad(f)(X), lm.grad(f)(X + 1)]

    @program
    def per_sample_with_a_python_loop():
        def loss(w, x, y):
            error = w @ x - y
            return error**2 if abs(error) < 1 else 2 * abs(error) - 1

        w = np.array([0.1, 0.2, -0.3, 0.4])
        return [lnp.stack([lm.grad(loss)(w, np.roll(X, k), float(k)) for k in range(4)])]

    @program
    def gradient_descent_with_line_search():
        def f(x):
            return ((x - 1) ** 2 * np.array([1.0, 3.0, 0.5, 2.0])).sum()

        x = X
        for _ in range(5):
            value, slope = lm.value_and_grad(f)(x)
            step = 1.0
            while f(x - step * slope) > value - 0.5 * step * (slope * slope).sum():
                step /= 2
            x = x - step * slope
        return [x]

    @program
    def optimize_inside_of_grad():
        def solution(a):
            x = 1.0
            for _ in range(20):
                slope = lm.grad(lambda x: (x * x - a) ** 2)(x)
                if abs(slope) < 1e-10:
                    break
                x = x - slope / (8 * float(value(x)) ** 2)
            return x

        return [lm.grad(solution)(2.0)]

    # -- numbers, types, closures

    @program
    def reading_is_a_constant():
        def f(x):
            scale = float(value(x[1])) + value(x[0]).item() + complex(value(x[0])).real
            scale += value(x).astype(int).tolist()[2] + len(f"{value(x[0]):.2f}")
            return (x * scale * int(value(x[2]))).sum()

        return [lm.grad(f)(X)]

    @program
    def round_and_index():
        def f(x):
            table = [1.0, 10.0, 100.0]
            return x.sum() * table[round(float(value(x[2])))] + x[[2, 0][int(x[0] > 0)]]

        return [lm.grad(f)(X), lm.grad(f)(X - 1)]

    @program
    def halves_and_singles():
        f = lambda x: (x * 3 if x[0] > 0 else x * 5).sum()  # noqa: E731
        return [lm.grad(f)(X.astype(t)) for t in (np.float32, np.float16, np.float64)]

    @program
    def complex_numbers():
        def f(z):
            return (z * lnp.conj(z)).real.sum() if z.real.sum() > 0 else z.imag.sum()

        return [lm.grad(f)(X + 1j * X[::-1]), lm.grad(f)(-X + 1j * X[::-1])]

    @program
    def an_object_with_state():
        class Counter:
            def __init__(self):
                self.calls, self.values = 0, []

            def __call__(self, x):
                self.calls += 1
                self.values.append(float(value(x.sum())))
                return (x * self.calls).sum()

        counter = Counter()
        slopes = [lm.grad(counter)(X) for _ in range(3)]
        return [*slopes, np.array(counter.values), counter.calls]

    @program
    def a_scalar_and_an_empty_array():
        f = lambda x: x.sum() if x.size > 0 and x.max() > 0 else 2 * x.sum()  # noqa: E731
        return [lm.grad(f)(np.zeros((0, 3))), lm.grad(f)(np.ones((1, 1))), lm.grad(lambda x: x if x > 0 else -x)(-2.0)]

    @program
    def auxiliary_values():
        def f(x):
            steps = [x]
            while steps[-1].sum() < 20:
                steps.append(steps[-1] * 2)
            return steps[-1].sum(), {"steps": len(steps), "first": steps[0]}

        value, slope = lm.value_and_grad(f, has_aux=True)(X)
        return [value[0], value[1]["steps"], value[1]["first"], slope, *lm.grad(f, has_aux=True)(X)[0]]

    @program
    def stopped_gradients():
        def f(x):
            y = lm.lax.stop_gradient(x)
            return (x * np.asarray(y)).sum() if y[0] > 0 else x.sum()

        return [lm.grad(f)(X), lm.grad(f)(-X)]

    @program
    def a_custom_rule():
        @lm.custom_jvp
        def clipped(x):
            return x if x > 1 else x * 0

        clipped.defjvps(lambda t, ans, x: t * 7)
        return [lm.grad(lambda x: clipped(x) if x > 0 else x)(2.0), lm.grad(lambda x: clipped(x) ** 2)(0.5)]

    @program
    def matrices_and_a_pivot():
        def determinant(a):
            rows, total = list(a), 1.0
            for k in range(len(rows)):
                pivot = max(range(k, len(rows)), key=lambda j: abs(float(value(rows[j][k]))))
                if pivot != k:
                    rows[k], rows[pivot] = rows[pivot], rows[k]
                    total = -total
                total = total * rows[k][k]
                for j in range(k + 1, len(rows)):
                    rows[j] = rows[j] - rows[k] * (rows[j][k] / rows[k][k])
            return total

        a = np.array([[0.0, 2.0, 1.0], [1.0, 0.5, -1.0], [3.0, 1.0, 2.0]])
        return [lm.value_and_grad(determinant)(a)]

    return found
