"""TensorFlow Probability on jax: distributions (samples, densities, moments), bijectors, functions, chains, optimizers."""

import types

import jax
import jax.numpy as jnp
import numpy as np
from tensorflow_probability.substrates import jax as tfp
from tensorflow_probability.substrates.jax.internal import cache_util

if jax.__file__ and "stand_in" in jax.__file__:  # traced arrays are instances of ndarray here, which have no memory to look at

    class _Kind(type):
        def __instancecheck__(cls, x):
            return type(x) is not jax.core.Tracer and isinstance(x, np.ndarray)

    class _Memory(metaclass=_Kind):
        pass

    cache_util.np = types.SimpleNamespace(**{**vars(np), "ndarray": _Memory})

tfd, tfb, tfm = tfp.distributions, tfp.bijectors, tfp.math
KEY = jax.random.PRNGKey(0)
rng = np.random.default_rng(0)
LOC = jnp.asarray(rng.normal(size=3).astype(np.float32))
SCALE, SHAPE = (jnp.asarray(rng.uniform(0.3, 2.0, size=3).astype(np.float32)) for _ in range(2))
LOGITS = jnp.asarray(rng.normal(size=(2, 4)).astype(np.float32))
POINTS = jnp.asarray(rng.normal(size=(4, 1)).astype(np.float32))
X = jnp.linspace(0.1, 5.0, 12)
UNIT = jnp.asarray([0.3, 0.5, 0.9, 0.2, 0.7, 0.6], jnp.float32)

DISTRIBUTIONS = {
    **{
        name: lambda name=name: getattr(tfd, name)(LOC, SCALE) for name in ("Normal", "Laplace", "Cauchy", "Gumbel", "Logistic")
    },
    **{
        name: lambda name=name: getattr(tfd, name)(SHAPE + 2, SCALE + 1)
        for name in ("Gamma", "Beta", "InverseGamma", "Weibull")
    },
    **{name: lambda name=name: getattr(tfd, name)(logits=LOC) for name in ("Bernoulli", "Geometric")},
    **{name: lambda name=name: getattr(tfd, name)(logits=LOGITS) for name in ("Categorical", "OneHotCategorical")},
    **{name: lambda name=name: getattr(tfd, name)(5.0, logits=LOC) for name in ("Binomial", "NegativeBinomial")},
    **{name: lambda name=name: getattr(tfd, name)(SCALE) for name in ("Exponential", "HalfNormal", "Poisson", "Chi2")},
    **{name: lambda name=name: getattr(tfd, name)(SHAPE + 2, SCALE) for name in ("Kumaraswamy", "Pareto", "LogNormal")},
    **{name: lambda name=name: getattr(tfd, name)(LOC, SCALE) for name in ("VonMises", "Moyal")},
    "StudentT": lambda: tfd.StudentT(5.0, LOC, SCALE),
    "Uniform": lambda: tfd.Uniform(-SCALE, SHAPE),
    "TruncatedNormal": lambda: tfd.TruncatedNormal(LOC, SCALE, -1.0, 2.0),
    "Multinomial": lambda: tfd.Multinomial(5.0, logits=LOGITS),
    "Dirichlet": lambda: tfd.Dirichlet(jnp.exp(LOGITS) + 1),
    "MultivariateNormalDiag": lambda: tfd.MultivariateNormalDiag(LOC, SCALE),
    "MultivariateNormalTriL": lambda: tfd.MultivariateNormalTriL(LOC, jnp.eye(3) + 0.1),
    "MultivariateNormalFullCovariance": lambda: tfd.MultivariateNormalFullCovariance(LOC, jnp.eye(3) * 2 + 0.1),
    "MixtureSameFamily": lambda: tfd.MixtureSameFamily(tfd.Categorical(logits=LOC), tfd.Normal(LOC, SCALE)),
    "WishartTriL": lambda: tfd.WishartTriL(5.0, jnp.eye(3)),
    "LKJ": lambda: tfd.LKJ(3, 1.5),
    "GaussianProcess": lambda: tfd.GaussianProcess(
        tfm.psd_kernels.ExponentiatedQuadratic(), POINTS, observation_noise_variance=0.1
    ),
    "HiddenMarkovModel": lambda: tfd.HiddenMarkovModel(
        tfd.Categorical(probs=[0.8, 0.2]),
        tfd.Categorical(probs=[[0.7, 0.3], [0.2, 0.8]]),
        tfd.Normal([0.0, 15.0], [5.0, 10.0]),
        7,
    ),
    "LinearGaussianStateSpaceModel": lambda: tfd.LinearGaussianStateSpaceModel(
        5,
        jnp.eye(2),
        tfd.MultivariateNormalDiag(scale_diag=jnp.ones(2)),
        jnp.ones((1, 2)),
        tfd.MultivariateNormalDiag(scale_diag=jnp.ones(1)),
        tfd.MultivariateNormalDiag(scale_diag=jnp.ones(2)),
    ),
    "MarkovChain": lambda: tfd.MarkovChain(tfd.Normal(0.0, 1.0), lambda _, x: tfd.Normal(x, 1.0), num_steps=5),
    "TransformedDistribution": lambda: tfd.TransformedDistribution(tfd.Normal(0.0, 1.0), tfb.Exp()),
    "GeneralizedPareto": lambda: tfd.GeneralizedPareto(0.0, 1.0, 0.3),
    "JohnsonSU": lambda: tfd.JohnsonSU(0.0, 1.0, 0.0, 1.0),
    "PlackettLuce": lambda: tfd.PlackettLuce(SCALE),
    "RelaxedBernoulli": lambda: tfd.RelaxedBernoulli(0.5, logits=0.0),
}
BIJECTORS = {
    **{name: getattr(tfb, name) for name in ("Exp", "Sigmoid", "Softplus", "Tanh", "NormalCDF", "GumbelCDF", "WeibullCDF")},
    **{
        name: getattr(tfb, name)
        for name in ("Softsign", "Ascending", "CorrelationCholesky", "FillScaleTriL", "SoftmaxCentered")
    },
    "Chain": lambda: tfb.Chain([tfb.Exp(), tfb.Scale(0.5), tfb.Shift(1.0)]),
    "SinhArcsinh": lambda: tfb.SinhArcsinh(0.1),
    "PowerTransform": lambda: tfb.PowerTransform(0.3),
    "RationalQuadraticSpline": lambda: tfb.RationalQuadraticSpline(
        bin_widths=[0.3, 0.4, 0.3], bin_heights=[0.2, 0.5, 0.3], knot_slopes=[1.0, 1.5], range_min=0.0
    ),
}
_KERNELS = ("MaternOneHalf", "MaternFiveHalves", "RationalQuadratic", "ExpSinSquared", "Linear")
FUNCTIONS = {
    "lbeta": lambda: tfm.lbeta(X, X + 1),
    "logerfc": lambda: tfm.logerfc(X),
    "erfcx": lambda: tfm.erfcx(X),
    "igammainv": lambda: tfm.igammainv(X, jnp.linspace(0.05, 0.95, 12)),
    "bessel_kve": lambda: tfm.bessel_kve(1.5, X),
    "lambertw": lambda: tfm.lambertw(X),
    "owens_t": lambda: tfm.owens_t(X, 0.5),
    "log_sub_exp": lambda: tfm.log_sub_exp(X + 1, X),
    "dormand_prince": lambda: (
        tfm.ode.DormandPrince().solve(lambda t, y: -y, 0.0, jnp.asarray(1.0), solution_times=[1.0, 2.0]).states
    ),
    "interpolate": lambda: tfm.interp_regular_1d_grid(X, 0.0, 5.0, jnp.sin(X)),
    "fill_triangular": lambda: tfm.fill_triangular(X[:6]),
    "chandrupatla": lambda: tfm.find_root_chandrupatla(lambda x: x**3 - 2.0, 0.0, 2.0).estimated_root,
    "scan_associative": lambda: tfm.scan_associative(lambda a, b: a + b, X),
    "kernels": lambda: [getattr(tfm.psd_kernels, name)().matrix(X[:, None], X[:, None]) for name in _KERNELS],
}


