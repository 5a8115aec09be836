"""numpyro: log densities and gradients of models, effect handlers, NUTS, HMC and variational inference."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.infer import HMC, MCMC, NUTS, SVI, Predictive, Trace_ELBO, init_to_value
from numpyro.infer.autoguide import AutoDelta, AutoNormal
from numpyro.infer.util import log_density

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 3)).astype(np.float32)
Y = (X @ np.float32([1, -2, 0.5]) + 0.3 * rng.normal(size=20)).astype(np.float32)
KEY = jax.random.PRNGKey(0)


def regression(x, y=None):
    w = numpyro.sample("w", dist.Normal(0, 1).expand([3]).to_event(1))
    b = numpyro.sample("b", dist.Normal(0, 2))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1))
    with numpyro.plate("rows", x.shape[0]):
        numpyro.sample("y", dist.Normal(x @ w + b, sigma), obs=y)


def schools(y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("J", 8), handlers.reparam(config={"theta": numpyro.infer.reparam.TransformReparam()}):
        theta = numpyro.sample(
            "theta", dist.TransformedDistribution(dist.Normal(0, 1), dist.transforms.AffineTransform(mu, tau))
        )
    numpyro.sample("obs", dist.Normal(theta, jnp.array([15.0, 10, 16, 11, 9, 11, 10, 18])), obs=y)


def density():
    values = {"w": jnp.array([0.5, -1.0, 0.2]), "b": 0.1, "sigma": 0.7}
    value, _ = log_density(regression, (X, Y), {}, values)
    slopes = jax.grad(lambda v: log_density(regression, (X, Y), {}, v)[0])(values)
    return value, slopes


def traced():
    found = handlers.trace(handlers.seed(regression, KEY)).get_trace(X)
    return {name: site["value"] for name, site in found.items() if site["type"] == "sample"}


def sampled(make):
    def run():
        mcmc = MCMC(make(), num_warmup=5, num_samples=5, progress_bar=False)
        mcmc.run(jax.random.PRNGKey(1), X, Y)
        return mcmc.get_samples()

    return run


def fitted(make):
    def run():
        guide = make(regression)
        svi = SVI(regression, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
        found = svi.run(KEY, 20, X, Y, progress_bar=False)
        return found.params, found.losses

    return run


def predicted():
    samples = {"w": jnp.ones((4, 3)), "b": jnp.zeros(4), "sigma": jnp.full(4, 0.5)}
    return Predictive(regression, samples)(KEY, X)


def conditioned():
    model = handlers.condition(schools, {"mu": jnp.float32(4.0), "tau": jnp.float32(2.0)})
    found = handlers.trace(handlers.seed(handlers.substitute(model, {"theta_base": jnp.zeros(8)}), KEY)).get_trace()
    return {name: site["value"] for name, site in found.items() if site["type"] in ("sample", "deterministic")}


def scanned():
    from numpyro.contrib.control_flow import scan

    def model(ys):
        def step(x, y):
            x = numpyro.sample("x", dist.Normal(0.9 * x, 0.5))
            numpyro.sample("y", dist.Normal(x, 0.2), obs=y)
            return x, x

        return scan(step, jnp.float32(0), ys)[1]

    found = handlers.trace(handlers.seed(model, KEY)).get_trace(Y)
    return {name: site["value"] for name, site in found.items() if site["type"] == "sample"}


def of(make, value, event=()):
    """Samples, log density and its gradient by the value and by the parameters."""

    def run():
        d = make()
        x = jnp.asarray(value)
        out = [d.sample(KEY, (3,)), d.log_prob(x), d.mean, d.variance]
        if jnp.issubdtype(x.dtype, jnp.floating):
            out.append(jax.grad(lambda x: d.log_prob(x).sum())(x))
        return out

    return run


def moved(make, value):
    def run():
        t, x = make(), jnp.asarray(value)
        y = t(x)
        return y, t.inv(y), t.log_abs_det_jacobian(x, y)

    return run


DISTRIBUTIONS = {
    "Normal": (lambda: dist.Normal(1.0, 2.0), 0.3),
    "LogNormal": (lambda: dist.LogNormal(0.5, 0.7), 1.3),
    "Beta": (lambda: dist.Beta(2.0, 3.0), 0.4),
    "Gamma": (lambda: dist.Gamma(2.0, 3.0), 0.4),
    "InverseGamma": (lambda: dist.InverseGamma(4.0, 3.0), 0.4),
    "Cauchy": (lambda: dist.Cauchy(0.0, 1.5), 0.4),
    "StudentT": (lambda: dist.StudentT(5.0, 0.0, 1.5), 0.4),
    "Laplace": (lambda: dist.Laplace(0.0, 1.5), 0.4),
    "Gumbel": (lambda: dist.Gumbel(0.0, 1.5), 0.4),
    "Logistic": (lambda: dist.Logistic(0.0, 1.5), 0.4),
    "Exponential": (lambda: dist.Exponential(2.0), 0.4),
    "Pareto": (lambda: dist.Pareto(1.0, 4.0), 1.4),
    "Weibull": (lambda: dist.Weibull(1.0, 2.0), 1.4),
    "Uniform": (lambda: dist.Uniform(-1.0, 2.0), 0.4),
    "VonMises": (lambda: dist.VonMises(0.3, 2.0), 0.4),
    "Kumaraswamy": (lambda: dist.Kumaraswamy(2.0, 3.0), 0.4),
    "TruncatedNormal": (lambda: dist.TruncatedNormal(0.0, 1.0, low=-1.0, high=2.0), 0.4),
    "HalfCauchy": (lambda: dist.HalfCauchy(1.0), 0.4),
    "SoftLaplace": (lambda: dist.SoftLaplace(0.0, 1.0), 0.4),
    "AsymmetricLaplace": (lambda: dist.AsymmetricLaplace(0.0, 1.0, 2.0), 0.4),
    "MultivariateNormal": (lambda: dist.MultivariateNormal(jnp.zeros(2), jnp.array([[2.0, 0.5], [0.5, 1.0]])), [0.3, -0.2]),
    "LowRank": (
        lambda: dist.LowRankMultivariateNormal(jnp.zeros(3), jnp.ones((3, 1)), jnp.array([1.0, 2.0, 3.0])),
        [0.3, -0.2, 0.5],
    ),
    "Dirichlet": (lambda: dist.Dirichlet(jnp.array([2.0, 3.0, 4.0])), [0.2, 0.3, 0.5]),
    "Bernoulli": (lambda: dist.Bernoulli(logits=0.3), 1),
    "Binomial": (lambda: dist.Binomial(10, 0.3), 4),
    "Categorical": (lambda: dist.Categorical(jnp.array([0.2, 0.3, 0.5])), 1),
    "Poisson": (lambda: dist.Poisson(3.0), 2),
    "Geometric": (lambda: dist.GeometricProbs(0.3), 2),
    "NegativeBinomial": (lambda: dist.NegativeBinomial2(3.0, 2.0), 2),
    "BetaBinomial": (lambda: dist.BetaBinomial(2.0, 3.0, 10), 4),
    "Multinomial": (lambda: dist.Multinomial(5, jnp.array([0.2, 0.3, 0.5])), [1, 2, 2]),
    "ZeroInflatedPoisson": (lambda: dist.ZeroInflatedPoisson(0.2, 3.0), 2),
    "MixtureSameFamily": (
        lambda: dist.MixtureSameFamily(dist.Categorical(jnp.array([0.4, 0.6])), dist.Normal(jnp.array([0.0, 2.0]), 1.0)),
        0.5,
    ),
}
TRANSFORMS = {
    "stick": (dist.transforms.StickBreakingTransform, [0.2, -0.4, 1.0]),
    "corr": (dist.transforms.CorrCholeskyTransform, [0.2, -0.4, 1.0]),
    "cholesky": (dist.transforms.LowerCholeskyTransform, [0.2, -0.4, 1.0]),
    "ordered": (dist.transforms.OrderedTransform, [0.2, -0.4, 1.0]),
    "sigmoid": (dist.transforms.SigmoidTransform, [0.2, -0.4, 1.0]),
    "softplus": (dist.transforms.SoftplusTransform, [0.2, -0.4, 1.0]),
}
PROGRAMS = {
    "log_density": density,
    "trace": traced,
    "NUTS": sampled(lambda: NUTS(regression, init_strategy=init_to_value(values={"b": 0.0, "w": jnp.zeros(3), "sigma": 1.0}))),
    "HMC": sampled(lambda: HMC(regression, trajectory_length=0.5, step_size=0.05, adapt_step_size=False)),
    "AutoNormal": fitted(AutoNormal),
    "AutoDelta": fitted(AutoDelta),
    "Predictive": predicted,
    "condition": conditioned,
    "scan": scanned,
    **{f"dist_{name}": of(*row) for name, row in DISTRIBUTIONS.items()},
    **{f"transform_{name}": moved(*row) for name, row in TRANSFORMS.items()},
}
