"""Functions that cannot be captured; refused.txt has what is said of each."""

import lamina.numpy as lnp
import numpy as np


def one_path(x):
    if x > 0:
        y = x
    return y


def two_shapes(x):
    if x.sum() > 0:
        y = x
    else:
        y = x[0]
    return y


def two_dtypes(x):
    if x > 0:
        y = x
    else:
        y = lnp.int32(1)
    return y


def none_or_array(x):
    if x > 0:
        return x


def none_variable(x):
    best = None
    if x > 0:
        best = x
    return best


def list_grows(x):
    out = []
    while x > 1:
        out.append(x)
        x = x / 2
    return out


def list_grows_in_branch(x):
    out = []
    if x > 0:
        out += [x]
    return out


def list_grows_unequally(x):
    out = []
    if x > 0:
        out.append(x)
        out.append(x)
    else:
        out.append(x)
    return out


def yields_on_one_path(x):
    def numbers():
        yield 1.0
        if x > 0:
            yield x

    return sum(numbers())


def extreme_of_none(x):
    return max(v for v in x if v > 0)


def objects_differ(x):
    class Box:
        def __init__(self, v):
            self.v = v

    box = Box(x)
    if x > 0:
        box = Box(-x)
    return box.v


def tree_recursion(n):
    if n < 2:
        return n
    return tree_recursion(n - 1) + tree_recursion(n - 2)


def endless_ternary(n):
    return 1 if n <= 1 else n * endless_ternary(n - 1)


def raise_caught(x):
    try:
        if x < 0:
            raise ValueError("negative")
    except ValueError:
        x = -x
    return x


def text_changes(x):
    mode = "down"
    if x > 0:
        mode = "up"
    return x if mode == "up" else -x


def shape_changes(x):
    while x.sum() < 10:
        x = lnp.concatenate([x, x])
    return x


def dtype_changes(n):
    while n < 10:
        n = n / 2 + 5
    return n


def structure_changes(x):
    state = (x, x)
    while x > 1:
        state = (x,)
        x = x / 2
    return state


def read_before(n):
    i = total = 0
    while i < n:
        if i > 0:
            total += previous
        previous = i
        i += 1
    return total


def loop_may_not_run(n):
    for i in range(n):
        y = i * 2
    return y


def may_break_before(x):
    while True:
        if x > 10:
            break
        y = x * 2
        x = x + 1
    return y


def write_through_view(x):
    row = x[0]
    if x.sum() > 0:
        row[0] = 5
    return x


def view_read_later(x):
    column = x.T
    if x.sum() > 0:
        x[0] = 5
    return x + column


def swapped_rows(x):
    if x.sum() > 0:
        x[0], x[1] = x[1], x[0]
    return x


def alias_in_loop(x, n):
    y = x
    for _ in range(n):
        x[0] = x[0] + 1
        x[1] = y[0]
    return x


def truth_of_array(x):
    if x > 0:
        return x
    return -x


def with_eval(x):
    if x > 0:
        return eval("x + 1")
    return x


def generator(x):
    def numbers():
        k = 0
        while k < x:
            yield k
            k += 1

    return sum(numbers())


def item_read(x):
    if x.item() > 0:
        return x
    return -x


def key_of_dict(x):
    return {0: 1.0, 1: 2.0}[x] if x < 2 else 3.0


def index_of_different(x, k):
    return [x, x[:1]][k]


def float_range(x):
    total = 0
    for i in range(x):
        total += i
    return total


def list_with_traced_length(x, n):
    total = 0.0
    for _, v in zip(range(n), [x, x * 2]):
        total += v
    return total


def comprehension_of_range(n):
    return sum([i * i for i in range(n)])


def filtered(x):
    return [v for v in x if v > 0]


def int_in_place(x):
    if x.sum() > 0:
        x += 0.5
    return x


def grown_in_place(x, y):
    if x.sum() > 0:
        x += y
    return x


def print_to_end(x):
    print(x, end="")
    return x if x > 0 else -x


def parse(text, place):
    tree = []
    while text[place] != 0:
        if text[place] == 1:
            child, place = parse(text, place + 1)
            tree.append(child)
        place = place + 1
    return tree, place


def parser(text):
    return len(parse(text, 0)[0])


f, i = np.float64, np.int64
CASES = {
    one_path: (f(3),), two_shapes: (np.ones(3),), two_dtypes: (f(3),), none_or_array: (f(3),), none_variable: (f(3),),
    list_grows: (f(3),), list_grows_in_branch: (f(3),), list_grows_unequally: (f(3),), yields_on_one_path: (f(3),),
    extreme_of_none: (np.ones(3),), objects_differ: (f(3),),
    tree_recursion: (i(5),), endless_ternary: (i(5),),
    raise_caught: (f(3),), text_changes: (f(3),), shape_changes: (np.ones(3),), dtype_changes: (i(3),),
    structure_changes: (f(3),), read_before: (i(3),), loop_may_not_run: (i(3),), may_break_before: (f(3),),
    write_through_view: (np.ones((2, 2)),), view_read_later: (np.ones((2, 2)),), swapped_rows: (np.ones((2, 2)),),
    alias_in_loop: (np.ones(2), i(3)), truth_of_array: (np.ones(2),), with_eval: (f(3),), generator: (i(3),),
    item_read: (f(3),), key_of_dict: (i(1),), index_of_different: (np.ones(3), i(1)), float_range: (f(3),),
    list_with_traced_length: (f(3), i(2)), comprehension_of_range: (i(3),), filtered: (np.ones(3),),
    int_in_place: (np.ones(3, int),), grown_in_place: (np.ones(3), np.ones((2, 3))),
    print_to_end: (f(3),), parser: (np.array([1, 2, 0, 0]),),
}  # fmt: skip
