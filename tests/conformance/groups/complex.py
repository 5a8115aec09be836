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
iscomplex | c[5] | np.iscomplexobj(x)
as_pairs | f[5] f[5] | (x * x - y * y, 2 * x * y)
real_of_real | f[5] | np.real(x)
conj_of_real | f[5] | np.conj(x)
"""
