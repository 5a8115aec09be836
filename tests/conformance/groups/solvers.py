"""Programs of control theory, PDEs, statistics, signals, images and splines, on the names of jax.scipy and jax.image."""

TABLE = """
schur_rebuilt | f[5,5] | (lambda t, z: z @ t @ z.T)(*jx.scipy.linalg.schur(x)) | value tol=64
schur_values | f[5,5] | np.sort(np.abs(np.diagonal(jx.scipy.linalg.schur(x, output="complex")[0]))) | value tol=64
schur_below | f[6,6] | np.abs(np.tril(jx.scipy.linalg.schur(x)[0], -2)).max() | value
rsf2csf | f[4,4] | (lambda t, z: (z @ t @ np.conj(z).T).real)(*jx.scipy.linalg.rsf2csf(*jx.scipy.linalg.schur(x))) | value tol=64
hessenberg | f[5,5] | (lambda h, q: q @ h @ q.T)(*jx.scipy.linalg.hessenberg(x, calc_q=True)) | value tol=64
hessenberg_below | f[5,5] | np.abs(np.tril(jx.scipy.linalg.hessenberg(x), -2)).sum() | value
sqrtm | f[4,4]u | (lambda r: (r @ r).real)(jx.scipy.linalg.sqrtm(x @ x.T + np.eye(4, dtype=x.dtype))) | value tol=64
sqrtm_trace | f[4,4]u | np.trace(jx.scipy.linalg.sqrtm(x @ x.T + np.eye(4, dtype=x.dtype))).real | value tol=64
funm_exp | f[4,4]u | jx.scipy.linalg.funm(x + np.diag(np.arange(4.0).astype(x.dtype)), np.exp).real | value tol=1024
sylvester | f[4,4]u f[3,3]u f[4,3] | jx.scipy.linalg.solve_sylvester(x + 4 * np.eye(4, dtype=x.dtype), y + 4 * np.eye(3, dtype=x.dtype), z) | value tol=64
eigh_tridiagonal | f[6] f[5] | jx.scipy.linalg.eigh_tridiagonal(x, y, eigvals_only=True) | value tol=64
toeplitz_solve | f[5]u f[5] | np.linalg.solve(jx.scipy.linalg.toeplitz(x) + 6 * np.eye(5, dtype=x.dtype), y) | tol=64
gmres | f[5,5]u f[5] | jx.scipy.sparse.linalg.gmres(x + 4 * np.eye(5, dtype=x.dtype), y, tol=1e-6)[0] | value tol=8192
tridiagonal_solve | f[6]u f[6]1 f[6]u f[6,2] | jx.lax.linalg.tridiagonal_solve(np.where(np.arange(6) > 0, x, 0), y + 2, np.where(np.arange(6) < 5, z, 0), w) | value tol=64
comb | i[6]k1 i[6]k+ | jx.scipy.special.comb(x + 4, y) | value tol=64
comb_repetition | i[6]k1 i[6]k+ | jx.scipy.special.comb(x, y, repetition=True) | value tol=64
loggamma | f[6]+ | jx.scipy.special.loggamma(x) | tol=16
wofz | c[6] | jx.scipy.special.wofz(x.real + 1j * np.abs(x.imag)) | value tol=256
sph_harm | f[5]+ f[5] | jx.scipy.special.sph_harm_y(np.array([3, 2, 2, 1, 0]), np.array([2, -1, 0, 1, 0]), x, y, n_max=3).real.astype(x.dtype) | value tol=64
exp1 | f[6]+ | jx.scipy.special.exp1(x) | once tol=64
expi | f[6]+ | jx.scipy.special.expi(x) | value tol=64
spence | f[6]+ | jx.scipy.special.spence(x) | value tol=64
poch | f[6]+ f[6]+ | jx.scipy.special.poch(x, y) | value tol=64
image_scale | f[5,4] f[2]+ f[2] | jx.image.scale_and_translate(x, (6, 7), (0, 1), y, z, "linear") | tol=64
image_translate_cubic | f[6] f[1] | jx.image.scale_and_translate(x, (6,), (0,), np.ones(1, x.dtype), y, "cubic", antialias=False) | tol=64
grid_linear | f[4,5] f[7,2]+ | jx.scipy.interpolate.RegularGridInterpolator((np.arange(4.0), np.arange(5.0)), x, fill_value=0.0)(y)
grid_extrapolated | f[4] f[7] | jx.scipy.interpolate.RegularGridInterpolator((np.arange(4.0),), x, fill_value=None)(y[:, None])
grid_nearest | f[4,5] f[7,2]+ | jx.scipy.interpolate.RegularGridInterpolator((np.arange(4.0), np.arange(5.0)), x, "nearest")(y) | value
union_of_size | i[5]k i[4]k | np.union1d(x, y, size=9, fill_value=-9) | value novmap
difference_of_size | i[5]k i[4]k | np.setdiff1d(x, y, size=6, fill_value=-9) | value novmap
intersection_of_size | i[7]k i[6]k | np.intersect1d(x, y, size=6, fill_value=-9) | value novmap
exclusive_of_size | i[5]k i[4]k | np.setxor1d(x, y, size=9, fill_value=-9) | value novmap
unique_counts_of_size | i[7]k | np.unique_counts(x, size=7, fill_value=-9) | value novmap
frompyfunc_reduce | f[3,4]u | np.frompyfunc(lambda a, b: 2 * a + b, 2, 1, identity=0).reduce(x, axis=1).astype(x.dtype) | tol=16
frompyfunc_accumulate | f[5]u | np.frompyfunc(lambda a, b: np.maximum(a / 2, b), 2, 1).accumulate(x).astype(x.dtype)
frompyfunc_outer | f[3] f[4] | np.frompyfunc(lambda a, b: a * b + a, 2, 1).outer(x, y).astype(x.dtype)
"""


