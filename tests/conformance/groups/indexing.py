"""Reading and writing by numbers, slices, arrays and masks."""

TABLE = """
first | f[7] | x[0]
last | f[7] | x[-1]
slice | f[7] | x[1:5]
slice_step | f[9] | x[1:8:3]
slice_back | f[7] | x[::-1]
slice_negative | f[7] | x[-4:-1]
slice_back_step | f[9] | x[7:1:-2]
slice_empty | f[7] | x[5:2]
slice_over | f[7] | x[2:100]
rows | f[5,7] | x[1:3]
columns | f[5,7] | x[:, 2]
columns_kept | f[5,7] | x[:, 2:3]
ellipsis | f[3,4,5] | x[..., 1]
newaxis | f[5] | x[None, :, None]
newaxis_name | f[5] | x[:, np.newaxis]
two_numbers | f[5,7] | x[2, 3]
mixed | f[3,4,5] | x[1, ::2, -1]
tuple_index | f[3,4,5] | x[(0, 2)]
by_array | f[7] | x[np.array([0, 2, 2, 6])]
by_negative_array | f[7] | x[np.array([-1, -7, 0])]
by_list_array | f[7] | x[np.array([[0, 1], [2, 3]])]
by_argument | f[7] i[4]k+ | x[y]
by_argument_rows | f[7,3] i[4]k+ | x[y]
by_int32 | f[7] j[4]k+ | x[y]
by_two_arrays | f[5,7] | x[np.array([0, 1, 2]), np.array([3, 4, 5])]
by_array_and_slice | f[5,7] | x[np.array([0, 4]), 1:3]
by_slice_and_array | f[5,7] | x[1:3, np.array([0, 4])]
by_array_and_number | f[5,7] | x[np.array([0, 4]), 1]
by_arrays_apart | f[3,4,5] | x[np.array([0, 1]), :, np.array([2, 3])]
by_open_mesh | f[5,7] | x[np.arange(3)[:, None], np.arange(2)[None]]
by_ix | f[5,7] | x[np.ix_(np.array([0, 2]), np.array([1, 3, 5]))]
by_scalar_array | f[7] i[]k+ | x[y]
by_traced_in_two | f[5,7] i[]k+ i[]k+ | x[y, z]
diagonal_by_arange | f[5,5] | x[np.arange(5), np.arange(5)]
mask_where | f[7] | np.where(x > 0, x, 0)
take | f[7] | np.take(x, np.array([1, 3]))
take_axis | f[5,7] | np.take(x, np.array([1, 3]), axis=1)
take_flat | f[5,7] | np.take(x, np.array([1, 30]))
take_clip | f[7] | np.take(x, np.array([1, 30]), mode="clip")
take_wrap | f[7] | np.take(x, np.array([1, 30]), mode="wrap")
take_fill | f[7] | np.take(x, np.array([1, 30]), mode="fill", fill_value=-1.0)
take_along_axis | f[5,7] | np.take_along_axis(x, np.argmax(x, 1)[:, None], 1)
take_along_sorted | f[5,7] | np.take_along_axis(x, np.argsort(x, 1), 1)
choose | i[5]k+ f[3,5] | np.choose(x, [y[0], y[1], y[2]], mode="clip")
compress | f[5] | np.compress([True, False, True, False, True], x, size=3)
extract_diagonal | f[4,5] | np.diagonal(x)
diagonal_offset | f[4,5] | np.diagonal(x, 1)
diag_make | f[4] | np.diag(x)
diag_take | f[4,4] | np.diag(x)
diag_offset | f[4] | np.diag(x, k=1)
diagflat | f[2,2] | np.diagflat(x)
trace | f[4,4] | np.trace(x)
tril | f[4,4] | np.tril(x)
triu | f[4,5] | np.triu(x, 1)
tri | f[4,4] | x * np.tri(4)
tril_indices | f[4,4] | x[np.tril_indices(4)]
triu_indices | f[4,4] | x[np.triu_indices(4, 1)]
at_set | f[7] | x.at[2].set(5.0)
at_set_slice | f[7] | x.at[1:4].set(0.0)
at_set_argument | f[7] f[3] | x.at[1:4].set(y)
at_add | f[7] | x.at[2].add(1.0)
at_add_array | f[7] f[4] | x.at[np.array([0, 2, 2, 6])].add(y)
at_add_traced | f[7] i[4]k+ f[4] | x.at[y].add(z)
at_multiply | f[7] f[3] | x.at[1:4].multiply(y)
at_multiply_number | f[7] f[] | x.at[2].multiply(y)
at_divide | f[7] f[3]n | x.at[1:4].divide(y)
at_power | f[7]+ | x.at[1:4].power(2.0)
at_max | f[7] f[3] | x.at[1:4].max(y)
at_min | f[7] | x.at[1:4].min(0.0)
at_apply | f[7] | x.at[1:4].apply(np.sin)
at_get | f[7] | x.at[1:4].get()
at_get_fill | f[7] | x.at[np.array([1, 30])].get(mode="fill", fill_value=0.0)
at_drop | f[7] | x.at[np.array([1, 30])].set(1.0, mode="drop")
at_row | f[5,7] f[7] | x.at[1].set(y)
at_column | f[5,7] f[5] | x.at[:, 1].add(y)
at_two | f[5,7] | x.at[1, 2].set(0.0)
at_arrays | f[5,7] f[3] | x.at[np.array([0, 1, 2]), np.array([3, 4, 5])].set(y)
at_unique | f[7] f[3] | x.at[np.array([0, 3, 5])].set(y, unique_indices=True)
at_chain | f[7] | x.at[0].set(1.0).at[1].add(2.0)
dynamic_slice | f[7] i[]k+ | jx.lax.dynamic_slice(x, (y,), (3,))
dynamic_slice_two | f[5,7] i[]k+ | jx.lax.dynamic_slice(x, (y, 1), (2, 3))
dynamic_slice_clamped | f[7] | jx.lax.dynamic_slice(x, (100,), (3,))
dynamic_update_slice | f[7] f[3] i[]k+ | jx.lax.dynamic_update_slice(x, y, (z,))
dynamic_index | f[5,7] i[]k+ | jx.lax.dynamic_index_in_dim(x, y, 0, keepdims=False)
dynamic_slice_in_dim | f[7] i[]k+ | jx.lax.dynamic_slice_in_dim(x, y, 3)
lax_slice | f[7] | jx.lax.slice(x, (1,), (6,), (2,))
lax_gather_rows | f[5,7] i[3]k+ | np.stack([x[y[k]] for k in range(3)])
segment_sum | f[6] i[6]k+ | jx.ops.segment_sum(x, y, num_segments=3)
segment_max | f[6] i[6]k+ | jx.ops.segment_max(x, y, num_segments=3) | value
nonzero_size | f[7]s | np.nonzero(x, size=7)[0] | novmap
argwhere_size | f[7]s | np.argwhere(x > 0, size=7) | novmap
where_indices | f[7]s | np.where(x > 0, size=7)[0] | novmap
searchsorted | f[7] | np.searchsorted(np.array([-2.0, 0.0, 2.0]), x)
unravel_index | i[5]k+ | np.unravel_index(x, (2, 2))
ravel_multi_index | i[5]k+ i[5]k+ | np.ravel_multi_index((x, y), (3, 3), mode="clip")
put | f[7] | np.put(x, np.array([1, 2]), 5.0, inplace=False)
put_along_axis | f[3,4] | np.put_along_axis(x, np.array([[0], [1], [2]]), 9.0, axis=1, inplace=False)
insert | f[5] | np.insert(x, 2, 7.0)
insert_rows | f[3,4] f[2,4] | np.insert(x, np.array([0, 2]), y, axis=0)
delete_columns | f[3,4] | np.delete(x, slice(1, 3), axis=1)
segment_prod | f[6]n i[6]k+ | jx.ops.segment_prod(x, y, num_segments=3) | value
segment_min | f[6] i[6]k+ | jx.ops.segment_min(x, y, num_segments=3) | value
delete | f[5] | np.delete(x, 2)
fill_diagonal | f[4,4] | np.fill_diagonal(x, 0.0, inplace=False)
roll_by_index | f[7] | x[(np.arange(7) + 2) % 7]
gather_last | f[5,7] i[5]k+ | x[np.arange(5), y]
one_hot_pick | f[5,7] i[5]k+ | (x * jx.nn.one_hot(y, 7, dtype=x.dtype)).sum(1)
embedding_lookup | f[9,4] i[2,3]k+ | x[y]
len_of | f[5,7] | x[: len(x) // 2]
iterate | f[3,4] | sum(row.sum() * (k + 1) for k, row in enumerate(x))
unpack | f[3] | (lambda a, b, c: a * b + c)(*x)
vmap_index | f[4,5] i[4]k+ | jx.vmap(lambda r, i: r[i])(x, y)
vmap_unmapped_index | f[4,5] i[]k+ | jx.vmap(lambda r: r[y])(x)
lax_gather_points | f[4,5,6] i[3,2]k+ | jx.lax.gather(x, y, jx.lax.GatherDimensionNumbers((1,), (0, 1), (0, 1)), (1, 1, 6))
lax_gather_windows | f[4,5,6] i[3,2,2]k+ | jx.lax.gather(x, y, jx.lax.GatherDimensionNumbers((0, 3), (1,), (1, 0)), (2, 1, 3))
lax_gather_fill | f[4,5,6] i[3,2,2] | jx.lax.gather(x, y, jx.lax.GatherDimensionNumbers((0, 1, 4), (), (2, 0)), (2, 5, 3), mode="fill", fill_value=7.0)
lax_gather_clip | f[4,5] i[3,1] | jx.lax.gather(x, y, jx.lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 2), mode="clip")
lax_gather_batched | f[4,5,6] i[4,3,1]k+ | jx.lax.gather(x, y, jx.lax.GatherDimensionNumbers((2,), (1,), (1,), (0,), (0,)), (1, 1, 6))
lax_gather_fill_of_integers | i[5,4] i[3,1] | jx.lax.gather(x, y, jx.lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 4), mode="fill")
lax_scatter | f[4,5,6] i[3,2] f[3,6] | jx.lax.scatter(x, y, z, jx.lax.ScatterDimensionNumbers((1,), (0, 1), (0, 1)))
lax_scatter_add | f[4,5,6] i[3,2,2] f[3,2,6] | jx.lax.scatter_add(x, y, z, jx.lax.ScatterDimensionNumbers((2,), (0, 1), (1, 0)))
lax_scatter_add_clip | f[4,5,6] i[3,2] f[3,6] | jx.lax.scatter_add(x, y, z, jx.lax.ScatterDimensionNumbers((1,), (0, 1), (0, 1)), mode="clip")
lax_scatter_windows | f[4,5] i[3,1] f[2,3,3] | jx.lax.scatter_add(x, y, z, jx.lax.ScatterDimensionNumbers((0, 2), (), (1,)))
lax_scatter_batched | f[4,5,2] i[4,3,1] f[4,3,2] | jx.lax.scatter_sub(x, y, z, jx.lax.ScatterDimensionNumbers((2,), (1,), (1,), (0,), (0,)))
lax_scatter_mul | f[4,5] i[3,1]perm f[3,5] | jx.lax.scatter_mul(x, y, z, jx.lax.ScatterDimensionNumbers((1,), (0,), (0,)), unique_indices=True)
lax_scatter_min | f[4,5] i[3,1]k+ f[3,5] | jx.lax.scatter_min(x, y, z, jx.lax.ScatterDimensionNumbers((1,), (0,), (0,))) | value
lax_scatter_max | f[4,5] i[3,1]k+ f[3,5] | jx.lax.scatter_max(x, y, z, jx.lax.ScatterDimensionNumbers((1,), (0,), (0,))) | value
lax_scatter_apply | f[5] i[3,1]perm | jx.lax.scatter_apply(x, y, np.sin, jx.lax.ScatterDimensionNumbers((), (0,), (0,)), update_shape=(3,)) | value
"""
