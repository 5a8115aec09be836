"""Dtypes: conversions and promotion. XLA leaves roundings to bfloat16 out inside of a fusion: only exact ones are compared."""

TABLE = """
to_float32 | f[6] | x.astype(np.float32)
to_float64 | f[6] | x.astype(np.float64)
to_int32 | f[6] | x.astype(np.int32)
to_int64 | f[6] | x.astype(np.int64)
to_bool | f[6]s | x.astype(bool)
to_int_python | f[6] | x.astype(int)
to_float_python | i[6] | x.astype(float)
to_dtype_name | f[6] | x.astype("float32")
to_own_dtype | f[6] | x.astype(x.dtype)
to_half | f[6] | x.astype(np.float16).astype(x.dtype) | value
to_bfloat16 | f[6] | x.astype(jx.numpy.bfloat16).astype(x.dtype) | value
half_sum | f[6] | x.astype(np.float16).sum() | value
half_matmul | f[3,4] f[4,2] | (x.astype(np.float16) @ y.astype(np.float16)).astype(x.dtype) | value
half_add | f[6] f[6] | (x.astype(np.float16) + y.astype(np.float16)).astype(x.dtype) | value
to_int8 | i[6] | x.astype(np.int8)
to_uint8 | i[6]k1 | x.astype(np.uint8)
to_uint32 | i[6]k1 | x.astype(np.uint32)
bool_to_float | b[6] | x.astype(np.float32)
int_to_float32 | i[6] | x.astype(np.float32)
float32_and_64 | f[6] | x.astype(np.float32) + x.astype(np.float64)
float_and_int | f[6] i[6] | (x + y).astype(x.dtype)
float_and_bool | f[6] b[6] | x * y
float_plus_python_int | f[6] | x + 1
float_plus_python_float | f[6] | x + 0.1
float_times_python_bool | f[6] | x * True
int_plus_python_float | i[6] | x + 1.5
bool_plus_int | b[6] | x + 1
bool_plus_float | b[6] | x + 0.5
int32_plus_float32 | j[6] f[6] | (y.astype(np.float32) * x.astype(np.float32))
float32_scalar_array | f[6] | x * np.float32(2)
float_and_scalar_of_same | f[6] | x * np.asarray(2, x.dtype)
where_promotes | f[6] i[6] | np.where(x > 0, x, y.astype(x.dtype))
where_scalar_keeps | f[6] | np.where(x > 0, x, 0)
concatenate_promotes | j[3] i[3] | np.concatenate([x, y])
stack_of_int_and_bool | i[3] b[3] | np.stack([x, y])
mean_keeps | f[6] | x.mean()
sum_keeps | f[6] | x.sum()
sum_of_bool_dtype | b[6] | x.sum()
result_type | f[6] i[6] | x.astype(np.result_type(x, np.float64))
promote_types | f[6] | x.astype(np.promote_types("int32", "float32"))
can_cast | f[6] | x * np.can_cast("int32", "int64")
finfo_eps | f[6] | x + np.finfo(x.dtype).eps
finfo_max | f[6] | np.minimum(x, np.finfo(x.dtype).max)
iinfo_max | i[6] | np.minimum(x, np.iinfo(x.dtype).max)
isdtype | f[6] | x * np.isdtype(x.dtype, "real floating")
issubdtype | f[6] | x * np.issubdtype(x.dtype, np.floating)
dtype_compare | f[6] | x if x.dtype != np.int32 else -x
astype_function | f[6] | np.astype(x, np.float32)
asarray_dtype | i[6] | np.asarray(x, dtype=np.float32)
array_dtype | f[6] | np.array(x, dtype=np.float64)
zeros_default | f[3] | (np.zeros(3) + 1).astype(x.dtype) * x
ones_int | f[3] | np.ones(3, int)
arange_default | f[3] | np.arange(3)
arange_float_default | f[3] | np.arange(3.0).astype(x.dtype) + x
linspace_default | f[3] | np.linspace(0, 1, 3).astype(x.dtype)
full_default | f[3] | np.full(3, 7)
full_float_default | f[3] | np.full(3, 0.5).astype(x.dtype)
array_of_ints | f[3] | np.array([1, 2, 3])
array_of_floats | f[3] | np.array([1.0, 2.0, 3.0]).astype(x.dtype) * x
round_to_int | f[6] | np.round(x).astype(np.int32)
floor_to_int | f[6] | np.floor(x).astype(int)
truncation | f[6] | (x * 10).astype(np.int64)
view_bits | f[4] | x.astype(np.float32).view(np.int32) | value
bitcast | f[4] | jx.lax.bitcast_convert_type(x.astype(np.float32), np.int32) | value
lax_convert | f[4] | jx.lax.convert_element_type(x, np.float32)
convert_and_back | f[6] | (x > 0).astype(x.dtype) * x
item_of_shape | f[3,4] | x * float(x.shape[0])
weak_scalar_chain | f[6] | x * (2 * 3.5) / (1 + 1)
numpy_scalar | f[6] | x / np.sqrt(np.float32(4))
compare_to_bool_array | f[6] | (x > 0) == (x < 0)
half_keeps | f[6] | (x.astype(np.float16) * 2 + 1)
half_mean_keeps | f[6] | x.astype(np.float16).mean()
half_sort_keeps | f[6] | np.sort(x.astype(np.float16))
half_where_keeps | f[6] | np.where(x > 0, x.astype(np.float16), 0)
bfloat16_keeps | f[6] | (np.floor(x).astype(jx.numpy.bfloat16) * 2.5).astype(np.float32) | value
bfloat16_and_float32 | f[6] | (x.astype(jx.numpy.bfloat16) + x.astype(np.float32))
bfloat16_softmax | f[6] | x * (jx.nn.softmax(x.astype(jx.numpy.bfloat16)).dtype == jx.numpy.bfloat16)
float8_round_trip | f[6] | x.astype(jx.numpy.float8_e4m3fn).astype(np.float32) | value
float8_e5m2_round_trip | f[6] | x.astype(jx.numpy.float8_e5m2).astype(np.float32) | value
int4_round_trip | f[6] | np.clip(x, -8, 7).astype(np.int8).astype(jx.numpy.int4).astype(np.int32) | value
int8_matmul_int32 | i[3,4] i[4,2] | np.matmul(x.astype(np.int8), y.astype(np.int8), preferred_element_type=np.int32)
int8_dot_general | i[3,4] i[4,2] | jx.lax.dot_general(x.astype(np.int8), y.astype(np.int8), (((1,), (0,)), ((), ())), preferred_element_type=np.int32)
bfloat16_matmul_float32 | f[3,4] f[4,2] | np.matmul(x.astype(jx.numpy.bfloat16), y.astype(jx.numpy.bfloat16), preferred_element_type=np.float32) | value
"""
