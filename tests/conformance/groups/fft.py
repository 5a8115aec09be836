"""Discrete Fourier transforms."""

TABLE = """
fft_magnitude | f[8] | np.abs(np.fft.fft(x)) | once tol=16
fft_odd_length | f[7] | np.abs(np.fft.fft(x)) | once tol=16
rfft_power | f[8] | np.abs(np.fft.rfft(x)) ** 2 | tol=16
ifft_of_fft | f[8] | np.fft.ifft(np.fft.fft(x)).real | tol=16
irfft_of_rfft | f[8] | np.fft.irfft(np.fft.rfft(x)) | tol=16
fft2 | f[4,6] | np.abs(np.fft.fft2(x)) ** 2 | tol=16
fftfreq | f[8] | x * np.fft.fftfreq(8)
fftshift | f[8] | np.fft.fftshift(x)
ifftshift | f[7] | np.fft.ifftshift(x)
convolve_by_fft | f[8] f[8] | np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(y)) | tol=16
dft_by_matmul | f[8] | np.cos(2 * np.pi * np.arange(8)[:, None] * np.arange(8) / 8) @ x
fft_of_prime_length | f[37] | np.abs(np.fft.fft(x)) | once tol=64
fft_of_rows | f[3,16] | np.abs(np.fft.fft(x, axis=0)) ** 2 | tol=64
fft_padded | f[5] | np.abs(np.fft.fft(x, 12)) ** 2 | tol=64
ortho | f[8] | np.abs(np.fft.fft(x, norm='ortho')) ** 2 | tol=32
rfft2 | f[4,6] | np.abs(np.fft.rfft2(x)) ** 2 | tol=64
fftn | f[2,3,4] | np.abs(np.fft.fftn(x)) ** 2 | tol=64
irfft_odd | f[9] | np.fft.irfft(np.fft.rfft(x) * 2, 9) | tol=32
hfft | f[6] | np.fft.hfft(x + 0j) | tol=32
rfftfreq | f[5] | x * np.fft.rfftfreq(8)
spectral_filter | f[8] | np.fft.irfft(np.fft.rfft(x) * (np.arange(5) < 3)) | tol=16
"""
