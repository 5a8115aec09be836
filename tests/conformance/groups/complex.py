"""Complex numbers."""

TABLE = """
make | f[5] f[5] | x + 1j * y | value
lax_complex | f[5] f[5] | jx.lax.complex(x, y) | value
real_part | c[5] | np.real(x)
imaginary_part | c[5] | np.imag(x)
real_attribute | c[5] | x.real
conjugate | c[5] | np.conj(x)
absolute | c[5] | np.abs(x)
angle | c[5] | np.angle(x)
multiply | c[5] c[5] | x * y
divide | c[5] c[5] | x / y
exponential | c[5] | np.exp(x)
square_root | c[5] | np.sqrt(x)
logarithm | c[5] | np.log(x)
matmul | c[3,4] c[4,2] | x @ y
sum | c[5] | x.sum()
magnitude_squared | f[5] f[5] | np.abs(x + 1j * y) ** 2
euler | f[5] | np.exp(1j * x).real
mandelbrot_steps | f[5] f[5] | (lambda c: np.abs((c * c + c) ** 2 + c))(x + 1j * y) | tol=4
gradient_of_magnitude | f[5] f[5] | np.sum(np.abs((x + 1j * y) ** 2 + 1) ** 2)
polynomial | c[5] | x**3 - 2j * x + 1
hyperbolic | c[5] | np.tanh(x) + np.sinh(x) * np.cosh(x) | tol=16
inverse_functions | c[5] | np.arcsin(x) + np.arctan(x) | tol=16
power | c[5] c[5] | (x + 2) ** y | tol=64
prod | c[5] | np.prod(x) | tol=8
cumsum | c[3,4] | np.cumsum(x, 1) | tol=8
vdot | c[5] c[5] | np.vdot(x, y) | tol=8
where | c[5] | np.where(np.real(x) > 0, x, np.conj(x))
outer_product | c[3] c[4] | np.outer(x, y)
indexing | c[5] | x[::-1][1:] * x[np.array([0, 2, 2, 1])]
variance | c[5] | np.var(x) | tol=8
iscomplex | c[5] | np.iscomplexobj(x)
as_pairs | f[5] f[5] | (x * x - y * y, 2 * x * y)
real_of_real | f[5] | np.real(x)
conj_of_real | f[5] | np.conj(x)
"""
