"""Arrays that are searched, sorted and filled element by element."""

import lamina.numpy as lnp
import numpy as np


def bubble_sort(x):
    n = len(x)
    for i in range(n):
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return x


def bubble_until_sorted(x):
    swapped = True
    while swapped:
        swapped = False
        for j in range(len(x) - 1):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swapped = True
    return x


def insertion_sort(x):
    for i in range(1, len(x)):
        key = x[i]
        j = i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key
    return x


def selection_sort(x):
    for i in range(len(x)):
        smallest = i
        for j in range(i + 1, len(x)):
            if x[j] < x[smallest]:
                smallest = j
        x[i], x[smallest] = x[smallest], x[i]
    return x


def sorting_network(x):
    for a, b in [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)]:
        if x[a] > x[b]:
            x[a], x[b] = x[b], x[a]
    return x


def linear_search(x, value):
    for i in range(len(x)):
        if x[i] == value:
            return i
    return -1


def binary_search(x, value):
    low, high = 0, len(x) - 1
    while low <= high:
        middle = (low + high) // 2
        if x[middle] == value:
            return middle
        if x[middle] < value:
            low = middle + 1
        else:
            high = middle - 1
    return -1


def lower_bound(x, value):
    low, count = 0, len(x)
    while count > 0:
        half = count // 2
        if x[low + half] < value:
            low += half + 1
            count -= half + 1
        else:
            count = half
    return low


def largest(x):
    best, where = x[0], 0
    for i, value in enumerate(x):
        if value > best:
            best, where = value, i
    return best, where


def two_largest(x):
    first = second = -lnp.inf
    for value in x:
        if value > first:
            first, second = value, first
        elif value > second:
            second = value
    return first, second


def count_above(x, limit):
    count = 0
    for value in x:
        if value > limit:
            count += 1
    return count


def sum_positive(x):
    total = 0.0
    for value in x:
        if value <= 0:
            continue
        total += value
    return total


def until_negative(x):
    total = 0.0
    for value in x:
        if value < 0:
            break
        total += value
    return total


def prefix_sums(x):
    out = lnp.zeros(len(x))
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        out[i] = total
    return out


def running_maximum(x):
    out = lnp.zeros(len(x))
    best = x[0]
    for i, value in enumerate(x):
        if value > best:
            best = value
        out[i] = best
    return out


def moving_average(x, width):
    out = lnp.zeros(len(x))
    for i in range(len(x)):
        total, count = 0.0, 0
        for k in range(width):
            if i - k >= 0:
                total += x[i - k]
                count += 1
        out[i] = total / count
    return out


def run_lengths(x):
    longest = current = 1
    for i in range(1, len(x)):
        if x[i] == x[i - 1]:
            current += 1
        else:
            current = 1
        longest = max(longest, current)
    return longest


def maximum_subarray(x):
    best = current = x[0]
    for value in x[1:]:
        current = max(value, current + value)
        best = max(best, current)
    return best


def is_sorted(x):
    for a, b in zip(x[:-1], x[1:]):
        if a > b:
            return False
    return True


def dot(a, b):
    total = 0.0
    for x, y in zip(a, b):
        total += x * y
    return total


def weighted(a, b, c):
    total = 0.0
    for i, (x, y) in enumerate(zip(a, b)):
        if x > y:
            total += i * c[i]
    return total


def reverse_horner(coefficients, x):
    value = 0.0
    for c in reversed(coefficients):
        value = value * x + c
    return value


def sieve(n):
    prime = lnp.ones(20, bool)
    prime[0] = False
    prime[1] = False
    for i in range(2, n):
        if prime[i]:
            for j in range(i * i, n, i):
                prime[j] = False
    return prime


def histogram(x):
    counts = lnp.zeros(5, int)
    for value in x:
        k = int(value)
        if 0 <= k < 5:
            counts[k] += 1
    return counts


def two_pointers(x, target):
    low, high = 0, len(x) - 1
    while low < high:
        total = x[low] + x[high]
        if total == target:
            return low, high
        if total < target:
            low += 1
        else:
            high -= 1
    return -1, -1


