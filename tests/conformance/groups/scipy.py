"""Names of jax.scipy, jax.nn.initializers and jax.image."""

TABLE = """
norm_logpdf | f[6] f[6] f[6]+ | jx.scipy.stats.norm.logpdf(x, y, z)
norm_cdf | f[6] | jx.scipy.stats.norm.cdf(x, loc=0.5, scale=2.0)
norm_logcdf_tails | f[12]t | jx.scipy.stats.norm.logcdf(x) | value tol=8
norm_sf | f[6] | jx.scipy.stats.norm.sf(x)
norm_ppf | f[6]p | jx.scipy.stats.norm.ppf(x).astype(x.dtype) | tol=8
norm_isf | f[6]p | jx.scipy.stats.norm.isf(x).astype(x.dtype) | tol=8
uniform_logpdf | f[6] | jx.scipy.stats.uniform.logpdf(x, -4.0, 8.0)
uniform_cdf | f[6] | jx.scipy.stats.uniform.cdf(x, -4.0, 8.0)
expon_logpdf | f[6]+ f[6]+ | jx.scipy.stats.expon.logpdf(x, scale=y)
expon_cdf | f[6]+ | jx.scipy.stats.expon.cdf(x, scale=2.0)
laplace_logpdf | f[6] f[6]+ | jx.scipy.stats.laplace.logpdf(x, 0.1, y)
laplace_cdf | f[6] | jx.scipy.stats.laplace.cdf(x)
logistic_logpdf | f[6] | jx.scipy.stats.logistic.logpdf(x)
logistic_cdf | f[6] | jx.scipy.stats.logistic.cdf(x)
logistic_ppf | f[6]p | jx.scipy.stats.logistic.ppf(x) | tol=8
cauchy_logpdf | f[6] f[6]+ | jx.scipy.stats.cauchy.logpdf(x, 0.5, y)
cauchy_cdf | f[6] | jx.scipy.stats.cauchy.cdf(x)
t_logpdf | f[6] f[6]1 | jx.scipy.stats.t.logpdf(x, y) | tol=8
gamma_logpdf | f[6]+ f[6]1 | jx.scipy.stats.gamma.logpdf(x, y) | tol=8
gamma_cdf | f[6]+ f[6]1 | jx.scipy.stats.gamma.cdf(x, y) | value tol=8
chi2_logpdf | f[6]+ f[6]1 | jx.scipy.stats.chi2.logpdf(x, y) | tol=8
beta_logpdf | f[6]p f[6]1 f[6]1 | jx.scipy.stats.beta.logpdf(x, y, z) | tol=8
beta_outside | f[6] | jx.scipy.stats.beta.pdf(x, 2.0, 3.0) | value
pareto_logpdf | f[6]1 f[6]+ | jx.scipy.stats.pareto.logpdf(x, y)
gumbel_r_logpdf | f[6] | jx.scipy.stats.gumbel_r.logpdf(x)
gumbel_l_logpdf | f[6] | jx.scipy.stats.gumbel_l.logpdf(x)
gennorm_logpdf | f[6]+ f[6]1 | jx.scipy.stats.gennorm.logpdf(x, y) | tol=8
vonmises_logpdf | f[6] f[6]+ | jx.scipy.stats.vonmises.logpdf(x, y)
wrapcauchy_logpdf | f[6]+ f[6]p | jx.scipy.stats.wrapcauchy.logpdf(x, y) | tol=8
truncnorm_logpdf | f[6]u | jx.scipy.stats.truncnorm.logpdf(x, -1.0, 2.0) | tol=8
truncnorm_cdf | f[6]u | jx.scipy.stats.truncnorm.cdf(x, -1.0, 2.0) | tol=16
bernoulli_logpmf | i[6] f[6]p | jx.scipy.stats.bernoulli.logpmf(x % 2, y)
binom_logpmf | i[6]k+ f[6]p | jx.scipy.stats.binom.logpmf(x, 5, y) | tol=16
nbinom_logpmf | i[6]k+ f[6]p | jx.scipy.stats.nbinom.logpmf(x, 4.0, y) | tol=16
geom_logpmf | i[6]k1 f[6]p | jx.scipy.stats.geom.logpmf(x, y)
poisson_logpmf | i[6]k+ f[6]+ | jx.scipy.stats.poisson.logpmf(x, y) | tol=8
poisson_cdf | i[6]k+ f[6]+ | jx.scipy.stats.poisson.cdf(x, y) | value tol=8
multinomial_logpmf | f[3]+ | jx.scipy.stats.multinomial.logpmf(np.array([1, 2, 3]), 6, x / x.sum()) | tol=16
dirichlet_logpdf | f[3]+ f[3]1 | jx.scipy.stats.dirichlet.logpdf(x / x.sum(), y) | value tol=16
multivariate_normal_logpdf | f[4,3] f[3] f[3,3]u | jx.scipy.stats.multivariate_normal.logpdf(x, y, z @ z.T + 2 * np.eye(3, dtype=x.dtype)) | once tol=16
multivariate_normal_of_variance | f[3] f[3] | jx.scipy.stats.multivariate_normal.logpdf(x, y, 2.0) | tol=8
rankdata | f[7] | jx.scipy.stats.rankdata(x) | value
rankdata_ties | f[10]s | jx.scipy.stats.rankdata(x, "dense") | value
rankdata_axis | f[3,5]n | jx.scipy.stats.rankdata(x, "min", axis=1) | value
mode | i[9]k+ | jx.scipy.stats.mode(x)[0] | value
mode_axis | i[4,5]k+ | jx.scipy.stats.mode(x, axis=1, keepdims=True)[1] | value
sem | f[4,5] | jx.scipy.stats.sem(x, axis=1)
kde | f[8] f[3] | jx.scipy.stats.gaussian_kde(x).logpdf(y) | once tol=32
kde_of_two_dims | f[2,8] f[2,3] | jx.scipy.stats.gaussian_kde(x, "silverman")(y) | once tol=32
signal_convolve | f[8] f[3] | jx.scipy.signal.convolve(x, y, mode="same")
signal_convolve_planes | f[5,6] f[2,3] | jx.scipy.signal.convolve(x, y)
signal_convolve2d | f[5,6] f[3,3] | jx.scipy.signal.convolve2d(x, y, mode="valid")
signal_correlate | f[8] f[3] | jx.scipy.signal.correlate(x, y, mode="valid")
signal_correlate2d | f[5,6] f[3,3] | jx.scipy.signal.correlate2d(x, y, mode="same")
signal_fftconvolve | f[8] f[5] | jx.scipy.signal.fftconvolve(x, y, mode="full") | tol=32
signal_detrend | f[2,9] | jx.scipy.signal.detrend(x) | tol=16
signal_detrend_constant | f[2,9] | jx.scipy.signal.detrend(x, type="constant")
signal_welch | f[64] | jx.scipy.signal.welch(x, nperseg=16)[1] | once tol=32
signal_csd | f[64] f[64] | np.abs(jx.scipy.signal.csd(x, y, fs=2.0, nperseg=16)[1]) | once tol=64
signal_stft | f[64] | np.abs(jx.scipy.signal.stft(x, nperseg=16)[2]) ** 2 | once tol=64
signal_istft | f[64] | jx.scipy.signal.istft(jx.scipy.signal.stft(x, nperseg=16)[2], nperseg=16)[1] | tol=64
map_coordinates | f[4,5] f[6]+ f[6]+ | jx.scipy.ndimage.map_coordinates(x, [y, z], order=1)
map_coordinates_nearest | f[4,5] f[6] f[6] | jx.scipy.ndimage.map_coordinates(x, [y, z], order=1, mode="nearest")
map_coordinates_wrap | f[4,5] f[6] f[6] | jx.scipy.ndimage.map_coordinates(x, [y, z], order=0, mode="wrap") | value
scipy_trapezoid | f[6] f[6] | jx.scipy.integrate.trapezoid(x, np.cumsum(np.abs(y)))
dct | f[3,8] | jx.scipy.fft.dct(x) | tol=16
dct_ortho | f[3,7] | jx.scipy.fft.dct(x, norm="ortho", axis=0) | tol=16
idct | f[8] | jx.scipy.fft.idct(x, norm="ortho") | tol=16
dctn | f[4,6] | jx.scipy.fft.dctn(x, norm="ortho") | tol=16
idctn | f[4,6] | jx.scipy.fft.idctn(x) | tol=16
vq | f[7,2] f[3,2] | jx.scipy.cluster.vq.vq(x, y)[0] | value
vq_distances | f[7,2] f[3,2] | jx.scipy.cluster.vq.vq(x, y)[1]
cg | f[4,4]u f[4] | jx.scipy.sparse.linalg.cg(lambda v: (x @ x.T + 2 * np.eye(4, dtype=x.dtype)) @ v, y)[0] | value tol=4096
glorot_uniform | f[3] | x.astype("float32") * jx.nn.initializers.glorot_uniform()(jx.random.key(0), (4, 3), "float32") | novmap
he_normal | f[3] | x.astype("float32") * jx.nn.initializers.he_normal()(jx.random.key(1), (4, 3), "float32") | novmap tol=8
orthogonal | f[3] | x.astype("float32") * jx.nn.initializers.orthogonal()(jx.random.key(2), (4, 3), "float32") | novmap tol=32
variance_scaling | f[3] | x.astype("float32") * jx.nn.initializers.variance_scaling(2.0, "fan_avg", "normal")(jx.random.key(3), (4, 3), "float32") | novmap tol=8
"""