def lyapunov_gramian(np, jx, a, b):
    """`f[4,4]u f[4,2] | value tol=256`"""
    a = a - 3 * np.eye(4, dtype=a.dtype)
    gramian = jx.scipy.linalg.solve_sylvester(a, a.T, -b @ b.T)
    return gramian


def discretized_system(np, jx, a, b):
    """`f[3,3]u f[3,1] | tol=64`"""
    whole = np.concatenate([np.concatenate([a, b], 1), np.zeros((1, 4), a.dtype)])
    exact = jx.scipy.linalg.expm(0.1 * whole)
    return exact[:3, :3], exact[:3, 3:]


def riccati_by_iteration(np, jx, a, b, q):
    """`f[3,3]u f[3,1]+ f[3,3]u | tol=512`"""
    q = q @ q.T + np.eye(3, dtype=a.dtype)

    def step(_, p):
        k = np.linalg.solve(1 + b.T @ p @ b, b.T @ p @ a)
        return q + a.T @ p @ (a - b @ k)

    return jx.lax.fori_loop(0, 8, step, q)


def kalman_smoothed(np, jx, ys):
    """`f[12] | tol=64`"""

    def filtered(carry, y):
        mean, var = carry
        var = var + 0.1
        gain = var / (var + 0.5)
        mean, var = mean + gain * (y - mean), (1 - gain) * var
        return (mean, var), (mean, var)

    _, (means, variances) = jx.lax.scan(filtered, (0 * ys[0], 0 * ys[0] + 1), ys)

    def smoothed(after, row):
        mean, var = row
        gain = var / (var + 0.1)
        mean = mean + gain * (after - mean)
        return mean, mean

    _, found = jx.lax.scan(smoothed, means[-1], (means[:-1], variances[:-1]), reverse=True)
    return np.concatenate([found, means[-1:]])


