"""jaxopt: solvers with and without constraints, implicit derivatives, projections, proximal operators, losses."""

import jax
import jax.numpy as jnp
import jaxopt
import numpy as np
from jaxopt import linear_solve, loss, objective, projection, prox

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(30, 5)).astype(np.float32), rng.normal(size=30).astype(np.float32)
CLASSES, TWO = rng.integers(0, 3, 30), (rng.normal(size=30) > 0).astype(np.int32)
POINT = jnp.asarray(rng.normal(size=6).astype(np.float32))
PLAN = jnp.asarray(np.abs(rng.normal(size=(3, 4))).astype(np.float32))
_half = rng.normal(size=(6, 6)).astype(np.float32)
DEFINITE = jnp.asarray(_half @ _half.T + 6 * np.eye(6, dtype=np.float32))
W, DATA, ONES = jnp.zeros(5), (X, Y), jnp.ones(6)
QUADRATIC = (jnp.eye(3) * 2.0, jnp.array([1.0, 2.0, 3.0]))


def squares(w, data):
    x, y = data
    return ((x @ w - y) ** 2).mean()


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def residuals(x):
    return jnp.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])


def cosine(x, scale):
    return jnp.cos(x) * scale


START = jnp.array([-1.2, 1.0])
SOLVERS = {
    "GradientDescent": lambda: jaxopt.GradientDescent(squares, maxiter=50).run(W, data=DATA),
    "ProximalGradient": lambda: jaxopt.ProximalGradient(objective.least_squares, prox.prox_lasso, maxiter=50).run(
        W, hyperparams_prox=0.1, data=DATA
    ),
    "ProjectedGradient": lambda: jaxopt.ProjectedGradient(
        objective.least_squares, projection.projection_non_negative, maxiter=50
    ).run(W, data=DATA),
    "BlockCoordinateDescent": lambda: jaxopt.BlockCoordinateDescent(objective.least_squares, prox.prox_lasso, maxiter=30).run(
        W, hyperparams_prox=0.1, data=DATA
    ),
    "LBFGS": lambda: jaxopt.LBFGS(rosenbrock, maxiter=30).run(jnp.zeros(4)),
    "LBFGSB": lambda: jaxopt.LBFGSB(rosenbrock, maxiter=30).run(jnp.zeros(4), bounds=(-jnp.ones(4) * 0.5, jnp.ones(4) * 0.8)),
    "BFGS": lambda: jaxopt.BFGS(rosenbrock, maxiter=30).run(jnp.zeros(4)),
    "NonlinearCG": lambda: jaxopt.NonlinearCG(rosenbrock, maxiter=30).run(jnp.zeros(4)),
    "GaussNewton": lambda: jaxopt.GaussNewton(residuals, maxiter=20).run(START),
    "LevenbergMarquardt": lambda: jaxopt.LevenbergMarquardt(residuals, maxiter=30).run(START),
    "Bisection": lambda: jaxopt.Bisection(lambda x: x**3 - x - 1, 1.0, 2.0, jit=True).run(),
    "FixedPointIteration": lambda: jaxopt.FixedPointIteration(cosine, maxiter=100).run(jnp.array(0.5), 0.9),
    "AndersonAcceleration": lambda: jaxopt.AndersonAcceleration(cosine, maxiter=30).run(jnp.ones(3) * 0.5, 0.9),
    "Broyden": lambda: jaxopt.Broyden(lambda x: x**3 - 2 + x, maxiter=30).run(jnp.ones(3)),
    "ArmijoSGD": lambda: jaxopt.ArmijoSGD(squares, maxiter=20).run(W, data=DATA),
    "PolyakSGD": lambda: jaxopt.PolyakSGD(squares, maxiter=20).run(W, data=DATA),
    "OSQP": lambda: jaxopt.OSQP(maxiter=400).run(
        params_obj=QUADRATIC, params_eq=(jnp.ones((1, 3)), jnp.ones(1)), params_ineq=(-jnp.eye(3), jnp.zeros(3))
    ),
    "BoxOSQP": lambda: jaxopt.BoxOSQP(maxiter=400).run(
        params_obj=QUADRATIC, params_eq=jnp.eye(3), params_ineq=(-jnp.ones(3), jnp.ones(3))
    ),
    "EqualityConstrainedQP": lambda: jaxopt.EqualityConstrainedQP().run(
        params_obj=QUADRATIC, params_eq=(jnp.ones((1, 3)), jnp.ones(1))
    ),
    "ScipyMinimize": lambda: jaxopt.ScipyMinimize(fun=rosenbrock, method="bfgs").run(jnp.zeros(4)),
}


