"""equinox and what is built on it: filtered transformations, layers, linear solves (lineax), roots and minima (optimistix),
differential equations (diffrax)."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import lineax as lx
import numpy as np
import optax
import optimistix as optx

rng = np.random.default_rng(0)
ROWS = rng.normal(size=(5, 6)).astype(np.float32)
IMAGE = rng.normal(size=(3, 8, 8)).astype(np.float32)
STEPS = rng.normal(size=(7, 6)).astype(np.float32)
MATRIX = (rng.normal(size=(5, 5)) + 5 * np.eye(5)).astype(np.float32)
POSITIVE = (MATRIX @ MATRIX.T).astype(np.float32)
RIGHT = rng.normal(size=5).astype(np.float32)
KEY = jr.PRNGKey(0)


def applied(make, x, **options):
    """What a layer gives, and the gradients of its arrays."""

    def run():
        layer = make(KEY)

        @eqx.filter_jit
        @eqx.filter_value_and_grad(has_aux=True)
        def loss(layer):
            out = layer(x, **options)
            return sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(out)), out

        (_, out), slopes = loss(layer)
        return eqx.filter(layer, eqx.is_array), out, eqx.filter(slopes, eqx.is_array)

    return run


def attention(key):
    return eqx.nn.MultiheadAttention(2, 6, inference=True, key=key)


def trained():
    model = eqx.nn.MLP(6, 1, 8, 2, key=KEY)
    optimizer = optax.adam(1e-2)
    state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit
    def step(model, state):
        def loss(model):
            return jnp.mean((jax.vmap(model)(ROWS)[:, 0] - ROWS.sum(1)) ** 2)

        value, slopes = eqx.filter_value_and_grad(loss)(model)
        updates, state = optimizer.update(slopes, state, model)
        return eqx.apply_updates(model, updates), state, value

    values = []
    for _ in range(8):
        model, state, value = step(model, state)
        values.append(value)
    return eqx.filter(model, eqx.is_array), values


def with_state():
    class Net(eqx.Module):
        norm: eqx.nn.BatchNorm
        linear: eqx.nn.Linear

        def __init__(self, key):
            self.norm = eqx.nn.BatchNorm(6, axis_name="batch", mode="batch")
            self.linear = eqx.nn.Linear(6, 2, key=key)

        def __call__(self, x, state):
            x, state = self.norm(x, state)
            return self.linear(x), state

    net, state = eqx.nn.make_with_state(Net)(KEY)
    out, state = jax.vmap(net, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(ROWS, state)
    return out, jax.tree.leaves(state)


def recurrent(make):
    def run():
        cell = make(KEY)

        def f(cell):
            hidden = (jnp.zeros(4), jnp.zeros(4)) if isinstance(cell, eqx.nn.LSTMCell) else jnp.zeros(4)
            return jax.lax.scan(lambda h, x: (cell(x, h), None), hidden, STEPS)[0]

        slopes = eqx.filter_grad(lambda c: sum(jnp.sum(x) for x in jax.tree.leaves(f(c))))(cell)
        return f(cell), eqx.filter(slopes, eqx.is_array)

    return run


def ensemble():
    models = eqx.filter_vmap(lambda key: eqx.nn.MLP(6, 2, 4, 1, key=key))(jr.split(KEY, 3))
    return eqx.filter_vmap(lambda m, x: m(x), in_axes=(eqx.if_array(0), None))(models, ROWS[0])


def surgery():
    model = eqx.nn.MLP(6, 2, 4, 1, key=KEY)
    model = eqx.tree_at(lambda m: m.layers[0].weight, model, replace_fn=lambda w: 2 * w)
    params, static = eqx.partition(model, eqx.is_array)
    return eqx.combine(params, static)(ROWS[0]), eqx.tree_equal(model, model), params


def checked():
    @eqx.filter_jit
    def f(x):
        x = eqx.error_if(x, x < 0, "below 0")
        return jnp.sqrt(x)

    try:
        f(jnp.array(-1.0))
    except Exception as error:
        return f(jnp.array(4.0)), "below 0" in str(error)


def own_rule():
    @eqx.filter_custom_vjp
    def f(x):
        return jnp.sin(x["a"]) * 2

    @f.def_fwd
    def f_fwd(perturbed, x):
        return f(x), x["a"]

    @f.def_bwd
    def f_bwd(residual, slope, perturbed, x):
        return {"a": slope * residual}

    return eqx.filter_grad(lambda x: f(x).sum())({"a": jnp.arange(3.0)})


def looped(kind):
    def run():
        def f(x):
            y, _ = eqx.internal.while_loop(
                lambda c: c[1] < 5, lambda c: (jnp.sin(c[0]) * 1.5, c[1] + 1), (x, 0), max_steps=8, kind=kind
            )
            return y.sum()

        return jax.value_and_grad(f)(jnp.arange(3.0))

    return run


def solved(make, solver):
    def run():
        def f(matrix, right):
            return lx.linear_solve(make(matrix), right, solver, throw=False).value

        slopes = jax.grad(lambda m, b: jnp.sum(f(m, b) ** 2), argnums=(0, 1))(jnp.asarray(POSITIVE), jnp.asarray(RIGHT))
        several = jax.vmap(f, (None, 0))(POSITIVE, np.stack([RIGHT, -RIGHT]))
        return f(POSITIVE, RIGHT), jax.jit(f)(POSITIVE, RIGHT), slopes, several

    return run


def by_function(matrix):
    return lx.FunctionLinearOperator(lambda x: matrix @ x, jax.ShapeDtypeStruct((5,), jnp.float32))


def found(search, *args):
    def run():
        def f(scale):
            return search(scale, *args).value

        return f(jnp.float32(2.0)), jax.jacrev(f)(jnp.float32(2.0))

    return run


def rosenbrock(x, scale):
    return (1 - x[0]) ** 2 + scale * (x[1] - x[0] ** 2) ** 2


def integrated(solver, **options):
    def run():
        def f(rate):
            term, saveat = diffrax.ODETerm(lambda t, y, args: -args * y + jnp.sin(t)), diffrax.SaveAt(ts=TIMES)
            return diffrax.diffeqsolve(term, solver, 0, 2, 0.1, jnp.array([1.0, 2.0]), rate, saveat=saveat, **options).ys

        rate = jnp.float32(0.7)
        return f(rate), jax.jit(f)(rate), jax.grad(lambda r: f(r).sum())(rate)

    return run


def noisy():
    path = diffrax.VirtualBrownianTree(0, 1, tol=1e-2, shape=(2,), key=KEY)
    terms = diffrax.MultiTerm(
        diffrax.ODETerm(lambda t, y, args: -y),
        diffrax.ControlTerm(lambda t, y, args: lx.DiagonalLinearOperator(0.1 * jnp.ones(2)), path),
    )
    return diffrax.diffeqsolve(terms, diffrax.EulerHeun(), t0=0, t1=1, dt0=0.1, y0=jnp.ones(2)).ys


def interpolated():
    coefficients = diffrax.backward_hermite_coefficients(TIMES, jnp.sin(TIMES)[:, None])
    control = diffrax.CubicInterpolation(TIMES, coefficients)
    linear = diffrax.LinearInterpolation(TIMES, jnp.cos(TIMES))
    return control.evaluate(0.3), control.derivative(0.7), linear.evaluate(0.25, 0.75)


TIMES = jnp.linspace(0.0, 2.0, 5)
PID = {"stepsize_controller": diffrax.PIDController(rtol=1e-4, atol=1e-6)}
_minima = {
    "BFGS": optx.BFGS(1e-5, 1e-5),
    "NelderMead": optx.NelderMead(1e-4, 1e-4),
    "GradientDescent": optx.GradientDescent(1e-2, 1e-3, 1e-3),
}
PROGRAMS = {
    "Linear": applied(lambda key: eqx.nn.Linear(6, 3, key=key), ROWS[0]),
    "MLP": applied(lambda key: eqx.nn.MLP(6, 3, 8, 2, key=key), ROWS[0]),
    "Conv2d": applied(lambda key: eqx.nn.Conv2d(3, 4, 3, padding=1, key=key), IMAGE),
    "Conv2d_same": applied(lambda key: eqx.nn.Conv2d(3, 6, 3, stride=2, padding="SAME", groups=3, key=key), IMAGE),
    "ConvTranspose2d": applied(lambda key: eqx.nn.ConvTranspose2d(3, 4, 3, stride=2, key=key), IMAGE),
    "MaxPool2d": applied(lambda key: eqx.nn.MaxPool2d(2, 2), IMAGE),
    "AvgPool2d": applied(lambda key: eqx.nn.AvgPool2d(3, 2, padding=1), IMAGE),
    "AdaptiveAvgPool2d": applied(lambda key: eqx.nn.AdaptiveAvgPool2d(3), IMAGE),
    "LayerNorm": applied(lambda key: eqx.nn.LayerNorm(6), ROWS[0]),
    "RMSNorm": applied(lambda key: eqx.nn.RMSNorm(6), ROWS[0]),
    "GroupNorm": applied(lambda key: eqx.nn.GroupNorm(3, 3), IMAGE),
    "MultiheadAttention": applied(attention, STEPS, key_=STEPS, value=STEPS),
    "Embedding": applied(lambda key: eqx.nn.Embedding(9, 4, key=key), jnp.array(3)),
    "Dropout": applied(lambda key: eqx.nn.Dropout(0.4), ROWS, key=KEY),
    "PReLU": applied(lambda key: eqx.nn.PReLU(0.3), ROWS),
    "WeightNorm": applied(lambda key: eqx.nn.WeightNorm(eqx.nn.Linear(6, 3, key=key)), ROWS[0]),
    "RotaryPositionalEmbedding": applied(lambda key: eqx.nn.RotaryPositionalEmbedding(6), STEPS),
    "GRUCell": recurrent(lambda key: eqx.nn.GRUCell(6, 4, key=key)),
    "LSTMCell": recurrent(lambda key: eqx.nn.LSTMCell(6, 4, key=key)),
    "BatchNorm": with_state,
    "train": trained,
    "filter_vmap": ensemble,
    "tree_at": surgery,
    "error_if": checked,
    "filter_custom_vjp": own_rule,
    "while_bounded": looped("bounded"),
    "while_checkpointed": looped("checkpointed"),
    "solve_LU": solved(lx.MatrixLinearOperator, lx.LU()),
    "solve_QR": solved(lx.MatrixLinearOperator, lx.QR()),
    "solve_SVD": solved(lx.MatrixLinearOperator, lx.SVD()),
    "solve_Cholesky": solved(lambda m: lx.MatrixLinearOperator(m, lx.positive_semidefinite_tag), lx.Cholesky()),
    "solve_CG": solved(lambda m: lx.MatrixLinearOperator(m, lx.positive_semidefinite_tag), lx.CG(1e-6, 1e-6)),
    "solve_GMRES": solved(lx.MatrixLinearOperator, lx.GMRES(1e-5, 1e-5)),
    "solve_auto": solved(by_function, lx.AutoLinearSolver(well_posed=True)),
    "root_Newton": found(lambda s: optx.root_find(lambda y, s: y**3 - s, optx.Newton(1e-6, 1e-6), jnp.float32(1.0), s)),
    "root_Chord": found(lambda s: optx.root_find(lambda y, s: y**2 - s, optx.Chord(1e-5, 1e-5), jnp.float32(1.5), s)),
    "root_Bisection": found(
        lambda s: optx.root_find(
            lambda y, s: y**3 - s, optx.Bisection(1e-5, 1e-5), jnp.float32(1.0), s, options={"lower": 0.0, "upper": 3.0}
        )
    ),
    "fixed_point": found(
        lambda s: optx.fixed_point(lambda y, s: jnp.cos(y / s), optx.FixedPointIteration(1e-5, 1e-5), jnp.float32(1.0), s)
    ),
    "least_squares_LM": found(
        lambda s: optx.least_squares(
            lambda y, s: jnp.array([y[0] - s, s * (y[1] - y[0] ** 2)]), optx.LevenbergMarquardt(1e-5, 1e-5), jnp.zeros(2), s
        )
    ),
    "least_squares_GN": found(
        lambda s: optx.least_squares(
            lambda y, s: jnp.array([y[0] - s, s * (y[1] - y[0])]), optx.GaussNewton(1e-5, 1e-5), jnp.zeros(2), s
        )
    ),
    **{
        f"minimise_{name}": lambda solver=solver: optx.minimise(
            rosenbrock, solver, jnp.zeros(2), jnp.float32(2.0), max_steps=2000, throw=False
        ).value.round(2)
        for name, solver in _minima.items()
    },
    "ode_Euler": integrated(diffrax.Euler()),
    "ode_Heun": integrated(diffrax.Heun()),
    "ode_Tsit5": integrated(diffrax.Tsit5(), **PID),
    "ode_Dopri8": integrated(diffrax.Dopri8(), **PID),
    "ode_Kvaerno3": integrated(diffrax.Kvaerno3(), **PID),
    "ode_direct": integrated(diffrax.Tsit5(), adjoint=diffrax.DirectAdjoint()),
    "ode_backsolve": integrated(diffrax.Tsit5(), adjoint=diffrax.BacksolveAdjoint()),
    "sde": noisy,
    "interpolation": interpolated,
}