def heat_implicitly(np, jx, u):
    """`f[8] | tol=64`"""
    n = u.shape[0]
    below = np.where(np.arange(n) > 0, -0.3, 0.0).astype(u.dtype)
    above = np.where(np.arange(n) < n - 1, -0.3, 0.0).astype(u.dtype)
    a = np.diag(np.full(n, 1.6, u.dtype)) + np.diag(below[1:], -1) + np.diag(above[:-1], 1)
    return jx.lax.fori_loop(0, 4, lambda _, u: np.linalg.solve(a, u), u)


def poisson_by_cg(np, jx, f):
    """`f[6,6] | value tol=8192`"""

    def laplacian(u):
        wide = np.pad(u, 1)
        return 4 * u - wide[:-2, 1:-1] - wide[2:, 1:-1] - wide[1:-1, :-2] - wide[1:-1, 2:]

    return jx.scipy.sparse.linalg.cg(laplacian, f, tol=1e-6)[0]


def advection_by_bicgstab(np, jx, f):
    """`f[8] | value tol=8192`"""
    return jx.scipy.sparse.linalg.bicgstab(lambda u: 3 * u - np.roll(u, 1) + 0.5 * np.roll(u, -1), f, tol=1e-6)[0]


def spectral_derivative(np, jx, u):
    """`f[16] | tol=64`"""
    k = np.fft.fftfreq(16, 1 / 16).astype(u.dtype)
    return np.fft.ifft(1j * k * np.fft.fft(u)).real


def burgers_step(np, jx, u):
    """`f[16]u | tol=64`"""
    k = np.fft.rfftfreq(16, 1 / 16).astype(u.dtype)

    def right(u):
        slope = np.fft.irfft(1j * k * np.fft.rfft(u), 16)
        return -u * slope + 0.1 * np.fft.irfft(-(k**2) * np.fft.rfft(u), 16)

    a = right(u)
    b = right(u + 0.005 * a)
    return u + 0.01 * b


def implicit_layer(np, jx, w, x):
    """`f[4,4]u f[4] | once tol=1024`"""

    def solve(g, y):
        return np.linalg.solve(jx.jacfwd(g)(y), y)

    def newton(f, z):
        return jx.lax.fori_loop(0, 12, lambda _, z: z - np.linalg.solve(jx.jacfwd(f)(z), f(z)), z)

    return jx.lax.custom_root(lambda z: z - np.tanh(0.5 * w @ z + x), 0 * x, newton, solve)


def solution_in_both_modes(np, jx, a, b):
    """`f[4,4]u f[4] | tol=512`"""
    a = a @ a.T + 2 * np.eye(4, dtype=b.dtype)

    def solve(f, y):
        return np.linalg.solve(jx.lax.stop_gradient(a), y)

    return jx.lax.custom_linear_solve(lambda v: a @ v, b, solve, symmetric=True)


def warped_image(np, jx, image, angle):
    """`f[6,6] f[] | tol=128`"""
    c, s = np.cos(angle), np.sin(angle)
    i, j = np.meshgrid(np.arange(6.0) - 2.5, np.arange(6.0) - 2.5, indexing="ij")
    return jx.scipy.ndimage.map_coordinates(image, [c * i - s * j + 2.5, s * i + c * j + 2.5], order=1)


def image_pyramid(np, jx, x):
    """`f[8,8] | tol=64`"""
    half = jx.image.resize(x, (4, 4), "linear")
    return x - jx.image.resize(half, (8, 8), "cubic"), half


def registered_shift(np, jx, image, t):
    """`f[8] f[]u | once tol=128`"""

    def moved(t):
        return jx.image.scale_and_translate(image, (8,), (0,), np.ones(1, image.dtype), t[None], "cubic", antialias=False)

    return ((moved(t) - moved(0.2 * np.ones_like(t))) ** 2).mean()


def table_of_a_controller(np, jx, values, at):
    """`f[3,4] f[5,2]u`"""
    grid = (np.array([-1.0, 0.0, 2.0]), np.array([-2.0, -0.5, 0.5, 2.0]))
    return jx.scipy.interpolate.RegularGridInterpolator(grid, values, fill_value=None)(at)


