"""Elementwise functions: at ordinary points, at those where formulas change (0, -0, 1, equal operands), far out."""

TABLE = """
sin | f[10]s | np.sin(x)
cos | f[10]s | np.cos(x)
tan | f[10]s | np.tan(x)
arcsin | f[8]us | np.arcsin(x)
arccos | f[8]us | np.arccos(x)
arctan | f[10]s | np.arctan(x)
arctan2 | f[10]n f[10]n | np.arctan2(x, y)
sinh | f[10]s | np.sinh(x)
cosh | f[10]s | np.cosh(x)
tanh | f[10]s | np.tanh(x)
arcsinh | f[10]s | np.arcsinh(x)
arccosh | f[6]1 | np.arccosh(x)
arctanh | f[8]us | np.arctanh(x)
exp | f[10]s | np.exp(x)
exp2 | f[10]s | np.exp2(x)
expm1 | f[10]s | np.expm1(x)
log | f[6]+ | np.log(x)
log2 | f[6]+ | np.log2(x)
log10 | f[6]+ | np.log10(x)
log1p | f[8]us | np.log1p(x)
sqrt | f[6]+ | np.sqrt(x)
cbrt | f[6]n | np.cbrt(x)
square | f[10]s | np.square(x)
reciprocal | f[6]n | np.reciprocal(x)
negative | f[10]s | -x
positive | f[10]s | +x
absolute | f[6]n | np.abs(x)
fabs | f[6]n | np.fabs(x)
sign | f[10]s | np.sign(x)
floor | f[10]s | np.floor(x)
ceil | f[10]s | np.ceil(x)
trunc | f[10]s | np.trunc(x)
rint | f[10]s | np.rint(x)
round_2 | f[6] | np.round(x, 2) | value
round_method | f[6] | x.round() | value
sinc | f[6]n | np.sinc(x)
deg2rad | f[6] | np.deg2rad(x)
rad2deg | f[6] | np.rad2deg(x)
radians | f[6] | np.radians(x)
heaviside | f[6]n f[6] | np.heaviside(x, y) | value
copysign | f[6]n f[6]n | np.copysign(x, y)
nextafter | f[6]n f[6]n | np.nextafter(x, y) | value
signbit | f[10]s | np.signbit(x)
add | f[10]s f[10]s | x + y
add_equal | f[10]s = | x + y
subtract | f[10]s f[10]s | x - y
multiply | f[10]s f[10]s | x * y
multiply_equal | f[10]s = | x * y
divide | f[10]s f[6,1]n | x / y
divide_equal | f[6]n = | x / y
divide_of_zero | f[10]s f[10]n | np.divide(x, y)
floor_divide | f[10]s f[10]n | x // y | value
floor_divide_slope | f[10]s f[10]n | (x // y) * x + y
mod | f[10]s f[10]n | x % y
mod_one | f[10]s | x % 1.0
mod_negative | f[10]s | np.mod(x, -1.5)
remainder | f[6] f[6]n | np.remainder(x, y)
mod_large | f[6] f[6]n | np.mod(x * 1000, y) | value novmap
fmod | f[10]s f[10]n | np.fmod(x, y)
divmod_pair | f[10]s f[10]n | divmod(x, y)
modf | f[6] | np.modf(x) | value
power | f[6]+ f[6]s | x ** y
power_zero_exponent | f[6]+ f[6]s | x ** (y * 0.0)
power_scalar_3 | f[10]s | x ** 3
power_scalar_2 | f[10]s | x ** 2
power_scalar_0 | f[10]s | x ** 0
power_scalar_1 | f[10]s | x ** 1
power_scalar_m2 | f[6]n | x ** -2
power_scalar_25 | f[6]+ | x ** 2.5
power_half | f[6]+ | x ** 0.5
power_integer_array | f[6]n | x ** np.arange(6)
power_of_scalar | f[10]s | 2.0 ** x
power_of_e | f[10]s | np.e ** x
power_bases_at_zero | f[5]+s | np.power(x, 2.5) | once
float_power | f[6]+ f[6] | np.float_power(x, y) | value
hypot | f[6] f[6] | np.hypot(x, y)
hypot_axis | f[5]n | np.hypot(x, 0.0 * x)
hypot_far | f[6]n f[6]n | np.hypot(x * 1e18, y * 1e18) | value
logaddexp | f[10]s f[10]s | np.logaddexp(x, y)
logaddexp_equal | f[6]s = | np.logaddexp(x, y)
logaddexp_scalar | f[10]s | np.logaddexp(x, 0.0)
logaddexp2 | f[10]s f[10]s | np.logaddexp2(x, y)
maximum | f[6] f[6] | np.maximum(x, y)
maximum_equal | f[6] = | np.maximum(x, y)
maximum_scalar | f[10]s | np.maximum(x, 1.0) | once
minimum | f[6] f[6] | np.minimum(x, y)
minimum_equal | f[6] = | np.minimum(x, y)
fmax | f[6] f[6] | np.fmax(x, y)
fmin | f[6] f[6] | np.fmin(x, y)
clip | f[6] | np.clip(x, -1, 1)
clip_method | f[6] | x.clip(-1, 1)
clip_one_side | f[6] | np.clip(x, 0.5, None)
clip_array | f[6] f[6]p | np.clip(x, -y, y)
where | f[6] f[6] | np.where(x > y, x, y)
where_scalar | f[10]s | np.where(x > 0, x, 0.1 * x)
where_safe_log | f[10]s | np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0)
where_safe_sqrt | f[10]s | np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0)
select_list | f[6] | np.select([x < -1, x > 1], [x * 2, x * 3], x)
piecewise | f[6] | np.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v * v])
isnan | f[12]e | np.isnan(x)
isinf | f[12]e | np.isinf(x)
isfinite | f[12]e | np.isfinite(x)
isposinf | f[12]e | np.isposinf(x)
isneginf | f[12]e | np.isneginf(x)
nan_to_num | f[12]e | np.nan_to_num(x) | value
nan_to_num_given | f[12]e | np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-2.0) | value
isclose | f[6] = | np.isclose(x, y + 1e-9)
allclose | f[6] = | np.allclose(x, y)
array_equal | f[6] = | np.array_equal(x, y)
equal | f[6]s = | x == y
not_equal | f[6]s f[6]s | x != y
less | f[6]s f[6]s | x < y
greater_equal | f[6]s f[6]s | x >= y
compare_scalar | f[6]s | (x > 0) & (x < 2)
logical_and | b[6] b[6] | np.logical_and(x, y)
logical_or | b[6] b[6] | np.logical_or(x, y)
logical_not | b[6] | np.logical_not(x)
logical_xor | b[6] b[6] | np.logical_xor(x, y)
logical_of_floats | f[6]s | np.logical_not(x)
sin_edges | f[12]e | np.sin(x) | value
exp_edges | f[12]e | np.exp(x) | value
expm1_edges | f[12]e | np.expm1(x) | value
log_edges | f[12]e | np.log(x) | value
log1p_edges | f[12]e | np.log1p(x) | value
sqrt_edges | f[12]e | np.sqrt(x) | value
tanh_edges | f[12]e | np.tanh(x) | value
sinh_edges | f[12]e | np.sinh(x) | value
cosh_edges | f[12]e | np.cosh(x) | value
arcsinh_edges | f[12]e | np.arcsinh(x) | value
arccosh_edges | f[12]e | np.arccosh(x) | value
arctanh_edges | f[12]e | np.arctanh(x) | value
logaddexp_edges | f[12]e f[12]e | np.logaddexp(x, y) | value
hypot_edges | f[12]e f[12]e | np.hypot(x, y) | value
maximum_edges | f[12]e f[12]e | np.maximum(x, y) | value
minimum_edges | f[12]e f[12]e | np.minimum(x, y) | value
fmax_edges | f[12]e f[12]e | np.fmax(x, y) | value
power_edges | f[12]e f[12]e | np.power(x, y) | value
add_edges | f[12]e f[12]e | x + y | value
multiply_edges | f[12]e f[12]e | x * y | value
divide_edges | f[12]e f[12]e | x / y | value
fmod_edges | f[12]e f[12]e | np.fmod(x, y) | value
sign_edges | f[12]e | np.sign(x) | value
floor_edges | f[12]e | np.floor(x) | value
exp_tails | f[12]t | np.exp(x)
tanh_tails | f[12]t | np.tanh(x)
sinh_tails | f[12]t | np.sinh(x)
expm1_tails | f[12]t | np.expm1(x)
log1p_exp_tails | f[12]t | np.log1p(np.exp(-np.abs(x)))
logaddexp_tails | f[12]t f[12]t | np.logaddexp(x, y)
arctanh_tails | f[8]u | np.arctanh(x)
polynomial | f[10]s | 3 * x**3 - 2 * x**2 + x - 1
rational | f[10]s | (1 + x) / (1 + x * x)
gaussian | f[10]s | np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
sum_of_squares_root | f[6]n f[6]n | np.sqrt(x * x + y * y)
chain | f[10]s | np.tanh(np.sin(np.exp(-x * x)))
x_log_x | f[6]+ | x * np.log(x)
entropy_of_bit | f[6]p | -(x * np.log(x) + (1 - x) * np.log1p(-x))
logit | f[6]p | np.log(x) - np.log1p(-x)
smoothstep | f[6]p | x * x * (3 - 2 * x)
huber | f[6] | np.where(np.abs(x) < 1, 0.5 * x * x, np.abs(x) - 0.5)
log_cosh | f[10]s | np.logaddexp(x, -x) - np.log(2.0)
softsign | f[6]n | x / (1 + np.abs(x))
broadcast_column_row | f[4,1] f[1,3] | x * y + x
broadcast_scalar_first | f[] f[5] | x - y
scalar_function | f[] | np.sin(x) * x
python_numbers | f[6] | 2 * x + 1 - 0.5
reflected | f[6]n | 1 / x - 2 ** x + 3 // 2
in_place_names | f[6] f[6] | (lambda a: a + 1)(x * y)
digamma | f[6]+ | jx.scipy.special.digamma(x)
gammaln | f[6]+ | jx.scipy.special.gammaln(x)
erf | f[10]s | jx.scipy.special.erf(x)
erfc | f[10]s | jx.scipy.special.erfc(x)
erfinv | f[8]u | jx.scipy.special.erfinv(x)
expit | f[10]s | jx.scipy.special.expit(x)
logit_special | f[6]p | jx.scipy.special.logit(x)
xlogy | f[6]s f[6]+ | jx.scipy.special.xlogy(x, y)
xlog1py | f[6]s f[6]p | jx.scipy.special.xlog1py(x, y)
entr | f[6]p | jx.scipy.special.entr(x)
rel_entr | f[6]p f[6]p | jx.scipy.special.rel_entr(x, y)
i0 | f[6] | np.i0(x)
bessel_i0e | f[6] | jx.scipy.special.i0e(x)
ndtr | f[10]s | jx.scipy.special.ndtr(x)
log_ndtr | f[10]s | jx.scipy.special.log_ndtr(x)
betaln | f[6]+ f[6]+ | jx.scipy.special.betaln(x, y)
zeta | f[6]1 | jx.scipy.special.zeta(x, 1.0) | value
ldexp | f[6] j[6] | np.ldexp(x, y) | value
frexp | f[6] | np.frexp(x) | value
nanfree_where_division | f[10]s f[10]s | np.where(y == 0, 0.0, x / np.where(y == 0, 1.0, y))
exp1 | f[6]+ | jx.scipy.special.exp1(x) | value
expi | f[6]n | jx.scipy.special.expi(x) | once
sici | f[6]+ | jx.scipy.special.sici(x) | once
fresnel | f[6] | jx.scipy.special.fresnel(x) | once
spence | f[6]+ | jx.scipy.special.spence(x) | value
dawsn | f[6] | jx.scipy.special.dawsn(x) | once
bessel_jn | f[6]+ | jx.scipy.special.bessel_jn(x, v=2) | value
gammainc | f[6]+ f[6]+ | jx.scipy.special.gammainc(x, y) | value
gammaincc | f[6]+ | jx.scipy.special.gammaincc(2.5, x) | value
betainc | f[6]p | jx.scipy.special.betainc(1.5, 2.5, x) | value
expn | f[6]+ | jx.scipy.special.expn(2, x) | value
hyp1f1 | f[6]u | jx.scipy.special.hyp1f1(1.5, 2.5, x) | value
lax_igamma | f[6]+ f[6]+ | jx.lax.igamma(x, y) | value
lax_clz | i[6]k+ | jx.lax.clz(x)
lax_mulhi | i[6] | jx.lax.mulhi(x * 2**40, x)
"""
