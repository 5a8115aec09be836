"""blackjax: samplers of a posterior step by step and as a scan, adaptation, resampling, diagnostics."""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)
DATA = rng.normal(1.0, 2.0, size=50).astype(np.float32)
START = {"mean": jnp.array(0.0), "scale": jnp.array(0.0)}


def log_density(p):
    fit = -0.5 * (((DATA - p["mean"]) / jnp.exp(p["scale"])) ** 2).sum() - 50 * p["scale"]
    return fit - 0.5 * p["mean"] ** 2 - 0.5 * p["scale"] ** 2


ALGORITHMS = {
    "hmc": lambda: blackjax.hmc(log_density, 1e-2, jnp.ones(2), 8),
    "nuts": lambda: blackjax.nuts(log_density, 1e-1, jnp.ones(2)),
    "mala": lambda: blackjax.mala(log_density, 1e-3),
    "random_walk": lambda: blackjax.additive_step_random_walk(log_density, blackjax.mcmc.random_walk.normal(jnp.ones(2) * 0.1)),
    "barker": lambda: blackjax.barker_proposal(log_density, 1e-2),
}


def sampled(make, steps=15):
    def run():
        algorithm = make()
        state, step, path = algorithm.init(START), jax.jit(algorithm.step), []
        for key in jax.random.split(jax.random.PRNGKey(0), steps):
            state, _ = step(key, state)
            path.append(state.position)
        return path

    return run


def as_a_scan():
    algorithm = ALGORITHMS["nuts"]()

    def run(state, keys):
        return jax.lax.scan(lambda s, key: (algorithm.step(key, s)[0], s.position), state, keys)

    return jax.jit(run)(algorithm.init(START), jax.random.split(jax.random.PRNGKey(1), 20))[1]


def window_adaptation():
    adaptation = blackjax.window_adaptation(blackjax.nuts, log_density)
    (state, parameters), _ = adaptation.run(jax.random.PRNGKey(2), START, 60)
    return state.position, parameters


def resampling():
    weights = jax.nn.softmax(jnp.asarray(rng.normal(size=20).astype(np.float32)))
    made = (getattr(blackjax.smc.resampling, name) for name in ("systematic", "multinomial", "stratified", "residual"))
    return [resample(jax.random.PRNGKey(4), weights, 20) for resample in made]


def diagnostics():
    chains = jnp.asarray(np.random.default_rng(1).normal(size=(4, 100)).astype(np.float32))
    return blackjax.diagnostics.effective_sample_size(chains), blackjax.diagnostics.potential_scale_reduction(chains)


PROGRAMS = {
    **{name: sampled(make) for name, make in ALGORITHMS.items()},
    "as_a_scan": as_a_scan,
    "window_adaptation": window_adaptation,
    "resampling": resampling,
    "diagnostics": diagnostics,
}
