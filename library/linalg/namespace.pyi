# from the table names.toml by `make names`: do not edit
"""`lamina.linalg`, also `lamina.numpy.linalg`: factorizations, equations, norms, products, functions of matrices."""

from typing import Any

from ..numpy.contract import cross as cross
from ..numpy.contract import matmul as matmul
from ..numpy.contract import tensordot as tensordot
from ..numpy.contract import vecdot as vecdot
from ..numpy.shape import matrix_transpose as matrix_transpose
from .factors import cho_factor as cho_factor
from .factors import cho_solve as cho_solve
from .factors import cholesky as cholesky
from .factors import det as det
from .factors import eig as eig
from .factors import eigh as eigh
from .factors import eigvals as eigvals
from .factors import eigvalsh as eigvalsh
from .factors import expm as expm
from .factors import inv as inv
from .factors import lstsq as lstsq
from .factors import lu as lu
from .factors import lu_factor as lu_factor
from .factors import lu_solve as lu_solve
from .factors import matrix_rank as matrix_rank
from .factors import pinv as pinv
from .factors import qr as qr
from .factors import slogdet as slogdet
from .factors import solve as solve
from .factors import solve_triangular as solve_triangular
from .factors import svd as svd
from .factors import svdvals as svdvals
from .factors import tensorinv as tensorinv
from .factors import tensorsolve as tensorsolve
from .iterative import bicgstab as bicgstab
from .iterative import cg as cg
from .iterative import gmres as gmres
from .matrices import block_diag as block_diag
from .matrices import circulant as circulant
from .matrices import companion as companion
from .matrices import convolution_matrix as convolution_matrix
from .matrices import dft as dft
from .matrices import expm_frechet as expm_frechet
from .matrices import fiedler as fiedler
from .matrices import fiedler_companion as fiedler_companion
from .matrices import hadamard as hadamard
from .matrices import hankel as hankel
from .matrices import helmert as helmert
from .matrices import hilbert as hilbert
from .matrices import invhilbert as invhilbert
from .matrices import invpascal as invpascal
from .matrices import leslie as leslie
from .matrices import pascal as pascal
from .matrices import polar as polar
from .matrices import toeplitz as toeplitz
from .norms import cond as cond
from .norms import diagonal as diagonal
from .norms import matrix_norm as matrix_norm
from .norms import matrix_power as matrix_power
from .norms import multi_dot as multi_dot
from .norms import norm as norm
from .norms import outer as outer
from .norms import trace as trace
from .norms import vector_norm as vector_norm
from .schur import eigh_tridiagonal as eigh_tridiagonal
from .schur import eigvalsh_tridiagonal as eigvalsh_tridiagonal
from .schur import funm as funm
from .schur import hessenberg as hessenberg
from .schur import rsf2csf as rsf2csf
from .schur import schur as schur
from .schur import solve_continuous_lyapunov as solve_continuous_lyapunov
from .schur import solve_discrete_lyapunov as solve_discrete_lyapunov
from .schur import solve_lyapunov as solve_lyapunov
from .schur import solve_sylvester as solve_sylvester
from .schur import sqrtm as sqrtm

__all__ = [
    "bicgstab", "block_diag", "cg", "cho_factor", "cho_solve", "cholesky", "circulant", "companion", "cond",
    "convolution_matrix", "cross", "det", "dft", "diagonal", "eig", "eigh", "eigh_tridiagonal", "eigvals", "eigvalsh",
    "eigvalsh_tridiagonal", "expm", "expm_frechet", "fiedler", "fiedler_companion", "funm", "gmres", "hadamard", "hankel",
    "helmert", "hessenberg", "hilbert", "inv", "invhilbert", "invpascal", "leslie", "lstsq", "lu", "lu_factor", "lu_solve",
    "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pascal", "pinv",
    "polar", "qr", "rsf2csf", "schur", "slogdet", "solve", "solve_continuous_lyapunov", "solve_discrete_lyapunov",
    "solve_lyapunov", "solve_sylvester", "solve_triangular", "sqrtm", "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve",
    "toeplitz", "trace", "vecdot", "vector_norm",
]