def partition(x):
    pivot = x[-1]
    i = 0
    for j in range(len(x) - 1):
        if x[j] < pivot:
            x[i], x[j] = x[j], x[i]
            i += 1
    x[i], x[-1] = x[-1], x[i]
    return x, i


def majority(x):
    candidate, votes = x[0], 0
    for value in x:
        if votes == 0:
            candidate = value
        votes += 1 if value == candidate else -1
    return candidate


def merge(a, b):
    out = lnp.zeros(len(a) + len(b), int)
    i = j = 0
    for k in range(len(out)):
        if j >= len(b) or (i < len(a) and a[i] <= b[j]):
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
    return out


def unique_sorted(x):
    out = lnp.zeros(len(x), int)
    n = 0
    for i in range(len(x)):
        if i == 0 or x[i] != x[i - 1]:
            out[n] = x[i]
            n += 1
    return out, n


def rotate(x, k):
    out = lnp.zeros_like(x)
    n = len(x)
    for i in range(n):
        out[(i + k) % n] = x[i]
    return out


def stock_profit(prices):
    lowest, best = prices[0], 0.0
    for p in prices:
        if p < lowest:
            lowest = p
        elif p - lowest > best:
            best = p - lowest
    return best


def dutch_flag(x):
    low, i, high = 0, 0, len(x) - 1
    while i <= high:
        if x[i] == 0:
            x[low], x[i] = x[i], x[low]
            low += 1
            i += 1
        elif x[i] == 2:
            x[i], x[high] = x[high], x[i]
            high -= 1
        else:
            i += 1
    return x


def clip_rows(x, limit):
    for i in range(x.shape[0]):
        norm = lnp.sqrt((x[i] ** 2).sum())
        if norm > limit:
            x[i] = x[i] * (limit / norm)
    return x


def normalize_in_place(x):
    if x.sum() > 0:
        x /= x.sum()
    else:
        x[:] = 1 / len(x)
    return x


def slices(x, flip):
    if flip:
        x[1:3] = x[1:3] * 10
        x[-1] = 0
    else:
        x[::2] += 1
    return x


def alias(x, flag):
    y = x
    if flag > 0:
        y[0] = 7
    return x + y


def alias_in_call(x, n):
    def bump(a, times):
        for _ in range(times):
            a[0] += 1
        return a

    bump(x, n)
    return x


def copies(x, flag):
    y = x.copy()
    if flag > 0:
        y[0] = 7
    return x + y


def chosen_rows(table, index):
    total = lnp.zeros(table.shape[1])
    for k in index:
        if k >= 0:
            total = total + table[k]
    return total


def list_of_arrays(x):
    parts = [x, x * 2, x * 3]
    total = 0.0
    for part in parts:
        if part.sum() > 5:
            total += part.sum()
        else:
            total -= 1
    return total


def chosen_from_list(x, k):
    return [x, x * 2, x * 3][k] if k < 3 else -x


def comprehension(x):
    return lnp.array([a * 2 if a > 0 else a - 1 for a in x])


def any_all(x):
    if any(a > 3 for a in x) and not all(a > 0 for a in x):
        return 1
    return 0


def palindrome(x):
    i, j = 0, len(x) - 1
    while i < j:
        if x[i] != x[j]:
            return False
        i, j = i + 1, j - 1
    return True


def balanced(x):
    depth = 0
    for c in x:
        depth += 1 if c == 1 else -1
        if depth < 0:
            return False
    return depth == 0


def gray_code(n):
    out = lnp.zeros(8, int)
    for i in range(8):
        out[i] = (i ^ (i >> 1)) if i < n else -1
    return out


def a(*items):
    return np.array(items, float)


def n(*items):
    return np.array(items)