def of_distribution(make):
    def run():
        made = make()
        sample = made.sample(seed=KEY)
        found = [sample, made.log_prob(sample), jax.jit(made.log_prob)(sample)]
        for name in ("mean", "variance", "entropy", "mode"):
            try:
                found.append(getattr(made, name)())
            except NotImplementedError:  # not every distribution has all
                found.append(jnp.zeros(0))
        return found

    return run


def of_bijector(make):
    def run():
        made = make()
        y = made.forward(UNIT)
        slope = jax.grad(lambda x: made.forward(x).sum())(UNIT)
        return y, made.inverse(y), made.forward_log_det_jacobian(UNIT, 1), slope

    return run


def sampled(make, steps):
    def run():
        def log_density(x):
            return tfd.Normal(1.0, 2.0).log_prob(x).sum(-1)

        kernel = make(log_density)
        chain = jax.jit(
            lambda key: tfp.mcmc.sample_chain(steps, current_state=jnp.zeros(2), kernel=kernel, trace_fn=None, seed=key)
        )
        return chain(KEY)

    return run


def statistics():
    x, stats = jnp.asarray(np.random.default_rng(1).normal(size=(50, 2)).astype(np.float32)), tfp.stats
    return (
        stats.correlation(x, x),
        stats.covariance(x),
        stats.percentile(x, 30.0),
        stats.auto_correlation(x, axis=0, max_lags=5),
    )


def bowl(x):
    return ((x - jnp.arange(3.0)) ** 2 * jnp.array([1.0, 10.0, 3.0])).sum(-1)


PROGRAMS = {
    **{name: of_distribution(make) for name, make in DISTRIBUTIONS.items()},
    **{f"bijector_{name}": of_bijector(make) for name, make in BIJECTORS.items()},
    **FUNCTIONS,
    "hmc": sampled(lambda f: tfp.mcmc.HamiltonianMonteCarlo(f, 0.5, 3), 20),
    "nuts": sampled(lambda f: tfp.mcmc.NoUTurnSampler(f, 0.5), 10),
    "random_walk": sampled(tfp.mcmc.RandomWalkMetropolis, 10),
    "statistics": statistics,
    "lbfgs": lambda: tfp.optimizer.lbfgs_minimize(jax.value_and_grad(bowl), jnp.zeros(3)).position,
    "nelder_mead": lambda: (
        tfp.optimizer.nelder_mead_minimize(bowl, initial_vertex=jnp.zeros(3), max_iterations=50).objective_value
    ),
}
