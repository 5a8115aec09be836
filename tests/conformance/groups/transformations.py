"""grad, jvp, vjp, vmap, jit inside programs, and compositions of them."""

TABLE = """
grad | f[] | jx.grad(lambda v: np.sin(v) * v)(x)
grad_of_grad | f[] | jx.grad(jx.grad(lambda v: np.sin(v) * v))(x)
grad_thrice | f[] | jx.grad(jx.grad(jx.grad(lambda v: np.exp(v) * np.sin(v))))(x) | once
grad_of_vector | f[5] | jx.grad(lambda v: (v**3).sum())(x)
grad_argnums | f[5] f[5] | jx.grad(lambda a, b: (a * b * b).sum(), argnums=1)(x, y)
grad_argnums_both | f[5] f[5] | jx.grad(lambda a, b: (a * b * b).sum(), (0, 1))(x, y)
grad_of_mod_one | f[10]s | jx.vmap(jx.grad(lambda v: v % 1.0))(x)
grad_of_dict | f[5] | jx.grad(lambda p: (p["w"] ** 2 * p["b"]).sum())({"w": x, "b": x + 1})
grad_has_aux | f[5] | jx.grad(lambda v: ((v**2).sum(), v * 3), has_aux=True)(x)
value_and_grad | f[5] | jx.value_and_grad(lambda v: np.sin(v).sum())(x)
value_and_grad_aux | f[5] | jx.value_and_grad(lambda v: (np.sin(v).sum(), v), has_aux=True)(x)
jvp | f[5] f[5] | jx.jvp(np.sin, (x,), (y,))
jvp_two | f[5] f[5] | jx.jvp(lambda a, b: a * b, (x, y), (y, x))
vjp | f[5] f[5] | jx.vjp(np.sin, x)[1](y)
vjp_two | f[5] f[5] | jx.vjp(lambda a, b: a * np.sin(b), x, y)[1](x)
jvp_of_grad | f[5] f[5] | jx.jvp(jx.grad(lambda v: (v**4).sum()), (x,), (y,))[1]
hvp_reverse | f[5] f[5] | jx.grad(lambda v: jx.grad(lambda u: (u**4).sum())(v) @ y)(x)
jacfwd | f[4] | jx.jacfwd(lambda v: np.sin(v) * v[0])(x)
jacrev | f[4] | jx.jacrev(lambda v: np.sin(v) * v[0])(x)
hessian | f[4] | jx.hessian(lambda v: (v**3).sum() * v[0])(x)
jacfwd_argnums | f[3] f[3] | jx.jacfwd(lambda a, b: a * b.sum(), argnums=(0, 1))(x, y)
jacrev_of_dict | f[3] | jx.jacrev(lambda d: {"p": d["a"] * d["b"], "q": d["b"].sum()})({"a": x, "b": x * 2})["p"]["a"]
jacrev_matrix | f[2,3] | jx.jacrev(lambda v: v @ v.T)(x)
jacobian_by_vmap | f[4] | jx.vmap(lambda e: jx.jvp(lambda v: np.sin(v) * v[0], (x,), (e,))[1])(np.eye(4, dtype=x.dtype))
hessian_by_vmap | f[3] | jx.vmap(lambda e: jx.jvp(jx.grad(lambda v: (v**3).sum() * v[0]), (x,), (e,))[1])(np.eye(3, dtype=x.dtype))
linearize | f[5] f[5] | jx.linearize(np.sin, x)[1](y)
vmap | f[4,5] | jx.vmap(lambda r: r * r.sum())(x)
vmap_two | f[4,5] f[4,5] | jx.vmap(lambda a, b: a @ b)(x, y)
vmap_in_axes | f[4,5] f[5] | jx.vmap(lambda a, b: a @ b, in_axes=(0, None))(x, y)
vmap_axis_1 | f[4,5] | jx.vmap(np.sum, in_axes=1)(x)
vmap_out_axes | f[4,5] | jx.vmap(lambda r: r * 2, out_axes=1)(x)
vmap_of_vmap | f[3,4] f[3,5] | jx.vmap(lambda a, b: jx.vmap(lambda u: u * b)(a))(x, y)
vmap_of_grad | f[5] | jx.vmap(jx.grad(lambda v: np.sin(v) ** 2))(x)
vmap_of_matmul | f[3,4,5] f[5,2] | jx.vmap(lambda a: a @ y)(x)
vmap_of_jvp | f[5] f[5] | jx.vmap(lambda a, b: jx.jvp(np.sin, (a,), (b,))[1])(x, y)
vmap_of_where | f[4,5] | jx.vmap(lambda r: np.where(r > 0, r, -r * 0.1))(x)
vmap_of_argmax | f[4,5] | jx.vmap(np.argmax)(x)
vmap_of_cumsum | f[4,5] | jx.vmap(np.cumsum)(x)
vmap_of_softmax | f[4,5] | jx.vmap(jx.nn.softmax)(x)
vmap_of_concatenate | f[4,5] f[3] | jx.vmap(lambda r: np.concatenate([r, y]))(x)
vmap_of_at_set | f[4,5] | jx.vmap(lambda r: r.at[1].set(0.0))(x)
vmap_of_at_index | f[4,5] i[4]k+ | jx.vmap(lambda r, i: r.at[i].add(1.0))(x, y)
vmap_of_dynamic_slice | f[4,7] i[4]k+ | jx.vmap(lambda r, i: jx.lax.dynamic_slice(r, (i,), (3,)))(x, y)
vmap_dict | f[4,5] | jx.vmap(lambda d: d["a"].sum())({"a": x})
vmap_pairwise | f[4,3] f[5,3] | jx.vmap(lambda a: jx.vmap(lambda b: ((a - b) ** 2).sum())(y))(x)
grad_of_vmap | f[4,5] | jx.grad(lambda v: jx.vmap(lambda r: r @ r)(v).sum())(x)
grad_of_vmapped_norm | f[4,5] | jx.grad(lambda v: jx.vmap(lambda r: np.sqrt(r @ r))(v).sum())(x)
jit_inside | f[5] | jx.jit(lambda v: np.sin(v) * 2)(x)
jit_of_grad | f[5] | jx.jit(jx.grad(lambda v: (v * v).sum()))(x)
grad_of_jit | f[5] | jx.grad(lambda v: jx.jit(np.sin)(v).sum())(x)
jit_static | f[5] | jx.jit(lambda v, n: v**n, static_argnums=1)(x, 3)
stop_gradient | f[5] | jx.grad(lambda v: (v * jx.lax.stop_gradient(v)).sum())(x)
grad_of_max_pick | f[5] | jx.grad(lambda v: v.max())(x)
grad_of_sort | f[5] | jx.grad(lambda v: (np.sort(v) * np.arange(5)).sum())(x)
grad_of_where | f[5] | jx.grad(lambda v: np.where(v > 0, v**2, v).sum())(x)
grad_of_norm | f[5]n | jx.grad(lambda v: np.sqrt((v * v).sum()))(x)
grad_of_logsumexp | f[5] | jx.grad(jx.nn.logsumexp)(x)
grad_of_softplus | f[10]s | jx.vmap(jx.grad(jx.nn.softplus))(x)
second_of_softplus | f[10]s | jx.vmap(jx.grad(jx.grad(jx.nn.softplus)))(x) | once
mixed_of_power | f[6]+ f[6]s | jx.vmap(jx.grad(jx.grad(lambda a, b: a**b), 1))(x, y) | once
mixed_of_power_at_0 | f[6]+ | jx.vmap(lambda a: jx.grad(jx.grad(lambda u, v: u**v), 1)(a, a * 0.0))(x) | once
grad_of_scan | f[5] | jx.grad(lambda v: jx.lax.scan(lambda c, a: (c * a, c), v[0], v)[0])(x)
grad_of_fori | f[5] | jx.grad(lambda v: jx.lax.fori_loop(0, 3, lambda i, c: np.sin(c), v).sum())(x)
grad_of_indexing | f[5] | jx.grad(lambda v: (v[1:] * v[:-1]).sum())(x)
grad_of_gather | f[5] i[4]k+ | jx.grad(lambda v: (v[y] ** 2).sum())(x)
grad_of_scatter | f[5] i[4]k+ f[4] | jx.grad(lambda v: (x.at[y].add(v) ** 2).sum())(z)
grad_of_at_multiply | f[7] f[3] | jx.grad(lambda v: (x.at[1:4].multiply(v) ** 2).sum())(y)
grad_of_einsum | f[3,4] f[4,5] | jx.grad(lambda v: np.einsum("ij,jk->", v, y))(x)
grad_of_prod | f[6]s | jx.grad(np.prod)(x)
grad_of_cumprod | f[6]n | jx.grad(lambda v: np.cumprod(v).sum())(x)
grad_of_var | f[6] | jx.grad(np.var)(x)
grad_of_std | f[6] | jx.grad(np.std)(x)
grad_of_mean_axis | f[4,5] | jx.grad(lambda v: (v.mean(0) ** 2).sum())(x)
grad_of_matmul_tanh | f[4,4]u | jx.grad(lambda v: np.tanh(v @ v.T).sum())(x)
grad_of_transpose | f[3,4] | jx.grad(lambda v: (v.T * np.arange(12.0).reshape(4, 3)).sum().astype(v.dtype))(x)
grad_through_int_cast | f[5] | jx.grad(lambda v: (v * (v > 0).astype(v.dtype)).sum())(x)
grad_of_unused | f[5] f[5] | jx.grad(lambda a, b: (a * a).sum(), (0, 1))(x, y)
custom_jvp_by_stop | f[5] | jx.grad(lambda v: (jx.lax.stop_gradient(np.round(v)) + v - jx.lax.stop_gradient(v)).sum())(x)
taylor_coefficients | f[] | np.stack([np.sin(x), jx.grad(np.sin)(x), jx.grad(jx.grad(np.sin))(x)]) | once
newton_step | f[3] | x - jx.grad(lambda v: (v**4).sum())(x) / (12 * x**2 + 1)
gradient_descent | f[3] | __import__("functools").reduce(lambda v, _: v - 0.1 * jx.grad(lambda u: ((u - 1) ** 2).sum())(v), range(3), x)
tree_map | f[5] | jx.tree.map(lambda a: a * 2, {"a": x, "b": [x, (x,)]})
tree_leaves | f[5] | sum(leaf.sum() for leaf in jx.tree.leaves({"a": x, "b": [x, (x,)]}))
eval_shape | f[4,5] | x.sum() * jx.eval_shape(lambda v: v.T, x).shape[0]
custom_vjp_free_clip | f[5] | jx.vjp(lambda v: np.clip(v, -1, 1), x)[1](np.ones(5, x.dtype))[0]
psum | f[4,3] | jx.vmap(lambda v: v / jx.lax.psum(np.exp(v), "i"), axis_name="i")(x)
psum_of_dict | f[4,3] | jx.vmap(lambda v: jx.lax.psum({"a": v, "n": 1}, "i"), axis_name="i")(x)["a"]
psum_of_one | f[4,3] | jx.vmap(lambda v: v * jx.lax.psum(1, "i"), axis_name="i")(x)
pmean | f[4,3] | jx.vmap(lambda v: v * jx.lax.pmean(v**2, "i"), axis_name="i")(x)
pmax_pmin | f[4,3] | jx.vmap(lambda v: jx.lax.pmax(v, "i") - jx.lax.pmin(v, "i"), axis_name="i")(x) | value
axis_index | f[4,3] | jx.vmap(lambda v: v * jx.lax.axis_index("i").astype(v.dtype), axis_name="i")(x)
axis_size | f[4,3] | jx.vmap(lambda v: v * jx.lax.axis_size("i"), axis_name="i")(x)
all_gather | f[4,3] | jx.vmap(lambda v: jx.lax.all_gather(v**2, "i", axis=1) * v[:, None], axis_name="i")(x)
all_gather_tiled | f[4,3] | jx.vmap(lambda v: jx.lax.all_gather(v**2, "i", tiled=True), axis_name="i")(x)
all_gather_nested | f[3,4] | jx.vmap(jx.vmap(lambda v: v * jx.lax.all_gather(v, "j").sum(), axis_name="j"), axis_name="i")(x)
ppermute | f[4,3] | jx.vmap(lambda v: jx.lax.ppermute(v**2, "i", [(0, 1), (1, 2), (2, 3), (3, 0)]), axis_name="i")(x)
pshuffle | f[4,3] | jx.vmap(lambda v: jx.lax.pshuffle(v**2, "i", [1, 0, 3, 2]), axis_name="i")(x)
all_to_all | f[4,4,3] | jx.vmap(lambda v: jx.lax.all_to_all(v**2, "i", 0, 1), axis_name="i")(x)
all_to_all_tiled | f[4,2,8] | jx.vmap(lambda v: jx.lax.all_to_all(v**2, "i", 1, 0, tiled=True), axis_name="i")(x)
psum_scatter | f[4,4,2] | jx.vmap(lambda v: jx.lax.psum_scatter(v**2, "i"), axis_name="i")(x)
psum_scatter_tiled | f[4,2,8] | jx.vmap(lambda v: jx.lax.psum_scatter(v**2, "i", scatter_dimension=1, tiled=True), axis_name="i")(x)
psum_nested | f[3,4,2] | jx.vmap(jx.vmap(lambda v: v * jx.lax.psum(v**2, "j") + jx.lax.psum(v, ("i", "j")), axis_name="j"), axis_name="i")(x)
psum_inside_vmap | f[4,3,2] | jx.vmap(lambda v: jx.vmap(lambda r: r * jx.lax.psum(r**2, "i"))(v), axis_name="i")(x)
psum_of_scan | f[4,3] | jx.vmap(lambda v: jx.lax.scan(lambda c, a: (c + jx.lax.psum(a**2, "i"), c * a), v[0], v)[1], axis_name="i")(x)
psum_in_cond | f[4,3] | jx.vmap(lambda v: jx.lax.cond(jx.lax.psum(v.sum(), "i") > 0, np.sin, np.cos, v), axis_name="i")(x)
psum_of_grad | f[4,3] | jx.vmap(lambda v: jx.lax.pmean(jx.grad(lambda u: (u**3).sum())(v), "i"), axis_name="i")(x)
grad_of_psum_inside | f[4,3] | jx.vmap(jx.grad(lambda v: (jx.lax.psum(v**2, "i") * v).sum()), axis_name="i")(x)
"""


def batch_norm_across_the_batch(np, jx, x, scale):
    """`f[6,3] f[3]`"""

    def one(row, scale):
        mean = jx.lax.pmean(row, "batch")
        var = jx.lax.pmean((row - mean) ** 2, "batch")
        return scale * (row - mean) / np.sqrt(var + 1e-5)

    return jx.vmap(one, in_axes=(0, None), axis_name="batch")(x, scale)


def contrastive_loss(np, jx, x, y):
    """`f[5,3] f[5,3]`"""

    def one(a, b):
        others = jx.lax.all_gather(b, "batch")
        scores = others @ a
        return jx.nn.logsumexp(scores) - scores[jx.lax.axis_index("batch")]

    return jx.vmap(one, axis_name="batch")(x, y).mean()
