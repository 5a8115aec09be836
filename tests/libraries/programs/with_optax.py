"""optax: optimizers that train a small network, losses with gradients and Hessians, schedules, projections."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

rng = np.random.default_rng(0)
X, Y = (rng.normal(size=shape).astype(np.float32) for shape in ((16, 4), (16, 3)))
LOGITS = jnp.asarray(rng.normal(size=(8, 5)).astype(np.float32))
LABELS = rng.integers(0, 5, 8)
TARGETS, OTHERS = (rng.uniform(0.05, 0.95, size=(8, 5)).astype(np.float32) for _ in range(2))
SHARES = TARGETS / TARGETS.sum(1, keepdims=True)
SIGNS = np.where(rng.normal(size=(8, 5)) > 0, 1.0, -1.0).astype(np.float32)


def parameters():
    draw = np.random.default_rng(1).normal
    shapes = {"w": (4, 3), "b": (3,)}
    named = {name: jnp.asarray(draw(size=shape), jnp.float32) for name, shape in shapes.items()}
    return {**named, "layers": [jnp.asarray(draw(size=(3, 3)), jnp.float32)]}


def loss(p):
    return ((jnp.tanh(X @ p["w"] + p["b"]) @ p["layers"][0] - Y) ** 2).mean()


def trained(make, steps, is_jitted):
    def run():
        optimizer, p = make(), parameters()
        state = optimizer.init(p)

        def step(p, state):
            value, slopes = jax.value_and_grad(loss)(p)
            updates, state = optimizer.update(slopes, state, p)
            return optax.apply_updates(p, updates), state, value

        step = jax.jit(step) if is_jitted else step
        values = []
        for _ in range(steps):
            p, state, value = step(p, state)
            values.append(value)
        return p, values

    return run


def searched(make, steps=5):
    def run():
        optimizer, p = make(), parameters()
        state = optimizer.init(p)
        value_and_grad = optax.value_and_grad_from_state(loss)

        @jax.jit
        def step(p, state):
            value, slopes = value_and_grad(p, state=state)
            updates, state = optimizer.update(slopes, state, p, value=value, grad=slopes, value_fn=loss)
            return optax.apply_updates(p, updates), state, value

        values = []
        for _ in range(steps):
            p, state, value = step(p, state)
            values.append(value)
        return values

    return run


_warm = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 3, 10)
_groups = {"w": "a", "b": "b", "layers": ["a"]}
OPTIMIZERS = {
    **{
        name: lambda name=name: getattr(optax, name)(1e-2)
        for name in (
            *("adabelief", "adagrad", "adam", "adamw", "adamax", "adamaxw", "adan", "amsgrad", "fromage", "lamb", "lars"),
            *("lion", "nadam", "nadamw", "novograd", "optimistic_gradient_descent", "radam", "rprop", "sign_sgd", "sm3"),
            "yogi",
        )
    },
    "adadelta": lambda: optax.adadelta(1e-1),
    "adafactor": lambda: optax.adafactor(1e-2, min_dim_size_to_factor=2),
    "rmsprop": lambda: optax.rmsprop(1e-2, momentum=0.9, centered=True),
    "sgd": lambda: optax.sgd(1e-2, momentum=0.9, nesterov=True),
    "noisy_sgd": lambda: optax.noisy_sgd(1e-2, key=jax.random.PRNGKey(0)),
    "muon": lambda: optax.contrib.muon(1e-2),
    "prodigy": lambda: optax.contrib.prodigy(1e-1),
    "dadapt_adamw": lambda: optax.contrib.dadapt_adamw(),
    "cocob": lambda: optax.contrib.cocob(),
    "dog": lambda: optax.contrib.dog(),
    "schedule_free": lambda: optax.contrib.schedule_free_adamw(1e-2),
    "ademamix": lambda: optax.contrib.ademamix(1e-2),
    "mechanize": lambda: optax.contrib.mechanize(optax.sgd(1e-2)),
    "chain": lambda: optax.chain(
        optax.clip_by_global_norm(0.5), optax.scale_by_adam(), optax.add_decayed_weights(1e-2),
        optax.scale_by_schedule(_warm), optax.scale(-1.0),
    ),
    "every_other_step": lambda: optax.MultiSteps(optax.adam(1e-2), 2),
    "apply_if_finite": lambda: optax.apply_if_finite(optax.adam(1e-2), 3),
    "masked": lambda: optax.masked(optax.adam(1e-2), {"w": True, "b": False, "layers": [True]}),
    "groups": lambda: optax.multi_transform({"a": optax.sgd(1e-2), "b": optax.adam(1e-2)}, _groups),
    "adaptive_clip": lambda: optax.chain(optax.adaptive_grad_clip(0.01), optax.sgd(0.1)),
    "centralize": lambda: optax.chain(optax.centralize(), optax.sgd(0.1)),
    "inject": lambda: optax.inject_hyperparams(optax.adam)(learning_rate=1e-2),
    "block_rms": lambda: optax.chain(optax.clip_by_block_rms(0.1), optax.sgd(0.1)),
    "ema": lambda: optax.chain(optax.ema(0.9), optax.sgd(0.1)),
    "trust_ratio": lambda: optax.chain(optax.scale_by_trust_ratio(), optax.sgd(0.1)),
    "add_noise": lambda: optax.chain(optax.add_noise(0.1, 0.5, jax.random.PRNGKey(1)), optax.sgd(0.1)),
}  # fmt: skip
LOSSES = {
    "l2": lambda a: optax.l2_loss(a, TARGETS),
    "huber": lambda a: optax.huber_loss(a, TARGETS),
    "log_cosh": lambda a: optax.log_cosh(a, TARGETS),
    "softmax_cross_entropy": lambda a: optax.softmax_cross_entropy(a, SHARES),
    "integer_labels": lambda a: optax.softmax_cross_entropy_with_integer_labels(a, LABELS),
    "sigmoid": lambda a: optax.sigmoid_binary_cross_entropy(a, TARGETS),
    "hinge": lambda a: optax.hinge_loss(a, SIGNS),
    "kl": lambda a: optax.kl_divergence(jax.nn.log_softmax(a), SHARES),
    "cosine": lambda a: optax.cosine_distance(a, TARGETS),
    "focal": lambda a: optax.sigmoid_focal_loss(a, TARGETS),
    "ntxent": lambda a: optax.losses.ntxent(a, np.array([0, 0, 1, 1, 2, 2, 3, 3])),
    "sparsemax": lambda a: optax.losses.multiclass_sparsemax_loss(a, LABELS),
    "multiclass_hinge": lambda a: optax.losses.multiclass_hinge_loss(a, LABELS),
    "triplet": lambda a: optax.losses.triplet_margin_loss(a, TARGETS, OTHERS),
    "ranking": lambda a: optax.losses.ranking_softmax_loss(a, TARGETS),
}


def with_derivatives(function):
    def total(a):
        return jnp.sum(function(a))

    return lambda: (function(LOGITS), jax.grad(total)(LOGITS), jax.jit(jax.hessian(total))(LOGITS))


def ctc():
    logits = np.random.default_rng(2).normal(size=(2, 10, 6)).astype(np.float32)
    paddings = np.zeros((2, 10), np.float32)
    paddings[1, 8:] = 1
    labels, ends = np.array([[1, 2, 3, 0], [2, 2, 5, 1]]), np.array([[0, 0, 0, 1], [0, 0, 0, 0]], np.float32)

    def values(x):
        return optax.ctc_loss(x, paddings, labels, ends)

    return values(jnp.asarray(logits)), jax.jit(jax.grad(lambda x: values(x).sum()))(jnp.asarray(logits))


def schedules():
    made = [
        optax.cosine_decay_schedule(1.0, 50),
        optax.exponential_decay(1.0, 10, 0.9, staircase=True),
        optax.linear_onecycle_schedule(100, 1.0),
        optax.cosine_onecycle_schedule(100, 1.0),
        optax.piecewise_constant_schedule(1.0, {10: 0.5, 20: 0.1}),
        optax.polynomial_schedule(1.0, 0.1, 2, 50),
        optax.sgdr_schedule([{"init_value": 0.0, "peak_value": 1.0, "decay_steps": 20, "warmup_steps": 5}] * 2),
        optax.join_schedules([optax.constant_schedule(0.1), optax.linear_schedule(0.1, 0.0, 20)], [10]),
    ]
    by_step = [[jnp.asarray(s(k)) for k in (0, 3, 10, 25, 60)] for s in made]
    return by_step, [jax.jit(s)(jnp.asarray(17)) for s in made], [jax.vmap(s)(jnp.arange(40)) for s in made]


def projections():
    x, p = LOGITS[0], optax.projections
    return (
        p.projection_simplex(x), p.projection_l1_ball(x, 0.5), p.projection_l2_ball(x, 0.5), p.projection_box(x, -0.1, 0.2),
        p.projection_hypercube(x), p.projection_l1_sphere(x), p.projection_linf_ball(x, 0.2), p.projection_non_negative(x),
        jax.jacrev(p.projection_simplex)(x),
    )  # fmt: skip


PROGRAMS = {
    **{name: trained(make, 6, True) for name, make in OPTIMIZERS.items()},
    **{f"eager_{name}": trained(make, 2, False) for name, make in OPTIMIZERS.items() if name not in ("noisy_sgd", "add_noise")},
    **{name: with_derivatives(function) for name, function in LOSSES.items()},
    "lbfgs": searched(optax.lbfgs),
    "zoom": searched(lambda: optax.chain(optax.sgd(1.0), optax.scale_by_zoom_linesearch(max_linesearch_steps=15))),
    "ctc": ctc,
    "schedules": schedules,
    "projections": projections,
    "hungarian": lambda: optax.assignment.hungarian_algorithm(jnp.abs(LOGITS)),
}
