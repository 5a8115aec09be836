"""Linear algebra of small, well-conditioned matrices."""

_SPD = "(x @ x.T + 4 * np.eye(4, dtype=x.dtype))"
_REG = "(x + 8 * np.eye(4, dtype=x.dtype))"
_Z = "(x + 1j * y + 4 * np.eye(3, dtype=x.dtype))"

TABLE = f"""
det | f[4,4] | np.linalg.det({_REG}) | tol=16
slogdet | f[4,4] | np.linalg.slogdet({_REG}) | tol=16
inv | f[4,4] | np.linalg.inv({_REG}) | tol=16
inv_batched | f[2,4,4] | np.linalg.inv({_REG}) | tol=16
solve | f[4,4] f[4] | np.linalg.solve({_REG}, y) | tol=16
solve_matrix | f[4,4] f[4,3] | np.linalg.solve({_REG}, y) | tol=16
cholesky | f[4,4] | np.linalg.cholesky({_SPD}) | tol=16
qr | f[4,4] | np.abs(np.linalg.qr({_REG})[1]) | tol=16
eigvalsh | f[4,4] | np.linalg.eigvalsh({_SPD}) | tol=32
eigh_values | f[4,4] | np.linalg.eigh({_SPD})[0] | tol=32
svdvals | f[4,5] | np.linalg.svd(x, compute_uv=False) | tol=32
pinv | f[4,4] | np.linalg.pinv({_REG}) | tol=64 once
lstsq | f[6,3] f[6] | np.linalg.lstsq(x, y)[0] | tol=64 value
matrix_power | f[3,3] | np.linalg.matrix_power(x, 3) | tol=4
matrix_rank | f[4,4] | np.linalg.matrix_rank({_REG})
norm | f[5]n | np.linalg.norm(x)
norm_axis | f[4,5] | np.linalg.norm(x, axis=1)
norm_1 | f[5]n | np.linalg.norm(x, 1)
norm_inf | f[5] | np.linalg.norm(x, np.inf)
norm_fro | f[4,5] | np.linalg.norm(x, "fro")
norm_keepdims | f[4,5] | np.linalg.norm(x, axis=0, keepdims=True)
vector_norm | f[4,5] | np.linalg.vector_norm(x, axis=1)
matrix_norm | f[4,5] | np.linalg.matrix_norm(x)
linalg_trace | f[4,4] | np.linalg.trace(x)
linalg_diagonal | f[4,4] | np.linalg.diagonal(x)
linalg_outer | f[3] f[4] | np.linalg.outer(x, y)
linalg_cross | f[3] f[3] | np.linalg.cross(x, y)
linalg_matmul | f[3,4] f[4,2] | np.linalg.matmul(x, y)
solve_triangular | f[4,4] f[4] | jx.scipy.linalg.solve_triangular(np.tril(x) + 6 * np.eye(4, dtype=x.dtype), y, lower=True) | tol=8
cho_solve | f[4,4] f[4] | jx.scipy.linalg.cho_solve(jx.scipy.linalg.cho_factor({_SPD}), y) | tol=16
expm | f[3,3]u | jx.scipy.linalg.expm(x) | tol=16
eigvals_sorted | f[4,4] | np.sort(np.linalg.eigvals({_REG}).real) | tol=64 once
eig_vectors | f[4,4] | (lambda w, v: np.abs({_REG} @ v - v * w) < 1e-3)(*np.linalg.eig({_REG})) | value
eig_of_rotation | f[] | np.linalg.eigvals(np.array([[np.cos(x), -np.sin(x)], [np.sin(x), np.cos(x)]])).real.sum() | tol=16 once
roots | f[4] | np.sort(np.abs(np.roots(x, strip_zeros=False))) | tol=64 once
complex_det | f[3,3] f[3,3] | np.linalg.det{_Z} | tol=16 value
complex_solve | f[3,3] f[3,3] | np.linalg.solve({_Z}, x - 2j * y) | tol=16 value
complex_qr | f[3,3] f[3,3] | np.linalg.qr{_Z} | tol=32 value
complex_eigvalsh | f[3,3] f[3,3] | np.linalg.eigvalsh(x + 1j * y) | tol=32 value
complex_svdvals | f[3,3] f[3,3] | np.linalg.svd(x + 1j * y, compute_uv=False) | tol=32 value
complex_cholesky | f[3,3] f[3,3] | (lambda z: np.linalg.cholesky(z @ z.conj().T))({_Z}) | tol=32 value
complex_pinv | f[3,3] f[3,3] | np.linalg.pinv({_Z}[:, :2]) | tol=64 value
gauss_elimination | f[2,2] f[2] | np.stack([x[1, 1] * y[0] - x[0, 1] * y[1], x[0, 0] * y[1] - x[1, 0] * y[0]])
det_2x2 | f[2,2] | x[0, 0] * x[1, 1] - x[0, 1] * x[1, 0]
cholesky_2x2 | f[2,2] | (lambda a: np.stack([np.sqrt(a[0, 0]), a[1, 0] / np.sqrt(a[0, 0])]))(x @ x.T + np.eye(2, dtype=x.dtype))
gram_schmidt_step | f[4] f[4] | y - (x @ y) / (x @ x) * x
rotation | f[] | np.array([[np.cos(x), -np.sin(x)], [np.sin(x), np.cos(x)]])
householder | f[4]n | np.eye(4, dtype=x.dtype) - 2 * np.outer(x, x) / (x @ x)
jacobi_sweep | f[4,4] f[4] | (y - ({_REG} - 8 * np.eye(4, dtype=x.dtype)) @ y) / 8
"""