def matern_process(np, jx, x, y, scale):
    """`f[6] f[6] f[]+ | once tol=512`"""
    d = np.sqrt((x[:, None] - x) ** 2 + 1e-4) / scale
    k = (1 + np.sqrt(3.0).astype(x.dtype) * d) * np.exp(-np.sqrt(3.0).astype(x.dtype) * d) + 0.5 * np.eye(6, dtype=x.dtype)
    factor = jx.scipy.linalg.cho_factor(k, lower=True)
    return 0.5 * y @ jx.scipy.linalg.cho_solve(factor, y) + np.log(np.diagonal(factor[0])).sum()


def bures_distance(np, jx, a, b):
    """`f[3,3]u f[3,3]u | value tol=512`"""
    a, b = (m @ m.T + np.eye(3, dtype=a.dtype) for m in (a, b))
    w, v = np.linalg.eigh(a)
    root = (v * np.sqrt(w)) @ v.T
    return np.trace(a) + np.trace(b) - 2 * np.trace(jx.scipy.linalg.sqrtm(root @ b @ root).real)


def student_regression(np, jx, w, x, y, nu):
    """`f[3] f[6,3] f[6] f[]1 | once tol=64`"""
    return -jx.scipy.stats.t.logpdf(y - x @ w, nu).sum() + 0.1 * (w**2).sum()


def binomial_evidence(np, jx, p):
    """`f[5]p | once tol=64`"""
    n, k = np.array([5.0, 8, 3, 9, 4]).astype(p.dtype), np.array([2.0, 3, 0, 9, 1]).astype(p.dtype)
    return (np.log(jx.scipy.special.comb(n, k)).astype(p.dtype) + k * np.log(p) + (n - k) * np.log1p(-p)).sum()


def periodogram(np, jx, x):
    """`f[32] | once tol=128`"""
    window = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(32) / 32)).astype(x.dtype)
    return np.abs(np.fft.rfft((x - x.mean()) * window)) ** 2 / (window**2).sum()


def recursive_filter(np, jx, x, a):
    """`f[12] f[2]u | tol=64`"""

    def step(state, value):
        y = value - 0.5 * a[0] * state[0] - 0.4 * a[1] * state[1]
        return np.stack([y, state[0]]), y

    return jx.lax.scan(step, np.zeros(2, x.dtype), x)[1]


def matched_filter(np, jx, x, h):
    """`f[20] f[5] | tol=64`"""
    return jx.scipy.signal.correlate(x, h / np.sqrt((h**2).sum()), mode="same", method="fft")


def fitted_by_gauss_newton(np, jx, p, t, y):
    """`f[2]u f[8]p f[8]u | value once tol=4096`"""

    def residual(p):
        return p[0] * np.exp(p[1] * t) - y

    def step(_, p):
        j = jx.jacfwd(residual)(p)
        return p - np.linalg.solve(j.T @ j + 0.1 * np.eye(2, dtype=p.dtype), j.T @ residual(p))

    return jx.lax.fori_loop(0, 5, step, p)


def hydrogen_density(np, jx, theta, phi):
    """`f[4]p f[4] | value tol=64`"""
    y = jx.scipy.special.sph_harm_y(np.array([2] * 4), np.array([1] * 4), theta, phi, n_max=2)
    return (np.abs(y) ** 2).astype(theta.dtype)


def voigt_profile(np, jx, x, width):
    """`f[6] f[]+ | value tol=256`"""
    return (jx.scipy.special.wofz((x + 1j * width) / np.sqrt(2.0).astype(x.dtype)).real / width).astype(x.dtype)


def distinct_neighbours(np, jx, edges):
    """`i[6,2]k+ | value novmap`"""
    nodes, counts = np.unique(edges, return_counts=True, size=4, fill_value=-1)
    return np.setdiff1d(np.arange(4), nodes, size=4, fill_value=-1), counts
