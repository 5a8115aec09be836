# from the table names.toml by `make names`: do not edit
"""`lamina.scipy.linalg`: scipy.linalg's names. Functions that NumPy has under the same name have SciPy's arguments and defaults
here, as `cholesky`, which returns the upper factor; all others are `lamina.linalg`'s.

Arguments that only save copies or checks (`overwrite_a`, `check_finite`, `lapack_driver` ...) are accepted and change nothing."""

from typing import Any

from ....library.linalg.factors import eig as eig
from ....library.linalg.factors import eigvals as eigvals
from ....library.linalg.factors import eigvalsh as eigvalsh
from ....library.linalg.factors import lstsq as lstsq
from ....library.linalg.factors import matrix_rank as matrix_rank
from ....library.linalg.factors import pinv as pinv
from ....library.linalg.factors import slogdet as slogdet
from ....library.linalg.factors import svdvals as svdvals
from ....library.linalg.factors import tensorinv as tensorinv
from ....library.linalg.factors import tensorsolve as tensorsolve
from ....library.linalg.iterative import bicgstab as bicgstab
from ....library.linalg.iterative import cg as cg
from ....library.linalg.iterative import gmres as gmres
from ....library.linalg.matrices import block_diag as block_diag
from ....library.linalg.matrices import circulant as circulant
from ....library.linalg.matrices import companion as companion
from ....library.linalg.matrices import convolution_matrix as convolution_matrix
from ....library.linalg.matrices import dft as dft
from ....library.linalg.matrices import expm_frechet as expm_frechet
from ....library.linalg.matrices import fiedler as fiedler
from ....library.linalg.matrices import fiedler_companion as fiedler_companion
from ....library.linalg.matrices import hadamard as hadamard
from ....library.linalg.matrices import hankel as hankel
from ....library.linalg.matrices import helmert as helmert
from ....library.linalg.matrices import hilbert as hilbert
from ....library.linalg.matrices import invhilbert as invhilbert
from ....library.linalg.matrices import invpascal as invpascal
from ....library.linalg.matrices import leslie as leslie
from ....library.linalg.matrices import pascal as pascal
from ....library.linalg.matrices import polar as polar
from ....library.linalg.matrices import toeplitz as toeplitz
from ....library.linalg.norms import cond as cond
from ....library.linalg.norms import diagonal as diagonal
from ....library.linalg.norms import matrix_norm as matrix_norm
from ....library.linalg.norms import matrix_power as matrix_power
from ....library.linalg.norms import multi_dot as multi_dot
from ....library.linalg.norms import norm as norm
from ....library.linalg.norms import outer as outer
from ....library.linalg.norms import trace as trace
from ....library.linalg.norms import vector_norm as vector_norm
from ....library.linalg.schur import eigh_tridiagonal as eigh_tridiagonal
from ....library.linalg.schur import eigvalsh_tridiagonal as eigvalsh_tridiagonal
from ....library.linalg.schur import funm as funm
from ....library.linalg.schur import hessenberg as hessenberg
from ....library.linalg.schur import rsf2csf as rsf2csf
from ....library.linalg.schur import schur as schur
from ....library.linalg.schur import solve_continuous_lyapunov as solve_continuous_lyapunov
from ....library.linalg.schur import solve_discrete_lyapunov as solve_discrete_lyapunov
from ....library.linalg.schur import solve_lyapunov as solve_lyapunov
from ....library.linalg.schur import solve_sylvester as solve_sylvester
from ....library.linalg.schur import sqrtm as sqrtm
from ....library.numpy.contract import cross as cross
from ....library.numpy.contract import matmul as matmul
from ....library.numpy.contract import tensordot as tensordot
from ....library.numpy.contract import vecdot as vecdot
from ....library.numpy.shape import matrix_transpose as matrix_transpose
from .hinted_linalg import cholesky as cholesky
from .hinted_linalg import eigh as eigh
from .hinted_linalg import qr as qr
from .hinted_linalg import qr_multiply as qr_multiply
from .hinted_linalg import solve as solve

def cho_factor(a: Any, lower: bool = False) -> Any:
    """`scipy.linalg.cho_factor`: the factor and `lower`, for `cho_solve`; the other triangle is 0. The triangle of `a` that the"""

def cho_solve(c_and_lower: Any, b: Any) -> Any:
    """`scipy.linalg.cho_solve`: the solution of `a x = b` from the factor of `a` by `cho_factor`; `2 * n**2` flops a column."""

def det(a: Any) -> Any:
    """`np.linalg.det`: the determinant, by LU with partial pivoting."""

def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """`scipy.linalg.expm`: the exponential of square matrices, by scaling, Pade's approximant of degree 13, and squaring."""

def inv(a: Any) -> Any:
    """`np.linalg.inv`: the inverse, by LU with partial pivoting; `2 * n**3` flops. Of a singular matrix infinities and NaN."""

def lu(a: Any, permute_l: bool = False) -> Any:
    """`scipy.linalg.lu`: `p, l, u` with `a = p l u`, or with `permute_l` the pair `p l, u`; `2 * n**3 / 3` flops."""

def lu_factor(a: Any) -> Any:
    """`scipy.linalg.lu_factor`: both factors in one array, and the row that each row was exchanged with, int32."""

def lu_solve(lu_and_piv: Any, b: Any, trans: int = 0) -> Any:
    """`scipy.linalg.lu_solve`: the solution of `a x = b`, with `trans` 1 of `a^T x = b`, 2 of `a^H x = b`; from `lu_factor`."""

def solve_triangular(a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False) -> Any:
    """`scipy.linalg.solve_triangular`: the solution of `a x = b`; `trans` 1 or "T": of `a^T x = b`, 2 or "C": `a^H x = b`."""

def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False, subset_by_index: tuple[int, int] | None = None) -> Any:
    """`np.linalg.svd`: `U, S, Vh` with `a = U * S @ Vh`, singular values in descending order; `S` alone without `compute_uv`."""

__all__ = [
    "bicgstab", "block_diag", "cg", "cho_factor", "cho_solve", "cholesky", "circulant", "companion", "cond",
    "convolution_matrix", "cross", "det", "dft", "diagonal", "eig", "eigh", "eigh_tridiagonal", "eigvals", "eigvalsh",
    "eigvalsh_tridiagonal", "expm", "expm_frechet", "fiedler", "fiedler_companion", "funm", "gmres", "hadamard", "hankel",
    "helmert", "hessenberg", "hilbert", "inv", "invhilbert", "invpascal", "leslie", "lstsq", "lu", "lu_factor", "lu_solve",
    "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pascal", "pinv",
    "polar", "qr", "qr_multiply", "rsf2csf", "schur", "slogdet", "solve", "solve_continuous_lyapunov",
    "solve_discrete_lyapunov", "solve_lyapunov", "solve_sylvester", "solve_triangular", "sqrtm", "svd", "svdvals", "tensordot",
    "tensorinv", "tensorsolve", "toeplitz", "trace", "vecdot", "vector_norm",
]
