"""Functions of neural networks."""

TABLE = """
relu | f[6]n | jx.nn.relu(x)
relu_at_zero | f[10]s | jx.nn.relu(x)
relu6 | f[6] | jx.nn.relu6(x)
sigmoid | f[10]s | jx.nn.sigmoid(x)
sigmoid_tails | f[12]t | jx.nn.sigmoid(x)
log_sigmoid | f[10]s | jx.nn.log_sigmoid(x)
softplus | f[10]s | jx.nn.softplus(x)
softplus_tails | f[12]t | jx.nn.softplus(x)
silu | f[10]s | jx.nn.silu(x)
silu_tails | f[12]t | jx.nn.silu(x)
swish | f[10]s | jx.nn.swish(x)
mish | f[10]s | jx.nn.mish(x)
gelu_tanh | f[10]s | jx.nn.gelu(x)
gelu_tanh_tails | f[8]u | jx.nn.gelu(x * 4) | tol=8
gelu_exact | f[10]s | jx.nn.gelu(x, approximate=False)
gelu_exact_tails | f[12]t | jx.nn.gelu(x, approximate=False)
elu | f[6]n | jx.nn.elu(x)
celu | f[6]n | jx.nn.celu(x)
selu | f[6]n | jx.nn.selu(x)
leaky_relu | f[6]n | jx.nn.leaky_relu(x)
hard_tanh | f[6] | jx.nn.hard_tanh(x)
hard_sigmoid | f[6] | jx.nn.hard_sigmoid(x)
hard_swish | f[6] | jx.nn.hard_swish(x)
hard_silu | f[6] | jx.nn.hard_silu(x)
sparse_plus | f[6] | jx.nn.sparse_plus(x)
sparse_sigmoid | f[6] | jx.nn.sparse_sigmoid(x)
soft_sign | f[6]n | jx.nn.soft_sign(x)
glu | f[6] | jx.nn.glu(x)
squareplus | f[6] | jx.nn.squareplus(x)
softmax | f[4,5] | jx.nn.softmax(x)
softmax_axis | f[4,5] | jx.nn.softmax(x, axis=0)
softmax_large | f[4,5] | jx.nn.softmax(x * 100) | once tol=32
softmax_equal | f[1] | jx.nn.softmax(np.concatenate([x, x, x]))
softmax_where | f[4,5] | jx.nn.softmax(x, where=x > -10, axis=-1)
log_softmax | f[4,5] | jx.nn.log_softmax(x)
log_softmax_tails | f[12]t | jx.nn.log_softmax(x)
logsumexp | f[4,5] | jx.nn.logsumexp(x, axis=-1)
logsumexp_keepdims | f[4,5] | jx.nn.logsumexp(x, axis=-1, keepdims=True)
logmeanexp | f[4,5] | jx.nn.logmeanexp(x, axis=-1)
logsumexp_where | f[4,5] | jx.nn.logsumexp(x, axis=-1, where=x < 2.5)
log_softmax_where | f[4,5] | np.where(x < 2, jx.nn.log_softmax(x, where=x < 2, axis=-1), 0)
standardize | f[4,5] | jx.nn.standardize(x)
one_hot | i[5]k+ | jx.nn.one_hot(x, 4, dtype=np.float32)
one_hot_outside | i[5] | jx.nn.one_hot(x, 3, dtype=np.float32)
one_hot_dtype | i[5]k+ | jx.nn.one_hot(x, 4, dtype=np.float64)
erf | f[10]s | jx.scipy.special.erf(x)
cross_entropy_by_hand | f[4,5] i[4]k+ | -np.take_along_axis(jx.nn.log_softmax(x), y[:, None], 1).mean()
cross_entropy_one_hot | f[4,5] i[4]k+ | -(jx.nn.one_hot(y, 5, dtype=x.dtype) * jx.nn.log_softmax(x)).sum(-1).mean()
binary_cross_entropy | f[6] b[6] | np.mean(np.logaddexp(x, 0.0) - x * y)
mean_squared_error | f[6] f[6] | np.mean((x - y) ** 2)
hinge | f[6] f[6]n | np.maximum(0, 1 - x * y).mean()
kl_divergence | f[6] f[6] | (jx.nn.softmax(x) * (jx.nn.log_softmax(x) - jx.nn.log_softmax(y))).sum()
cosine_similarity | f[5] f[5] | x @ y / (np.sqrt(x @ x) * np.sqrt(y @ y))
dense | f[4,3] f[3,5] f[5] | x @ y + z
dense_relu | f[4,3] f[3,5] f[5] | jx.nn.relu(x @ y + z)
dense_gelu | f[4,3] f[3,5] f[5] | jx.nn.gelu(x @ y + z) | tol=8
layer_norm_by_hand | f[4,6] | (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) | tol=8
rms_norm_by_hand | f[4,6] | x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)
batch_norm_by_hand | f[6,4] f[4] f[4] | (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) * y + z | tol=8
instance_norm | f[2,5,3] | (x - x.mean(1, keepdims=True)) / (x.std(1, keepdims=True) + 1e-3) | tol=8
attention_by_hand | f[4,3] f[5,3] f[5,2] | jx.nn.softmax(x @ y.T / np.sqrt(3.0).astype(x.dtype)) @ z
causal_attention | f[4,3] f[4,3] f[4,3] | jx.nn.softmax(np.where(np.tril(np.ones((4, 4), bool)), x @ y.T, -1e9)) @ z
dot_product_attention | f[1,4,2,3] f[1,4,2,3] f[1,4,2,3] | jx.nn.dot_product_attention(x, y, z) | tol=4
rotary | f[4,6] | np.concatenate([-x[:, 3:], x[:, :3]], -1) * np.sin(np.arange(4.0))[:, None].astype(x.dtype)
positional_encoding | f[4,6] | x + np.sin(np.arange(4)[:, None] / 10.0 ** (np.arange(6) / 6)).astype(x.dtype)
max_pool_by_reshape | f[4,6] | x.reshape(2, 2, 3, 2).max((1, 3))
avg_pool_by_reshape | f[4,6] | x.reshape(2, 2, 3, 2).mean((1, 3))
reduce_window_max | f[6] | jx.lax.reduce_window(x, -np.inf, jx.lax.max, (2,), (2,), "VALID")
conv_general | f[1,2,5,5] f[3,2,3,3] | jx.lax.conv_general_dilated(x, y, (1, 1), "SAME") | tol=4
conv_by_windows | f[6] f[3] | np.stack([x[k : k + 3] @ y for k in range(4)])
embedding_sum | f[6,3] i[4]k+ | x[y].sum(0)
dropout_mask | f[6] | x * np.array([1, 0, 1, 1, 0, 1]) / 0.5
gumbel_softmax_fixed | f[5] | jx.nn.softmax((x + np.arange(5, dtype=x.dtype) * 0.1) / 0.5)
logits_to_probability | f[5] | jx.nn.sigmoid(x) * (1 - jx.nn.sigmoid(x))
temperature | f[5] f[]+ | jx.nn.softmax(x / y)
label_smoothing | f[4,5] i[4]k+ | -((0.9 * jx.nn.one_hot(y, 5, dtype=x.dtype) + 0.02) * jx.nn.log_softmax(x)).sum(-1)
focal_loss | f[6] | -((1 - jx.nn.sigmoid(x)) ** 2 * np.log(jx.nn.sigmoid(x))) | tol=2
normal_cdf | f[10]s | 0.5 * (1 + jx.scipy.special.erf(x / 2.0**0.5))
log_normal_pdf | f[10]s | -0.5 * x * x - 0.5 * np.log(2 * np.pi)
"""
