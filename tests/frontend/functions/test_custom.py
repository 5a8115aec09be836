"""Functions with derivatives of their own. The rules differ from the true derivatives, so that it shows which were taken."""

from __future__ import annotations

from functools import partial

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

XS = np.linspace(-2, 2, 5)
A, B = np.float64(2), np.float64(3)


def close(got, want) -> None:
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-9, atol=1e-12)


@lm.custom_jvp
def pushed(x, y):
    return lnp.sin(x) * y


@pushed.defjvp
def _pushed_rule(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    return pushed(x, y), 2 * lnp.cos(x) * dx * y + lnp.sin(x) * dy


@lm.custom_vjp
def pulled(x, y):
    return x * y


pulled.defvjp(lambda x, y: (x * y, (lnp.cos(x), y)), lambda kept, g: (10 * kept[0] * g, kept[1] * g))


@pytest.mark.parametrize("wrap", [lambda f: f, lm.jit], ids=["eager", "jit"])
def test_rules_are_taken_in_every_transformation(wrap) -> None:
    close(wrap(pushed)(A, B), np.sin(2) * 3)
    close(wrap(lm.grad(pushed))(A, B), 6 * np.cos(2))
    close(wrap(lambda x: lm.jvp(pushed, (x, B), (1.0, 0.0))[1])(A), 6 * np.cos(2))
    close(wrap(lm.grad(lm.grad(pushed)))(A, B), -6 * np.sin(2))  # the rule, differentiated
    close(wrap(lm.grad(lm.grad(pushed), 1))(A, B), 2 * np.cos(2))
    close(wrap(lm.grad(pulled))(A, B), 10 * np.cos(2))
    close(wrap(lm.grad(pulled, 1))(A, B), 3)
    close(wrap(lm.grad(lm.grad(pulled)))(A, B), -10 * np.sin(2))
    for f, want in ((pushed, 6 * np.cos(XS)), (pulled, 10 * np.cos(XS))):
        mapped = lm.vmap(f, (0, None))
        close(wrap(lm.vmap(lm.grad(f), (0, None)))(XS, B), want)
        close(wrap(lm.grad(lambda x, m=mapped: m(x, B).sum()))(XS), want)
        close(wrap(lm.jacrev(mapped))(XS, B), np.diag(want))
    moved = wrap(lambda x: lm.jvp(lm.vmap(pushed, (0, None)), (x, B), (np.ones(5), 1.0))[1])(XS)
    close(moved, 6 * np.cos(XS) + np.sin(XS))


def test_rules_in_loops_and_branches() -> None:
    weights = np.array([1.0, 2.0, 3.0])

    def chain(f, x):
        return lm.scan(lambda c, w: (f(c, w), c), x, weights)[0]

    points = [0.5, 0.5, 1.0]  # what each iteration of x * y starts from
    want = np.prod(10 * np.cos(points))
    close(lm.grad(partial(chain, pulled))(0.5), want)
    close(lm.jit(lm.grad(partial(chain, pulled)))(0.5), want)
    close(lm.grad(partial(chain, pushed))(0.5), lm.jvp(partial(chain, pushed), (0.5,), (1.0,))[1])
    close(lm.grad(lambda x: lm.cond(x > 0, lambda x: pulled(x, 2.0), lambda x: x, x))(0.5), 10 * np.cos(0.5))
    close(lm.grad(lambda x: lm.cond(x > 0, lambda x: pulled(x, 2.0), lambda x: x, x))(-0.5), 1)


def test_what_rules_capture() -> None:
    c, k = np.arange(5.0), np.arange(5.0) + 1

    @lm.custom_jvp
    def scaled(x):
        return x * c

    scaled.defjvps(lambda t, value, x: 7 * t * k + 0 * value)
    close(lm.grad(lambda x: scaled(x).sum())(XS), 7 * k)
    close(lm.vmap(lm.grad(lambda x: scaled(x * XS).sum()))(np.ones(3)), np.full(3, (7 * k * XS).sum()))

    def outer(c):
        inner = lm.custom_vjp(lambda x: x * c)
        inner.defvjp(lambda x: (x * c, None), lambda _, g: (g * c,))
        return inner(2.0)

    close(outer(3.0), 6)
    with pytest.raises(lm.DifferentiationError, match="captures a value that is differentiated: pass it as an argument"):
        lm.grad(outer)(3.0)


def test_functions_as_arguments() -> None:
    @partial(lm.custom_jvp, nondiff_argnums=(0,))
    def applied(f, x):
        return f(x)

    @applied.defjvp
    def _(f, primals, tangents):
        return f(primals[0]), 2.0 * tangents[0]

    close(applied(lambda x: x**3, 3.0), 27)
    close(lm.grad(applied, 1)(lambda x: x**3, 3.0), 2)

    @partial(lm.custom_vjp, nondiff_argnums=(1,))
    def other(x, f):
        return f(x)

    other.defvjp(lambda x, f: (f(x), x), lambda f, x, g: (5 * g * f(x),))
    close(lm.grad(other)(4.0, lambda x: x**2), 80)
    close(lm.grad(other)(4.0, f=lambda x: x**2), 80)


def test_implicit_differentiation_of_a_fixed_point() -> None:
    """The rule calls its own function with another one that it makes: rules are traced where they are needed."""

    @partial(lm.custom_vjp, nondiff_argnums=(0,))
    def fixed_point(f, a, start):
        def going(pair):
            return lnp.abs(pair[0] - pair[1]) > 1e-12

        return lm.while_loop(going, lambda pair: (pair[1], f(a, pair[1])), (start, f(a, start)))[1]

    def forward(f, a, start):
        x = fixed_point(f, a, start)
        return x, (a, x)

    def reverse(f, kept, g):
        a, x = kept
        _, by_a = lm.vjp(lambda a: f(a, x), a)

        def step(packed, u):
            a, x, g = packed
            return g + lm.vjp(lambda x: f(a, x), x)[1](u)[0]

        return by_a(fixed_point(step, (a, x, g), g))[0], lnp.zeros_like(x)

    fixed_point.defvjp(forward, reverse)

    def root(a):
        return fixed_point(lambda a, x: 0.5 * (x + a / x), a, a)

    close(root(2.0), np.sqrt(2))
    close(lm.grad(root)(2.0), 0.5 / np.sqrt(2))
    close(lm.grad(lm.grad(root))(2.0), -0.25 * 2**-1.5)
    close(lm.jit(lm.vmap(lm.grad(root)))(np.array([1.0, 2.0, 3.0])), 0.5 / np.sqrt([1.0, 2.0, 3.0]))


def test_trees_integers_and_missing_gradients() -> None:
    @lm.custom_vjp
    def f(tree, n):
        return {"out": tree["a"] * n, "next": n + 1}

    f.defvjp(lambda tree, n: (f(tree, n), n), lambda n, g: ({"a": 100 * n * g["out"], "b": lnp.zeros(3)}, None))
    found = lm.grad(lambda t: f(t, 2)["out"].sum())({"a": np.ones(3), "b": np.ones(3)})
    close(found["a"], [200] * 3)
    close(found["b"], [0] * 3)

    @lm.custom_jvp
    def g(x, n):
        return x * n

    @g.defjvp
    def _(primals, tangents):
        assert tangents[1].shape == () and tangents[1].dtype == np.int64  # zero, as there is no tangent
        return g(*primals), 3 * tangents[0] + tangents[1]

    close(lm.grad(g)(2.0, 5), 3)


def test_gradients_from_a_pull() -> None:
    @lm.custom_gradient
    def squared(x):
        return x * x, lambda g: 2 * (2 * x * g)

    close(squared(3.0), 9)
    close(lm.grad(squared)(3.0), 12)
    close(lm.grad(lm.grad(squared))(3.0), 4)

    @lm.custom_gradient
    def product(x, y):
        return x * y, lambda g: (3 * g * y, g * x)

    close(lm.grad(product, (0, 1))(A, B), (9, 2))
    close(lm.vmap(lm.grad(product))(XS, XS), 3 * XS)


def test_methods_and_calls_by_name() -> None:
    class Model:
        scale = 2.0

        @partial(lm.custom_jvp, nondiff_argnums=(0,))
        def apply(self, x, y=1.0):
            return self.scale * x * y

        @apply.defjvp
        def _(self, primals, tangents):
            return self.apply(*primals), self.scale * 5 * tangents[0]

    close(Model().apply(3.0), 6)
    close(lm.grad(lambda x: Model().apply(x, y=2.0))(3.0), 10)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: lm.grad(lm.custom_jvp(lnp.sin))(1.0),
            AttributeError,
            "sin has no rule for its derivative: give it one by .defjvp",
        ),
        (
            lambda: lm.jvp(pulled, (A, B), (1.0, 1.0)),
            lm.DifferentiationError,
            "in reverse alone .custom_vjp.: use lm.vjp or lm.grad",
        ),
        (lambda: _with_rule(lambda p, t: p[0]), lm.DifferentiationError, r"must return a pair \(value, tangent\)"),
        (
            lambda: _with_rule(lambda p, t: (p[0], (t[0], t[0]))),
            lm.DifferentiationError,
            "its tangent, must have the structure",
        ),
        (lambda: _with_rule(lambda p, t: (lnp.zeros(3), t[0])), lm.DifferentiationError, r"its value, must be float64\[\]"),
        (lambda: _with_pull(lambda x: x, None), lm.DifferentiationError, r"must return a pair \(value, residuals\)"),
        (
            lambda: _with_pull(lambda x: (x, x), lambda r, g: g),
            lm.DifferentiationError,
            "must return a tuple with a gradient for each",
        ),
        (
            lambda: _with_pull(lambda x: (x, x), lambda r, g: (lnp.zeros(3),)),
            lm.DifferentiationError,
            "the gradient by argument 0",
        ),
        (lambda: lm.custom_jvp(lnp.sin, (0,)).defjvps(None), TypeError, "use defjvp"),
    ],
)
def test_rules_that_are_wrong(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call()


def _with_rule(rule) -> None:
    f = lm.custom_jvp(lambda x: x * 2)
    f.defjvp(rule)
    lm.grad(f)(1.0)


def _with_pull(forward, reverse) -> None:
    f = lm.custom_vjp(lambda x: x * 2)
    f.defvjp(forward, reverse)
    lm.grad(f)(1.0)


def test_a_jitted_function_is_traced_again_where_it_is_differentiated() -> None:
    f = lm.jit(lambda x: pushed(x, B))

    def both(x):
        return f(x) + lm.grad(f)(x)

    close(lm.jit(both)(A), np.sin(2) * 3 + 6 * np.cos(2))
    close(lm.jit(lambda x: lm.grad(f)(x) + f(x))(A), np.sin(2) * 3 + 6 * np.cos(2))


def test_pulls_of_arrays_in_other_functions() -> None:
    y, pull = lm.vjp(lambda x: 2 * x**3 if x < 3 else np.pi * x, 4.0)
    close(lm.jit(pull)(1.0)[0], np.pi)
    w, x = np.ones(3), np.arange(12.0).reshape(4, 3) / 12
    y, pull = lm.vjp(lambda w: lnp.tanh(x @ w), w)
    close(lm.vmap(pull)(lnp.eye(len(y)))[0], lm.jacrev(lambda w: lnp.tanh(x @ w))(w))


def test_functions_and_words_beside_what_is_differentiated() -> None:
    def loss(w, model, mode="sum", *, scale=1.0):
        return getattr(lnp, mode)(model(w)) * scale

    w = np.arange(3.0)
    close(lm.grad(loss)(w, lnp.exp), np.exp(w))
    close(lm.grad(loss)(w, lnp.exp, "mean", scale=2.0), 2 * np.exp(w) / 3)
    value, gradient = lm.value_and_grad(lambda f, w, s: f(w).sum() * s, (1, 2))(lnp.sin, w, 3.0)
    close(value, 3 * np.sin(w).sum())
    close(gradient[0], 3 * np.cos(w))
    close(gradient[1], np.sin(w).sum())
    close(lm.jit(lambda w: lm.grad(loss, argnums=-3)(w, lnp.exp, "sum"))(w), np.exp(w))
    with pytest.raises(TypeError, match="expected an array or a number"):
        lm.grad(lambda f, w: f(w))(lnp.sin, 1.0)


def test_forward_rules_that_ask_what_may_change() -> None:
    found = []

    @lm.custom_vjp
    def scaled(x, factor, count):
        return x * factor * count

    def forward(x, factor, count):
        found.append((x.perturbed, factor.perturbed, count.perturbed))
        return scaled(x.value, factor.value, count.value), (factor.value, count.value, 3)

    def reverse(residuals, g):
        factor, count, number = residuals
        assert type(number) is int  # Python's numbers stay numbers
        return g * factor * count * (2 if number == 3 else lnp.nan), None, None

    scaled.defvjp(forward, reverse, symbolic_zeros=True)
    slope = lm.grad(lambda x: scaled(x, lm.stop_gradient(2 * x), 3).sum())(np.float32([1, 5]))
    np.testing.assert_array_equal(slope, [12, 60])
    assert found == [(True, False, False)]


@lm.custom_vjp
def calling(x):
    """Both rules call their function, whose derivative is taken to be 3 cos(x) f(x)."""
    return lnp.sin(x) * x


calling.defvjp(lambda x: (calling(x), (x, 2 * calling(x))), lambda kept, g: (3 * g * lnp.cos(kept[0]) * kept[1] / 2,))


@lm.custom_vjp
def otherwise(x):
    """The forward rule has another value, twice that of the function."""
    return lnp.sin(x) * x


otherwise.defvjp(lambda x: (2 * lnp.sin(x) * x, x), lambda x, g: (3 * g * lnp.cos(x) * lnp.sin(x) * x,))


def _derivatives(f, x: float) -> list[float]:
    """The derivatives of a function, as its rules have them, from the first on."""
    s, c = np.sin(x), np.cos(x)
    if f is calling:
        first = 3 * c * s * x
        second = -3 * s * s * x + 3 * c * first
        return [first, second, -3 * c * s * x - 6 * s * first + 3 * c * second]
    return [3 * c * s * x, 3 * (c * c - s * s) * x + 3 * c * s, -12 * c * s * x + 6 * (c * c - s * s)]


SECOND = {
    "grad grad": lambda f, x: lm.grad(lm.grad(f))(x),
    "jacfwd grad": lambda f, x: lm.jacfwd(lm.grad(f))(x),
    "jacfwd jacrev": lambda f, x: lm.jacfwd(lm.jacrev(f))(x),
    "jacrev jacrev": lambda f, x: lm.jacrev(lm.jacrev(f))(x),
    "hessian": lambda f, x: lm.hessian(f)(x),
    "hessian of a sum": lambda f, x: lm.hessian(lambda x: f(x).sum())(np.array([x, x]))[1, 1],
    "product": lambda f, x: lm.jvp(lm.grad(f), (x,), (1.0,))[1],
    "of both": lambda f, x: lm.jvp(lm.value_and_grad(f), (x,), (1.0,))[1][1],
    "linearize": lambda f, x: lm.linearize(lm.grad(f), x)[1](1.0),
    "pull": lambda f, x: lm.jvp(lambda x: lm.vjp(f, x)[1](1.0)[0], (x,), (1.0,))[1],
    "vmap": lambda f, x: lm.vmap(lm.hessian(f))(np.array([x, x]))[1],
    "of vmap": lambda f, x: lm.hessian(lambda x: lm.vmap(f)(x).sum())(np.array([x, x]))[1, 1],
    "in a loop": lambda f, x: lm.hessian(lambda x: lm.scan(lambda c, _: (c + f(x), None), 0.0, np.arange(3))[0])(x) / 3,
    "in a branch": lambda f, x: lm.hessian(lambda x: lm.cond(x > 0, f, lambda x: x, x))(x),
    "in jit": lambda f, x: lm.hessian(lambda x: lm.jit(f)(x))(x),
}


@pytest.mark.parametrize("f", [calling, otherwise], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", SECOND)
def test_forward_over_reverse(name, f) -> None:
    close(SECOND[name](f, 0.7), _derivatives(f, 0.7)[1])
    if name == "product":
        close(lm.jit(lambda x: SECOND[name](f, x))(0.7), _derivatives(f, 0.7)[1])


@pytest.mark.parametrize("f", [calling, otherwise], ids=lambda f: f.__name__)
def test_third_derivatives(f) -> None:
    product = partial(SECOND["product"], f)
    want = _derivatives(f, 0.7)[2]
    close(lm.jvp(product, (0.7,), (1.0,))[1], want)
    close(lm.grad(product)(0.7), want)
    close(lm.grad(lm.grad(lm.grad(f)))(0.7), want)


def test_values_beside_gradients_are_those_of_the_forward_rule() -> None:
    twice = 2 * np.sin(0.7) * 0.7
    slope = 2 * np.sin(0.7) + 2 * np.cos(0.7) * 0.7
    close(lm.value_and_grad(otherwise)(0.7)[0], twice)
    close(lm.vjp(otherwise, 0.7)[0], twice)
    close(lm.jvp(lambda x: lm.vjp(otherwise, x)[0], (0.7,), (1.0,)), (twice, slope))
    close(lm.jvp(lm.value_and_grad(otherwise), (0.7,), (1.0,))[1][0], slope)
    close(otherwise(0.7), twice / 2)


@pytest.mark.parametrize("wrap", [lambda f: f, lm.jit, lambda f: lm.vmap(f, in_axes=0), lm.checkpoint])
def test_an_operand_without_a_tangent_drops_out_beside_an_infinite_slope(wrap) -> None:
    @lm.custom_jvp
    def f(a, b):
        return a * b

    f.defjvps(
        lambda t, y, a, b: (-t * b + t) * 2.0, lambda t, y, a, b: lnp.where(a > 0, -t, t * 3.0) * (1.0 / (b - b)) + t * np.inf
    )
    a, b = np.array([3.0, -1.0]), np.array([2.0, 4.0])
    for k, want in ((0, [-2.0, -6.0]), (1, [np.nan, np.inf])):
        moved = lm.jvp(lambda x, k=k: wrap(f)(*((x, b) if k == 0 else (a, x))), ((a, b)[k],), (np.ones(2),))[1]
        np.testing.assert_array_equal(moved, want)


def test_a_rule_that_is_not_linear_has_no_forward_mode() -> None:
    @lm.custom_vjp
    def clipped(x):
        return x * x

    clipped.defvjp(lambda x: (clipped(x), x), lambda x, g: (lnp.clip(g, -1, 1) * 2 * x,))
    close(lm.grad(lambda x: 5 * clipped(x))(3.0), 6)
    with pytest.raises(lm.DifferentiationError, match="its own reverse rule is not linear in the cotangents"):
        lm.jvp(lm.value_and_grad(clipped), (3.0,), (1.0,))
    # where no result depends on the value of that call, it has none to have
    close(lm.jvp(lm.grad(lambda x: 5 * clipped(x)), (3.0,), (1.0,)), (6, 2))
    close(lm.jit(lm.hessian(lambda x: 5 * clipped(x)))(3.0), 2)


def _product_with_counts() -> tuple[lm.custom_jvp, list[int]]:
    counts = [0, 0]

    @lm.custom_jvp
    def product(x, y):
        return x * y

    def slope(k: int):
        def rule(tangent, value, *operands):
            counts[k] += 1
            return tangent * product(operands[1 - k], 1.0)

        return rule

    product.defjvps(slope(0), slope(1))
    return product, counts


def test_slopes_by_operands_without_tangents_are_not_traced() -> None:
    product, counts = _product_with_counts()
    lm.jvp(lambda x: product(x, np.array(3.0)), (2.0,), (1.0,))
    assert counts[0] and not counts[1]

    product, counts = _product_with_counts()
    found = lm.jit(lambda c: lm.grad(lambda x: product(lnp.sin(c), x * x))(2.0))(0.5)
    np.testing.assert_allclose(found, 4 * np.sin(0.5))
    assert counts[1] and not counts[0]


@pytest.mark.parametrize("wrap", [lambda f: f, lm.jit], ids=["eager", "jit"])
def test_operands_that_an_outer_transformation_changes(wrap) -> None:
    """d/dy of d/dx, of a call that reads both, one of them, and neither in each transformation."""
    product, _ = _product_with_counts()

    def f(x, y):
        outside = product(y, y)

        def inner(v):
            return product(v, y) * product(y, outside) + product(lm.lax.stop_gradient(v), y)

        return lm.grad(inner)(x) + lm.jvp(lambda v: product(v, v) * y, (x,), (1.0,))[1]

    x, y = 1.5, 0.7  # f = y**4 + 2 x y
    np.testing.assert_allclose(wrap(lm.grad(f, (0, 1)))(x, y), (2 * y, 4 * y**3 + 2 * x))
    along_y = wrap(lambda x, y: lm.jvp(f, (x, y), (0.0, 1.0))[1])
    np.testing.assert_allclose(along_y(x, y), 4 * y**3 + 2 * x)
    np.testing.assert_allclose(wrap(lm.hessian(f, (0, 1)))(x, y), ((0, 2), (2, 12 * y**2)), atol=1e-15)

    def scanned(y):
        return lm.scan(lambda c, v: (product(c, y), lm.grad(lambda u: product(u, c))(v)), 1.0, np.array([2.0, 3.0]))[1].sum()

    np.testing.assert_allclose(wrap(lm.grad(scanned))(y), 1.0)  # 1 + y
    mapped = lm.vmap(lambda v: lm.grad(lambda u: product(u, v))(y))
    np.testing.assert_allclose(wrap(lambda v: lm.jvp(mapped, (v,), (np.ones(2),))[1])(np.array([1.0, 2.0])), 1.0)


def test_mixed_derivatives_of_rules_that_call_functions_with_rules() -> None:
    product, _ = _product_with_counts()
    outer = lm.custom_jvp(lambda x, y: x * x * y)
    outer.defjvps(lambda t, v, x, y: t * 2 * product(x, y), lambda t, v, x, y: t * product(x, x))
    x, y = 2.5, 1.5

    def forward(f):
        return lambda v: lm.jvp(f, (v,), (1.0,))[1]

    for by_y, by_x in ((a, b) for a in (forward, lm.grad) for b in (forward, lm.grad)):
        np.testing.assert_allclose(by_y(lambda y, by_x=by_x: by_x(lambda x: outer(x, y))(x))(y), 2 * x)
        quotient = by_y(lambda y, by_x=by_x: by_x(lambda x: 1 / outer(x, y))(x))(y)
        np.testing.assert_allclose(quotient, 2 / (x**3 * y**2))

        def scanned(y, by_x=by_x):  # an argument of the inner function that does not change, beside one that does outside
            def run(x):
                return lm.scan(lambda c, v: (c, product(c, y) * x), 2.0, np.ones(3))[1].sum()

            return by_x(run)(x)

        np.testing.assert_allclose(by_y(scanned)(y), 6.0)
        third = by_y(lambda y, by_x=by_x: by_x(by_x(lambda x: outer(x, y) * y))(x))(y)
        np.testing.assert_allclose(third, 4 * y)