def ridge(strength):
    def penalized(w, strength):
        return squares(w, DATA) + strength * (w**2).sum()

    return jaxopt.GradientDescent(penalized, maxiter=300, implicit_diff=True, tol=1e-6).run(W, strength).params


@jaxopt.implicit_diff.custom_root(lambda x, a: x**3 - a)
def cube_root(start, a):
    return jnp.cbrt(a)


def fixed_point(scale):
    return jaxopt.FixedPointIteration(cosine, maxiter=100, implicit_diff=True).run(jnp.array(0.5), scale).params


_SETS = {
    "l1_ball": 0.7, "l1_sphere": 0.7, "l2_ball": 0.7, "l2_sphere": 0.7, "linf_ball": 0.3, "box": (-0.2, 0.4), "simplex": 1.0,
    "hyperplane": (ONES, 0.5), "halfspace": (ONES, 0.5), "box_section": (0 * ONES, ONES, ONES, 1.0),
}  # fmt: skip


def projected(name):
    def run():
        project = getattr(projection, f"projection_{name}")
        return project(POINT, _SETS[name]), jax.jit(project)(POINT, _SETS[name])

    return run


def solved(name):
    def run():
        solve = getattr(linear_solve, name)
        return solve(lambda v: DEFINITE @ v, POINT), jax.grad(lambda b: solve(lambda v: DEFINITE @ v, b).sum())(POINT)

    return run


def of_classes(name):
    def run():
        def losses(a):
            return jax.vmap(getattr(loss, name))(jnp.asarray(CLASSES), a)

        scores = jnp.asarray(X[:, :3])
        return losses(scores), jax.grad(lambda a: losses(a).sum())(scores)

    return run


PROGRAMS = {
    **{name: lambda run=run: run().params for name, run in SOLVERS.items()},
    "implicit_ridge": lambda: (ridge(0.1), jax.jacrev(ridge)(0.1)),
    "custom_root": lambda: (
        jax.grad(lambda a: cube_root(None, a))(2.0), jax.vmap(jax.grad(lambda a: cube_root(None, a)))(jnp.arange(1.0, 4)),
    ),
    "fixed_point": lambda: jax.jit(jax.grad(fixed_point))(0.9),
    **{f"projection_{name}": projected(name) for name in _SETS},
    "projection_transport": lambda: projection.projection_transport(PLAN, (jnp.ones(3) / 3, jnp.ones(4) / 4)),
    "projection_affine_set": lambda: projection.projection_affine_set(POINT, (jnp.ones((2, 6)) + jnp.eye(2, 6), jnp.ones(2))),
    **{name: lambda name=name: getattr(prox, name)(POINT) for name in dir(prox) if name.startswith("prox_")},
    **{f"solve_{name}": solved(f"solve_{name}") for name in ("cg", "normal_cg", "gmres", "bicgstab", "lu", "cholesky", "inv")},
    **{
        name: lambda name=name: jax.vmap(getattr(loss, name))(jnp.asarray(TWO), jnp.asarray(Y))
        for name in ("binary_logistic_loss", "huber_loss", "binary_sparsemax_loss", "binary_hinge_loss")
    },
    **{f"multiclass_{name}_loss": of_classes(f"multiclass_{name}_loss") for name in ("logistic", "sparsemax", "hinge")},
}  # fmt: skip
