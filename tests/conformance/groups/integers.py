"""Integers: division, remainders, bits, overflow."""

TABLE = """
add | i[6] i[6] | x + y
subtract | i[6] i[6] | x - y
multiply | i[6] i[6] | x * y
true_divide | i[6] i[6]k1 | x / y
floor_divide | i[6] i[6]k1 | x // y
floor_divide_negative | i[6] i[6]k1 | x // -y
mod | i[6] i[6]k1 | x % y
mod_negative | i[6] i[6]k1 | x % -y
fmod | i[6] i[6]k1 | np.fmod(x, y)
divmod | i[6] i[6]k1 | divmod(x, y)
power_2 | i[6] | x ** 2
power_3 | i[6] | x ** 3
power_array | i[6] i[6]k+ | x ** y
power_constant_array | i[6] | x ** np.arange(6)
two_to_the | i[6]k+ | 2 ** x
negative | i[6] | -x
absolute | i[6] | np.abs(x)
sign | i[6] | np.sign(x)
invert | i[6] | ~x
bitwise_and | i[6] i[6] | x & y
bitwise_or | i[6] i[6] | x | y
bitwise_xor | i[6] i[6] | x ^ y
left_shift | i[6]k1 i[6]k+ | x << y
right_shift | i[6] i[6]k+ | x >> y
left_shift_constant | i[6]k1 | x << 3
right_shift_constant | i[6] | x >> 1
popcount | i[6]k1 | np.bitwise_count(x)
gcd | i[6]k1 i[6]k1 | np.gcd(x, y)
lcm | i[6]k1 i[6]k1 | np.lcm(x, y)
maximum | i[6] i[6] | np.maximum(x, y)
minimum_scalar | i[6] | np.minimum(x, 1)
clip | i[6] | np.clip(x, -1, 1)
where | i[6] i[6] | np.where(x > y, x, y)
comparison | i[6] i[6] | x < y
equality | i[6] i[6] | x == y
sum_axis | i[3,4] | x.sum(0)
product | i[4] | np.prod(x)
mean | i[6] | x.mean()
variance | i[6] | x.var()
argmax | i[6] | x.argmax()
cumsum | i[6] | np.cumsum(x)
dot | i[5] i[5] | x @ y
matmul | i[3,4] i[4,2] | x @ y
outer | i[3] i[4] | np.outer(x, y)
wraps | j[4] | x * 2147483647 * 2
int32_add | j[6] j[6] | x + y
int32_multiply | j[6] j[6] | x * y
int32_plus_scalar | j[6] | x + 1
int32_true_divide | j[6] j[6]k1 | x / y
int32_floor_divide | j[6] j[6]k1 | x // y
int32_and_int64 | j[6] i[6] | x + y
int32_mean | j[6] | x.mean()
int32_times_float | j[6] | x * 0.5
plus_float | i[6] | x + 0.5
times_float_array | i[6] f[6] | (x * y).astype(y.dtype)
square_root | i[6]k1 | np.sqrt(x)
exponential | i[6] | np.exp(x)
sine | i[6] | np.sin(x)
collatz_step | i[6]k1 | np.where(x % 2 == 0, x // 2, 3 * x + 1)
parity | i[6] | x % 2 == 1
bit_test | i[6]k1 | (x & 1).astype(bool)
bools_add | b[6] b[6] | x + y
bools_times_int | b[6] i[6] | x * y
bools_and | b[6] b[6] | x & y
bools_not | b[6] | ~x
bools_xor | b[6] b[6] | x ^ y
bools_sum_axis | b[3,4] | x.sum(1)
bools_mean | b[6] | x.mean()
bools_max | b[6] | x.max()
uint8_add | i[6]k1 | x.astype(np.uint8) + x.astype(np.uint8)
uint8_wraps | i[6]k1 | x.astype(np.uint8) * 200
int8_cast | i[6] | x.astype(np.int8) * 2
int16_sum | i[6] | x.astype(np.int16).sum()
uint32_shift | i[6]k1 | x.astype(np.uint32) << 3
factorial_table | i[6]k+ | np.array([1, 1, 2, 6])[x]
packbits | b[8] | np.packbits(x)
left_to_right_hash | i[6] | ((x * 31 + 7) ^ (x >> 2)) % 97
bitcast_to_narrow | i[3] | jx.lax.bitcast_convert_type(x, "int16")
bitcast_to_wide | j[3,2] | jx.lax.bitcast_convert_type(x, "int64")
bitcast_floats_to_bytes | f[4] | jx.lax.bitcast_convert_type(x.astype("float32"), "uint8")
"""