def minimize_rosenbrock(np, jx, x):
    """`f[2]u | value novmap tol=8`"""

    def rosenbrock(v):
        return (100 * (v[1:] - v[:-1] ** 2) ** 2 + (1 - v[:-1]) ** 2).sum()

    return jx.scipy.optimize.minimize(rosenbrock, x.astype("float64"), method="BFGS").x.round(6)


def mixture_log_likelihood(np, jx, data, means, scales, logits):
    """`f[7] f[3] f[3]+ f[3] | once tol=8`"""
    each = jx.scipy.stats.norm.logpdf(data[:, None], means, scales)
    return jx.scipy.special.logsumexp(each + jx.nn.log_softmax(logits), axis=1).sum()


def posterior_of_a_regression(np, jx, x, y, w):
    """`f[6,3] f[6] f[3] | tol=16`"""
    norm = jx.scipy.stats.norm
    return norm.logpdf(w, 0.0, 10.0).sum() + norm.logpdf(y, x @ w, 0.5).sum()


def smoothed_by_a_gaussian(np, jx, x):
    """`f[20]`"""
    window = jx.scipy.stats.norm.pdf(np.linspace(-2, 2, 5)).astype(x.dtype)
    return jx.scipy.signal.convolve(x, window / window.sum(), mode="same")


def image_rotated(np, jx, x):
    """`f[6,6]`"""
    angle = 0.3
    rows, columns = np.mgrid[:6, :6]
    r, c = rows - 2.5, columns - 2.5
    at = [np.cos(angle) * r - np.sin(angle) * c + 2.5, np.sin(angle) * r + np.cos(angle) * c + 2.5]
    return jx.scipy.ndimage.map_coordinates(x, [a.astype(x.dtype) for a in at], order=1)


def compressed_by_cosines(np, jx, x):
    """`f[8,8] | tol=32`"""
    kept = jx.scipy.fft.dctn(x, norm="ortho") * (np.arange(8)[:, None] + np.arange(8) < 6)
    return jx.scipy.fft.idctn(kept, norm="ortho")
