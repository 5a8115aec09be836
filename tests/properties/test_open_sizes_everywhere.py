"""Functions of the namespaces at symbolic sizes, with arguments of a table: where known sizes work, open ones do.

`VALUES` are computed and compared, `TRACED` have a trace of open sizes. A new function needs a row, or a reason in `REFUSED`.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import lamina as lm
import pytest

from .open_sizes import compare, trace

Table = dict[str, dict[str, str]]

VALUES: Table = {
    "numpy": {
        "x": (
            "abs absolute acos acosh all amax amin angle any arccos arccosh arcsin arcsinh arctan arctanh argmax "
            "argmin argsort around array asanyarray asarray ascontiguousarray asin asinh atan atanh atleast_1d "
            "atleast_2d atleast_3d average block broadcast_arrays cbrt ceil clip conj conjugate copy corrcoef cos "
            "cosh count_nonzero cov cummax cummin cumprod cumsum cumulative_prod cumulative_sum deg2rad degrees "
            "diag diagflat diff ediff1d empty_like exp exp2 expm1 fabs flip flipud floor frexp gradient histogram "
            "histogram_bin_edges histogramdd i0 imag iscomplex iscomplexobj isfinite isinf isnan isneginf "
            "isposinf isreal isrealobj isscalar ix_ log log10 log1p log2 logical_not max mean median meshgrid min "
            "modf nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod "
            "nanstd nansum nanvar ndim negative ones_like permute_dims polyder polyint positive prod ptp rad2deg "
            "radians ravel real real_if_close reciprocal rint round shape sign signbit sin sinc sinh size sort "
            "sort_complex spacing sqrt square squeeze std sum tan tanh transpose trapezoid tril triu trunc unwrap "
            "vander var zeros_like"
        ),
        "i j": (
            "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor gcd lcm ldexp left_shift "
            "right_shift take take_along_axis"
        ),
        "x y": (
            "add allclose append arctan2 array_equal array_equiv atan2 convolve copysign correlate "
            "divide divmod dot equal float_power floor_divide fmax fmin fmod full_like geomspace greater "
            "greater_equal heaviside histogram2d hypot inner isclose isin kron less less_equal linspace logaddexp "
            "logaddexp2 logical_and logical_or logical_xor logspace matmul maximum minimum mod multiply "
            "nanpercentile nanquantile nextafter not_equal outer percentile polyadd polydiv polymul polysub pow "
            "power quantile remainder subtract true_divide vdot vecdot"
        ),
        "rising x": "searchsorted",
        "x rising": "digitize",
        "x 0 1": "dynamic_slice",
        "i": "bitwise_count bitwise_invert bitwise_not invert packbits",
        "rows rows": "cross tensordot",
        "x shape": "broadcast_to einsum reshape",
        "square x": "matvec",
        "rows columns": "vecmat",
        "rows": "diagonal fliplr matrix_transpose rot90 trace",
        "x 2": "argpartition array_split delete pad partition repeat resize roll tile top_k unravel_index",
        "stack stack stack": "piecewise select",
        "columns": "column_stack concat concatenate dstack hstack lexsort stack unstack vstack",
        "square": "diag_indices_from poly",
        "x 1": "expand_dims hsplit split vsplit",
        "b x y": "interp where",
        "2 x": "polyval",
        "rows 1": "rollaxis",
    },
    "fft": {
        "x": "fft fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftn",
        "rows": "fft2 ifft2 irfft2 rfft2",
    },
    "linalg": {
        "square": "cho_factor cholesky det eig eigh eigvals eigvalsh expm hessenberg inv schur slogdet sqrtm",
        "square x": "bicgstab cg lstsq rsf2csf solve solve_triangular tensorsolve",
        "rows": "cond diagonal lu lu_factor matrix_norm matrix_transpose pinv polar qr svd svdvals trace",
        "x": "block_diag circulant companion fiedler hankel matrix_rank norm toeplitz vector_norm",
        "x 2": "convolution_matrix",
        "rows rows": "cross tensordot",
        "x y": "matmul outer vecdot",
        "[x y]": "multi_dot",
    },
    "special": {
        "x": (
            "cbrt cosm1 dawsn digamma ellipe ellipk ellipkm1 erfi exp1 exp10 exp2 expm1 exprel fresnel gammaln "
            "gammasgn i0 i0e i1 i1e j0 j1 log1p log_expit loggamma sici spence zeta"
        ),
        "x 2": "multigammaln",
        "x y": "agm gammainc gammaincc huber inv_boxcox inv_boxcox1p",
        "b x y": "hyp1f1",
    },
    "lax": {
        "x": (
            "abs acos acosh asin asinh atan atanh cbrt ceil conj cos cosh exp exp2 expm1 floor imag is_finite log "
            "log1p neg optimization_barrier real reciprocal round rsqrt sign sin sinh sqrt square tan tanh"
        ),
        "x y": "add atan2 div eq ge gt le lt max min mul ne nextafter rem select_n sub",
        "i j": "bitwise_and bitwise_or bitwise_xor mulhi shift_left shift_right_arithmetic shift_right_logical",
        "i": "bitwise_not clz population_count",
        "x 2": "broadcast broadcast_to_rank collapse dynamic_index_in_dim index_in_dim integer_pow tile",
        "b x y": "clamp select",
        "x 0 1": "dynamic_slice dynamic_slice_in_dim slice",
        "x 1": "expand_dims",
        "x shape": "reshape split",
    },
}

TRACED: Table = {
    "numpy": {
        "x": "iterable",
    },
    "linalg": {
        "square x": "gmres",
    },
    "special": {
        "x y": ("beta betaln boxcox boxcox1p comb expn kl_div owens_t perm poch polygamma pseudo_huber rel_entr xlog1py xlogy"),
        "b x y": "betainc",
        "w x y z": "hyp2f1",
        "x": (
            "entr erf erfc erfcinv erfcx erfinv expi expit factorial gamma log_ndtr log_softmax logit logsumexp "
            "ndtr ndtri psi rgamma sinc softmax softplus wofz"
        ),
    },
    "nn": {
        "x y": (
            "binary_cross_entropy binary_cross_entropy_with_logits cosine_similarity cross_entropy focal_loss "
            "hinge_embedding_loss huber_loss kl_div l1_loss mse_loss poisson_nll_loss smooth_l1_loss "
            "soft_margin_loss"
        ),
        "x": (
            "celu elu erf gelu hard_sigmoid hard_silu hard_swish hard_tanh identity layer_norm leaky_relu "
            "log1mexp log_sigmoid log_softmax logmeanexp logsumexp mish normalize relu relu6 rms_norm selu "
            "sigmoid silu soft_sign softmax softplus sparse_plus sparse_sigmoid squareplus standardize swish tanh"
        ),
        "i 3": "one_hot",
        "[rows rows]": "glu rotary_embedding",
        "stack stack stack": "attention dot_product_attention",
        "x 0 1": "dropout",
        "b x y": "cosine_embedding_loss gaussian_nll_loss margin_ranking_loss triplet_margin_loss",
        "x 2": "nll_loss",
        "rows": "batch_norm_train instance_norm",
        "rows 1": "group_norm",
        "x shape": "resize",
        "boxes boxes": "box_iou",
        "boxes x 3": "non_max_suppression",
    },
    "lax": {
        "columns": "stack unstack",
        "x y": (
            "batch_matmul bitcast_convert_type convert_element_type dot full_like igamma igamma_grad_a igammac "
            "polygamma pow random_gamma_grad sort_key_val"
        ),
        "2 x": "empty",
        "x 2": "approx_max_k approx_min_k iota top_k",
        "rows 1": "argmax argmin",
        "x": (
            "bessel_i0e bessel_i1e cumlogsumexp cummax cummin cumprod cumsum digamma erf erf_inv erfc lgamma "
            "logistic sort stop_gradient zeta"
        ),
        "b x y": "betainc",
    },
    "scipy.stats": {
        "x": "mode rankdata sem",
    },
    "scipy.signal": {
        "x y": "convolve correlate",
        "rows columns": "convolve2d correlate2d",
        "rows rows": "csd",
        "rows": "detrend stft welch",
        "stack": "istft",
    },
}

REFUSED = {
    "numpy.choose": "a list of as many choices as a size",
    "numpy.extract": "a result whose size depends on values",
    "numpy.insert": "places are counted in arrays of NumPy's",
    "numpy.tril_indices_from": "an index list of NumPy's, of n (n + 1) / 2 elements",
    "numpy.triu_indices_from": "an index list of NumPy's, of n (n + 1) / 2 elements",
    "linalg.fiedler_companion": "a product of as many matrices as there are coefficients",
    "lax.complex": "shapes that NumPy broadcasts",
    "lax.slice_in_dim": "limits that are numbers",
    "scipy.signal.fftconvolve": "a transform of a length with small factors",
}
"""What works at known sizes and not at open ones, and why; each raises an error that names the size."""

OUTSIDE: dict[str, str] = {
    "numpy": (
        "apply_along_axis apply_over_axes arange argwhere array2string array_repr array_str astype bartlett "
        "base_repr binary_repr bincount blackman broadcast_shapes can_cast compress diag_indices dsplit "
        "dynamic_update_slice einsum_path empty errstate eye fill_diagonal finfo flatnonzero "
        "format_float_positional format_float_scientific from_dlpack frombuffer fromfile fromfunction fromiter "
        "frompyfunc fromstring full get_printoptions hamming hanning identity iinfo indices intersect1d isdtype "
        "issubdtype kaiser load mask_indices may_share_memory moveaxis nonzero ones place polyfit printoptions "
        "promote_types put put_along_axis ravel_multi_index result_type roots save savez segment_max segment_mean "
        "segment_min segment_prod segment_sum set_printoptions setdiff1d setxor1d shares_memory swapaxes tri "
        "tril_indices trim_zeros triu_indices union1d unique unique_all unique_counts unique_inverse "
        "unique_values unpackbits vectorize zeros"
    ),
    "fft": ("fftfreq rfftfreq"),
    "linalg": (
        "cho_solve dft eigh_tridiagonal eigvalsh_tridiagonal expm_frechet funm hadamard helmert hilbert "
        "invhilbert invpascal leslie lu_solve matrix_power pascal solve_continuous_lyapunov "
        "solve_discrete_lyapunov solve_lyapunov solve_sylvester tensorinv"
    ),
    "special": ("bernoulli bessel_jn sph_harm_y"),
    "nn": (
        "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d "
        "adaptive_max_pool3d avg_pool1d avg_pool2d avg_pool3d batch_norm conv1d conv2d conv3d conv_transpose1d "
        "conv_transpose2d conv_transpose3d ctc_loss embedding gru interpolate lstm max_pool1d max_pool2d "
        "max_pool3d rnn"
    ),
    "lax": (
        "all_gather all_to_all associative_scan axis_index axis_size broadcast_in_dim broadcast_shapes "
        "broadcasted_iota concatenate cond conv conv_dimension_numbers conv_general_dilated "
        "conv_general_dilated_local conv_general_dilated_patches conv_transpose conv_with_general_padding "
        "custom_linear_solve custom_root dot_general dtype dynamic_update_index_in_dim dynamic_update_slice "
        "dynamic_update_slice_in_dim fft fori_loop full gather index_take map pad padtype_to_pads pmax pmean pmin "
        "ppermute pshuffle psum psum_scatter pswapaxes ragged_dot reduce reduce_and reduce_max reduce_min "
        "reduce_or reduce_precision reduce_prod reduce_sum reduce_window reduce_window_shape_tuple reduce_xor rev "
        "scan scatter scatter_add scatter_apply scatter_max scatter_min scatter_mul scatter_sub "
        "select_and_scatter_add shape_as_value squeeze switch transpose while_loop"
    ),
}
"""Functions that take none of the forms of arguments: functions, keys, shapes, options, arrays of further ranks."""


def _found(namespace: str) -> Any:
    return reduce(getattr, namespace.split("."), lm)


def rows(table: Table) -> list[tuple[str, str, str]]:
    return [
        (namespace, form, name) for namespace, forms in table.items() for form, names in forms.items() for name in names.split()
    ]


@pytest.mark.filterwarnings("ignore:.*is compiled for each size by itself")
@pytest.mark.parametrize("row", rows(VALUES)[::48], ids=lambda row: f"{row[0]}.{row[2]}")
def test_some_values(row: tuple[str, str, str]) -> None:
    namespace, form, name = row
    compare(form, getattr(_found(namespace), name), (5,))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*is compiled for each size by itself")
@pytest.mark.parametrize("row", rows(VALUES), ids=lambda row: f"{row[0]}.{row[2]}")
def test_values(row: tuple[str, str, str]) -> None:
    namespace, form, name = row
    compare(form, getattr(_found(namespace), name), (5, 4))


@pytest.mark.parametrize("namespace", sorted({*VALUES, *TRACED}))
def test_traces(namespace: str) -> None:
    for _, form, name in rows({namespace: VALUES.get(namespace, {})})[::4] + rows({namespace: TRACED.get(namespace, {})}):
        trace(form, getattr(_found(namespace), name))


def test_every_function_has_a_row() -> None:
    known = {f"{namespace}.{name}" for namespace, _, name in rows(VALUES) + rows(TRACED)} | REFUSED.keys()
    known |= {f"{namespace}.{name}" for namespace, names in OUTSIDE.items() for name in names.split()}
    for namespace in {*VALUES, *TRACED}:
        space = _found(namespace)
        public = [name for name in getattr(space, "__all__", None) or dir(space) if not name.startswith("_")]
        functions = {f"{namespace}.{n}" for n in public if callable(f := getattr(space, n)) and not isinstance(f, type)}
        assert not functions - known, "add them to a table: VALUES with a form, or REFUSED with the reason"
