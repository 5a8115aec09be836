"""Products of vectors, matrices and stacks of them."""

TABLE = """
matmul | f[4,5] f[5,3] | x @ y
matmul_vector | f[4,5] f[5] | x @ y
vector_matmul | f[4] f[4,5] | x @ y
vector_vector | f[5] f[5] | x @ y
matmul_batched | f[2,3,4] f[2,4,5] | np.matmul(x, y)
matmul_broadcast | f[3,4] f[2,4,5] | x @ y
matmul_broadcast_left | f[2,1,3,4] f[3,4,2] | x @ y
matmul_self | f[4,4] | x @ x
matmul_transposed | f[5,3] | x.T @ x
matmul_residual | f[6,6] f[6,6] | x @ y + y
matmul_tanh | f[6,6] | np.tanh(x @ x.T)
matmul_of_ints | i[3,4] i[4,2] | x @ y
matmul_chain | f[3,4] f[4,5] f[5,2] | x @ y @ z
matmul_ragged | f[7,9] f[9,11] | x @ y
matmul_long | f[2,200] f[200,3] | x @ y
quadratic_form | f[5] f[5,5] | x @ y @ x
dot | f[5] f[5] | np.dot(x, y)
dot_matrices | f[3,4] f[4,2] | np.dot(x, y)
dot_scalar | f[] f[4] | np.dot(x, y)
dot_3d | f[2,3,4] f[4] | np.dot(x, y)
dot_method | f[3,4] f[4,2] | x.dot(y)
vdot | f[5] f[5] | np.vdot(x, y)
vecdot | f[3,5] f[3,5] | np.vecdot(x, y)
matvec | f[3,4] f[4] | np.matvec(x, y)
vecmat | f[3] f[3,4] | np.vecmat(x, y)
inner | f[3,5] f[2,5] | np.inner(x, y)
outer | f[3] f[4] | np.outer(x, y)
tensordot | f[3,4,5] f[4,5,2] | np.tensordot(x, y)
tensordot_1 | f[3,4] f[4,5] | np.tensordot(x, y, 1)
tensordot_0 | f[3] f[4] | np.tensordot(x, y, 0)
tensordot_axes | f[3,4,5] f[5,3] | np.tensordot(x, y, axes=((0, 2), (1, 0)))
cross | f[3] f[3] | np.cross(x, y)
cross_batch | f[4,3] f[4,3] | np.cross(x, y)
einsum_matmul | f[3,4] f[4,5] | np.einsum("ij,jk->ik", x, y)
einsum_implicit | f[3,4] f[4,5] | np.einsum("ij,jk", x, y)
einsum_batch | f[2,3,4] f[2,4,5] | np.einsum("bij,bjk->bik", x, y)
einsum_trace | f[4,4] | np.einsum("ii->", x)
einsum_diagonal | f[4,4] | np.einsum("ii->i", x)
einsum_transpose | f[3,4] | np.einsum("ij->ji", x)
einsum_sum | f[3,4] | np.einsum("ij->j", x)
einsum_outer | f[3] f[4] | np.einsum("i,j->ij", x, y)
einsum_ellipsis | f[2,3,4] f[4,5] | np.einsum("...ij,jk->...ik", x, y)
einsum_three | f[3,4] f[4,5] f[5,2] | np.einsum("ij,jk,kl->il", x, y, z)
einsum_bilinear | f[3] f[3,4] f[4] | np.einsum("i,ij,j->", x, y, z)
einsum_heads | f[2,3,4] f[2,5,3,4] | np.einsum("hij,bhij->bhi", x, y.transpose(1, 0, 2, 3)) | tol=2
einsum_attention | f[2,3,4] f[2,5,4] | np.einsum("bqd,bkd->bqk", x, y)
einsum_elementwise | f[3,4] f[3,4] | np.einsum("ij,ij->ij", x, y)
einsum_double_sum | f[3,4] f[3,4] | np.einsum("ij,ij->", x, y)
einsum_khatri_rao | f[3,2] f[4,2] | np.einsum("ir,jr->ijr", x, y)
einsum_self | f[3,4] | np.einsum("ij,kj->ik", x, x)
einsum_crossed | f[3,5,4] f[2,3,4,5] | np.einsum("hij,bhji->bhi", x, y)
multi_dot | f[3,4] f[4,5] f[5,2] | np.linalg.multi_dot([x, y, z])
kron_sum | f[2,2] f[2,2] | np.kron(x, np.eye(2)) + np.kron(np.eye(2), y)
gram | f[4,3] | x @ x.T
power_iteration | f[4,4] f[4] | (lambda v: v / np.sqrt(v @ v))(x @ (x @ y))
matrix_polynomial | f[3,3] | x @ x @ x - 2 * x @ x + np.eye(3, dtype=x.dtype)
polyval | f[4] f[5] | np.polyval(x, y)
polyder | f[4] | np.polyder(x)
polyint | f[4] | np.polyint(x)
polyadd | f[4] f[3] | np.polyadd(x, y)
correlate_full | f[5] f[3] | np.correlate(x, y, mode="full")
polymul | f[3] f[3] | np.polymul(x, y)
convolve | f[5] f[3] | np.convolve(x, y)
convolve_same | f[5] f[3] | np.convolve(x, y, mode="same")
correlate | f[5] f[3] | np.correlate(x, y, mode="valid")
interp | f[5] | np.interp(x, np.array([-2.0, 0.0, 2.0]), np.array([1.0, 0.0, 3.0]))
distances | f[5,3] f[4,3] | (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
bilinear_layer | f[4,3] f[5,3,2] f[4,2] | np.einsum("bi,oij,bj->bo", x, y, z)
lax_dot_general | f[3,4] f[4,5] | jx.lax.dot_general(x, y, (((1,), (0,)), ((), ())))
lax_batch_matmul | f[2,3,4] f[2,4,5] | jx.lax.batch_matmul(x, y)
lax_conv | f[2,3,6,5] f[4,3,3,2] | jx.lax.conv(x, y, (2, 1), "SAME")
lax_conv_dilated | f[2,7,5,3] f[3,2,3,4] | jx.lax.conv_general_dilated(x, y, (1, 1), ((1, 2), (-1, 0)), (2, 1), (1, 2), dimension_numbers=("NHWC", "HWIO", "NHWC"))
lax_conv_feature_groups | f[2,5,4,6] f[3,3,2,6] | jx.lax.conv_general_dilated(x, y, (2, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=3)
lax_conv_batch_groups | f[4,5,4,3] f[3,2,3,4] | jx.lax.conv_general_dilated(x, y, (1, 2), "SAME_LOWER", dimension_numbers=("NHWC", "HWIO", "NHWC"), batch_group_count=2)
lax_conv_1d | f[2,9,3] f[3,3,4] | jx.lax.conv_general_dilated(x, y, (2,), "VALID", dimension_numbers=("NWC", "WIO", "WNC"))
lax_conv_3d | f[2,3,4,4,2] f[2,2,2,2,3] | jx.lax.conv_general_dilated(x, y, (1, 2, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC")) | once
lax_conv_transpose | f[2,4,5,3] f[3,2,3,4] | jx.lax.conv_transpose(x, y, (2, 3), "SAME")
lax_conv_transpose_valid | f[2,6,3] f[3,3,4] | jx.lax.conv_transpose(x, y, (2,), "VALID", rhs_dilation=(2,))
lax_conv_transpose_kernel | f[2,6,3] f[3,4,3] | jx.lax.conv_transpose(x, y, (3,), "SAME", transpose_kernel=True)
lax_conv_patches | f[2,5,6,3] | jx.lax.conv_general_dilated_patches(x, (2, 3), (1, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
lax_conv_local | f[2,3,7] f[4,9,5] | jx.lax.conv_general_dilated_local(x, y, (1,), "VALID", (3,))
lax_conv_dimension_numbers | f[2,6,3] f[3,3,4] | jx.lax.conv_general_dilated(x, y, (1,), "SAME", dimension_numbers=jx.lax.conv_dimension_numbers(x.shape, y.shape, ("NWC", "WIO", "NWC")))
"""
