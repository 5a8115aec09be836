"""Orders: sorting, ranks, the largest of them."""

TABLE = """
sort | f[9] | np.sort(x)
sort_axis | f[4,5] | np.sort(x, axis=0)
sort_method | f[9] | x.sort()
sort_descending | f[9] | np.sort(x, descending=True)
sort_of_ints | i[9] | np.sort(x)
sort_ties | f[10]s | np.sort(x) | value
sort_nan | f[12]e | np.sort(x) | value
argsort | f[9] | np.argsort(x)
argsort_axis | f[4,5] | np.argsort(x, axis=1)
argsort_ties | i[9] | np.argsort(x)
argsort_descending | f[9] | np.argsort(-x)
ranks | f[9] | np.argsort(np.argsort(x))
sort_by_key | f[5] f[5] | y[np.argsort(x)]
lexsort | i[9] f[9] | np.lexsort((y, x))
top_k | f[9] | jx.lax.top_k(x, 3)
top_k_rows | f[4,7] | jx.lax.top_k(x, 2)[0]
lax_sort_pair | f[7] i[7] | jx.lax.sort((x, y), num_keys=1)
partition | f[9] | np.sort(np.partition(x, 4)[:4])
argpartition | f[9] | np.sort(x[np.argpartition(x, 4)[:4]])
median_by_sort | f[9] | np.sort(x)[4]
trimmed_mean | f[9] | np.sort(x)[2:-2].mean()
searchsorted_sorted | f[6] f[4] | np.searchsorted(np.sort(x), y)
unique_counts | i[9]k+ | np.unique(x, return_counts=True, size=3) | novmap
isin | i[9] | np.isin(x, np.array([1, 2]))
union | i[5] i[5] | np.union1d(x, y, size=7, fill_value=9) | novmap
merge_by_where | f[6] f[6] | np.maximum(x, y) - np.minimum(x, y)
"""