CASES = {
    bubble_sort: [(a(3, 1, 2, 5, 4, 0, 7),)],
    bubble_until_sorted: [(a(3, 1, 2, 5, 4, 0),), (a(1, 2, 3, 4, 5, 6),)],
    insertion_sort: [(a(3, 1, 2, 5, 4, 0),)],
    selection_sort: [(a(3, 1, 2, 5, 4, 0),)],
    sorting_network: [(a(3, 1, 2, 0),)],
    linear_search: [(n(4, 2, 7, 1, 9, 3), 7), (n(4, 2, 7, 1, 9, 3), 8)],
    binary_search: [(n(1, 3, 5, 7, 9), 7), (n(1, 3, 5, 7, 9), 4)],
    lower_bound: [(n(1, 3, 5, 7, 9), 6), (n(1, 3, 5, 7, 9), 10)],
    largest: [(a(3, 9, 1, 5, 4, 9),)],
    two_largest: [(a(3, 9, 1, 5, 4, 8),)],
    count_above: [(a(3, 9, 1, 5, 4, 8), 3.5)],
    sum_positive: [(a(3, -9, 1, -5, 4, 8),)],
    until_negative: [(a(3, 9, 1, -5, 4, 8),), (a(1, 2, 3, 4, 5, 6),)],
    prefix_sums: [(a(3, 9, 1, -5, 4, 8),)],
    running_maximum: [(a(3, 2, 9, -5, 4, 8),)],
    moving_average: [(a(3, 2, 9, -5, 4, 8), 3)],
    run_lengths: [(n(1, 1, 2, 2, 2, 3),)],
    maximum_subarray: [(a(-2, 1, -3, 4, -1, 2, 1),)],
    is_sorted: [(a(1, 2, 3, 4, 5, 6),), (a(1, 2, 1, 4, 5, 6),)],
    dot: [(a(1, 2, 3), a(4, 5, 6))],
    weighted: [(a(1, 5, 3), a(4, 2, 1), a(1, 2, 3))],
    reverse_horner: [(a(1, 2, 3), 2.0)],
    sieve: [(np.int64(20),)],
    histogram: [(a(0.5, 1.2, 1.7, 4.9, 7, -2),)],
    two_pointers: [(n(1, 3, 4, 6, 8), 10), (n(1, 3, 4, 6, 8), 2)],
    partition: [(a(3, 8, 1, 9, 2, 5),)],
    majority: [(n(2, 2, 1, 3, 2, 2),)],
    merge: [(n(1, 4, 6), n(2, 3, 9))],
    unique_sorted: [(n(1, 1, 2, 5, 5, 5),)],
    rotate: [(a(1, 2, 3, 4, 5, 6), np.int64(2))],
    stock_profit: [(a(7, 1, 5, 3, 6, 4),)],
    dutch_flag: [(n(2, 0, 1, 2, 0, 1),)],
    clip_rows: [(np.arange(12.0).reshape(6, 2), 5.0)],
    normalize_in_place: [(a(1, 2, 5),), (a(-1, -2, 0),)],
    slices: [(a(1, 2, 3, 4, 5), True), (a(1, 2, 3, 4, 5), np.bool_(False))],
    alias: [(a(1, 2), np.int64(1)), (a(1, 2), np.int64(0))],
    alias_in_call: [(a(1, 2), np.int64(3))],
    copies: [(a(1, 2), np.int64(1)), (a(1, 2), np.int64(0))],
    chosen_rows: [(np.arange(12.0).reshape(4, 3), n(3, -1, 0, 1, 2, -1))],
    list_of_arrays: [(a(1, 2),)],
    chosen_from_list: [(a(1, 2), np.int64(1)), (a(1, 2), np.int64(3))],
    comprehension: [(a(1, -2, 3),)],
    any_all: [(a(1, -2, 4),), (a(1, 2, 4),)],
    palindrome: [(n(1, 2, 3, 2, 1),), (n(1, 2, 3, 1, 1),)],
    balanced: [(n(1, 1, 0, 1, 0, 0),), (n(1, 0, 0, 1, 1, 0),)],
    gray_code: [(np.int64(6),)],
}
GRADIENTS = {
    bubble_sort: "reverse", two_largest: "reverse", sum_positive: "reverse", until_negative: "reverse",
    prefix_sums: "reverse", moving_average: "reverse", maximum_subarray: "reverse", reverse_horner: "reverse",
    clip_rows: "reverse", normalize_in_place: "reverse", comprehension: "reverse", list_of_arrays: "reverse",
}  # fmt: skip
