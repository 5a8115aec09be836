"""Exact queries about integer points of linear constraints: emptiness, a sample point, and bounds of an expression.

Subscripts and loop bounds are affine, so "may these two accesses meet" and "can this subscript leave its buffer" are systems of
linear constraints over integers. The method is the Omega test (W. Pugh, "The Omega test: a fast and practical integer
programming algorithm for dependence analysis", Supercomputing 1991), which makes Fourier-Motzkin elimination exact. Nearly all
empty systems contradict the intervals of their variables, which are tested first; else:

1. rows are divided by their gcd, the constant rounded towards the set; of rows with equal terms the tightest stays, opposite
   rows that touch are an equality;
2. an equality is solved for a variable with a unit coefficient; where there is none, Euclid's algorithm on the coefficients (a
   unimodular change of a variable a step) makes one;
3. Fourier-Motzkin elimination, of variables that lose no integer point first. For others, an empty real shadow means empty, a
   point of the dark shadow extends, and what is between them lies on finitely many planes near the bounds (splinters);
4. values are substituted back in the reverse order, as near to zero as the bounds let them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import gcd

Row = tuple[dict[int, int], int]
"""Coefficients of variables (numbers) and a constant: `sum + constant`, which is >= 0 or == 0 depending on its list."""

BUDGET = 20_000


class Undecided(Exception):
    """The budget is spent without a decision."""


class _Empty(Exception):
    """A row is unsatisfiable."""


class System:
    """A conjunction of linear constraints over named integer variables.

    `budget` is the number of rows that one query may write before it is `Undecided`.

    Can rows `i < j < n` of an array of rows 8 apart meet at columns 0..7? And at columns 0..8?

    >>> for columns in 8, 9:
    ...     meet = System()
    ...     meet.ge({"i": 1})
    ...     meet.ge({"j": 1, "i": -1}, -1)
    ...     meet.ge({"n": 1, "j": -1}, -1)
    ...     for k in "k", "l":
    ...         meet.ge({k: 1})
    ...         meet.ge({k: -1}, columns - 1)
    ...     meet.eq({"i": 8, "k": 1, "j": -8, "l": -1})
    ...     print(meet.sample(prefer=["n"]))
    None
    {'i': 0, 'j': 1, 'n': 2, 'k': 8, 'l': 0}
    >>> meet.bounds({"j": 1, "i": -1}), meet.bounds({"n": 2}, 1)
    ((1, 1), (5, None))
    """

    __slots__ = ("_budget", "_equal", "_least", "_names")

    def __init__(self, *, budget: int = BUDGET) -> None:
        self._budget = budget
        self._names: dict[str, int] = {}
        self._least: list[Row] = []
        self._equal: list[Row] = []

    def _row(self, terms: Mapping[str, int], constant: int) -> Row:
        names = self._names
        return {names.setdefault(name, len(names)): c for name, c in terms.items()}, constant

    def ge(self, terms: Mapping[str, int], constant: int = 0) -> None:
        """Constrain `sum(c * x) + constant >= 0`."""
        self._least.append(self._row(terms, constant))

    def eq(self, terms: Mapping[str, int], constant: int = 0) -> None:
        """Constrain `sum(c * x) + constant == 0`."""
        self._equal.append(self._row(terms, constant))

    def copy(self) -> System:
        """An independent system with the same constraints."""
        other = System(budget=self._budget)
        other._names, other._least, other._equal = self._names.copy(), self._least.copy(), self._equal.copy()
        return other

    def sample(self, prefer: Sequence[str] = ()) -> dict[str, int] | None:
        """An integer point, None when there is none.

        Values are small. The variables in `prefer` come first, in this order: each has the smallest non-negative value that the
        earlier ones allow, or the largest negative one where none is. A minimum that the budget does not suffice to prove is
        only small. Raises `Undecided` when not even a point is found.
        """
        run = _Run(self)
        wanted = [self._names[name] for name in prefer if name in self._names]
        try:
            values = run.point((), (), wanted)
        except Undecided:
            if not wanted:
                raise
            run.steps = self._budget  # the order that `wanted` asks for may be what was expensive
            values, run.lexicographic = run.point((), (), ()), False
        if values is None:
            return None
        if not run.lexicographic:
            values = self._least_values(wanted, values)
        return {name: values.get(v, 0) for name, v in self._names.items()} | {n: 0 for n in prefer if n not in self._names}

    def _least_values(self, wanted: Iterable[int], values: dict[int, int]) -> dict[int, int]:
        """Improve a point towards the least values of `wanted`, by bisection; if the budget ends, return the best one."""
        run, fixed = _Run(self), list[Row]()
        try:
            for v in wanted:
                if values.get(v, 0) < 0:
                    found = run.point(fixed, [({v: 1}, 0)], [v])
                    values = values if found is None else found
                sign = 1 if values.get(v, 0) >= 0 else -1
                low = 0
                while low < (high := sign * values.get(v, 0)):
                    middle = (low + high) // 2
                    found = run.point(fixed, [({v: sign}, -low), ({v: -sign}, middle)], [v])
                    if found is None:
                        low = middle + 1
                    else:
                        values = found
                        if run.lexicographic:
                            break
                fixed.append(({v: 1}, -values.get(v, 0)))
        except Undecided:
            pass
        return values

    def is_empty(self) -> bool:
        """Whether no integer point satisfies all constraints; raises `Undecided` like `sample`."""
        return _Run(self).point((), (), ()) is None

    def is_surely_empty(self) -> bool:
        """Whether the constraints are known to have no integer point; False when `Undecided`."""
        try:
            return self.is_empty()
        except Undecided:
            return False

    def bounds(self, terms: Mapping[str, int], constant: int = 0) -> tuple[int | None, int | None]:
        """A lower and an upper bound of `sum(c * x) + constant` over the set, None where it is unbounded.

        The bounds hold for every point; they come from the rational hull, so no point need attain them. A set that turns out to
        be empty has the bounds (1, 0). Raises `Undecided` when the budget is spent.
        """
        scope = self.copy()  # `terms` may name unconstrained variables
        row = scope._row(terms, constant)
        return _Run(scope).bounds(row)


class _Run:
    """The budget and results of one query, shared by its subproblems."""

    __slots__ = ("fresh", "kept", "lexicographic", "rank", "steps", "system")

    def __init__(self, system: System) -> None:
        self.system = system
        self.steps = system._budget
        self.fresh = len(system._names)
        self.rank: dict[int, int] = {}  # of variables to eliminate last; the smaller, the later
        self.lexicographic = True  # whether the found point is lexicographically least in these
        self.kept = -1  # a variable that is never eliminated

    def spend(self, steps: int = 1) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise Undecided("linear constraints: the budget is spent")

    def new(self) -> int:
        self.fresh += 1
        return self.fresh - 1

    def point(self, equal: Sequence[Row], least: Sequence[Row], last: Sequence[int]) -> dict[int, int] | None:
        """A point of the system with further rows."""
        self.rank = {v: k for k, v in reversed(list(enumerate(last)))}
        self.lexicographic = True
        equal, least = [*self.system._equal, *equal], [*self.system._least, *least]
        return None if _contradict(equal, least) else _Work(self, equal, least).solve()

    def bounds(self, row: Row) -> tuple[int | None, int | None]:
        work = _Work(self, self.system._equal, self.system._least)
        try:
            work.settle()
            terms, constant = _substituted(row, work.trail)
            terms = {v: c for v, c in terms.items() if c}
            if not terms:
                return constant, constant
            # the expression is `scale * kept + constant`; as `kept` is one of coprime terms, it need never be solved for
            scale = gcd(*terms.values())
            self.kept = self.new()
            work.equal.append(({**{v: c // scale for v, c in terms.items()}, self.kept: -1}, 0))
            work.settle()
            while choice := work.choose():
                work.eliminate(choice[0], *choice[1:3])
                work.settle()
        except _Empty:
            return 1, 0
        low, high = (work.rows.get(((self.kept, sign),)) for sign in (1, -1))
        return (low if low is None else constant - scale * low[1]), (high if high is None else constant + scale * high[1])


def _contradict(equal: Sequence[Row], least: Sequence[Row]) -> bool:
    """Whether rows leave some variable no value, by two rounds of interval propagation."""
    ends: tuple[dict[int, int], dict[int, int]] = {}, {}  # greatest and least values
    rows = [*least, *equal, *(({v: -c for v, c in terms.items()}, -constant) for terms, constant in equal)]
    for _ in range(2):
        for terms, constant in rows:
            most, free = constant, []
            for v, c in terms.items():
                end = ends[c < 0].get(v)
                if end is None:
                    free.append(v)
                else:
                    most += c * end
            if not free and most < 0:
                return True
            if len(free) < 2:
                for v in free or terms:
                    _limit(ends, v, terms[v], most)
    return any(v in ends[1] and ends[1][v] > greatest for v, greatest in ends[0].items())


def _limit(ends: tuple[dict[int, int], dict[int, int]], v: int, c: int, most: int) -> None:
    """Bound a variable so that its term, with other terms of at most `most` in total, keeps a row nonnegative."""
    if not c:
        return
    end = ends[c < 0].get(v)
    rest = most if end is None else most - c * end
    if c > 0:
        ends[1][v] = max(-(rest // c), ends[1].get(v, -(rest // c)))
    else:
        ends[0][v] = min(rest // -c, ends[0].get(v, rest // -c))


class _Work:
    """A system during elimination: `rows` by their terms, and `trail`, from which eliminated variables get their values."""

    __slots__ = ("equal", "pending", "rows", "run", "trail")

    def __init__(self, run: _Run, equal: Iterable[Row], least: Iterable[Row]) -> None:
        self.run = run
        self.equal = list(equal)
        self.pending = list(least)  # not normalised yet
        self.rows: dict[tuple[tuple[int, int], ...], Row] = {}
        self.trail: list[tuple[int, Row | None, list[Row]]] = []  # a variable, what it equals or else the rows that bound it

    def solve(self) -> dict[int, int] | None:
        """Values of the variables, 0 for those left out; None when there is no point."""
        values: dict[int, int] = {}
        try:
            self.settle()
            while choice := self.choose():
                v, lowers, uppers, exact = choice
                if not exact:
                    found = self.split(v, lowers, uppers)
                    if found is None:
                        return None
                    values = found
                    break
                self.eliminate(v, lowers, uppers)
                self.settle()
        except _Empty:
            return None
        for v, equal, bounding in reversed(self.trail):
            values[v] = _nearest(v, bounding, values)[0] if equal is None else _value(equal, values)
        return values

    def settle(self) -> None:
        """Solve the equalities, also those that show on the way, and normalise what is pending."""
        while self.equal or self.pending:
            start = len(self.trail)
            while self.equal:
                self.solve_equality(*_substituted(self.equal.pop(), self.trail[start:]))
            solved = self.trail[start:]
            if solved and self.rows:
                gone = {v for v, _, _ in solved}
                for key in [key for key, (terms, _) in self.rows.items() if not gone.isdisjoint(terms)]:
                    self.pending.append(self.rows.pop(key))
            pending, self.pending = self.pending, []
            for row in pending:
                self.insert(*_substituted(row, solved))

    def insert(self, terms: dict[int, int], constant: int) -> None:
        """Add `terms + constant >= 0`, unless a row says as much."""
        self.run.spend()
        if 0 in terms.values():
            terms = {v: c for v, c in terms.items() if c}
        if not terms:
            if constant < 0:
                raise _Empty
            return
        divisor = gcd(*terms.values())
        if divisor > 1:
            terms = {v: c // divisor for v, c in terms.items()}
            constant //= divisor
        key = tuple(sorted(terms.items()))
        if (old := self.rows.get(key)) is not None and old[1] <= constant:
            return
        self.rows[key] = terms, constant
        opposite = self.rows.get(tuple([(v, -c) for v, c in key]))
        if opposite is not None:
            if opposite[1] + constant < 0:
                raise _Empty
            if opposite[1] + constant == 0 and self.run.kept < 0:
                self.equal.append((terms, constant))

    def solve_equality(self, terms: dict[int, int], constant: int) -> None:
        """Express a variable of `terms + constant == 0` by the others: on the trail."""
        run, rank = self.run, self.run.rank
        while True:
            run.spend()
            terms = {v: c for v, c in terms.items() if c}
            if not terms:
                if constant:
                    raise _Empty
                return
            divisor = gcd(*terms.values())
            if constant % divisor:
                raise _Empty
            if divisor > 1:
                terms = {v: c // divisor for v, c in terms.items()}
                constant //= divisor
            # of the smallest coefficients, the one whose variable is wanted least
            late = {v: rank.get(v, len(rank)) for v in terms if v != run.kept}
            v = min(late, key=lambda v: (abs(terms[v]), -late[v]))
            c = terms.pop(v)
            if late[v] < max(late.values()):
                run.lexicographic = False
            if c in (1, -1):
                self.trail.append((v, ({u: -c * x for u, x in terms.items()}, -c * constant), []))
                return
            # with v = w - sum(q * u) the other coefficients become remainders of at most |c| / 2
            if v in rank:
                run.lexicographic = False
            w = run.new()
            quotients = {u: (2 * x + c) // (2 * c) for u, x in terms.items()}
            shift = (2 * constant + c) // (2 * c)
            self.trail.append((v, ({w: 1, **{u: -q for u, q in quotients.items()}}, -shift), []))
            terms = {w: c, **{u: x - c * quotients[u] for u, x in terms.items()}}
            constant -= c * shift

    def choose(self) -> tuple[int, list[Row], list[Row], bool] | None:
        """The variable to eliminate next, the rows that bound it from below and above, and whether that loses no point."""
        sides: dict[int, tuple[list[Row], list[Row]]] = {}
        coarse: set[tuple[int, bool]] = set()  # sides with a coefficient other than 1
        for row in self.rows.values():
            for v, c in row[0].items():
                if v not in sides:
                    sides[v] = [], []
                sides[v][c < 0].append(row)
                if c not in (1, -1):
                    coarse.add((v, c < 0))
        rank, best, result = self.run.rank, None, None
        for v, (lowers, uppers) in sides.items():
            if v == self.run.kept:
                continue
            exact = not (lowers and uppers) or (v, False) not in coarse or (v, True) not in coarse
            cost = (-rank.get(v, len(rank)), not exact, len(lowers) * len(uppers) - len(lowers) - len(uppers))
            if best is None or cost < best:
                best, result = cost, (v, lowers, uppers, exact)
        return result

    def eliminate(self, v: int, lowers: list[Row], uppers: list[Row]) -> None:
        """Project along `v`: the real shadow."""
        for terms, _ in (*lowers, *uppers):
            del self.rows[tuple(sorted(terms.items()))]
        self.trail.append((v, None, lowers + uppers))
        for lower in lowers:
            for upper in uppers:
                self.insert(*_without(v, lower, upper))

    def split(self, v: int, lowers: list[Row], uppers: list[Row]) -> dict[int, int] | None:
        """A point, where the real shadow along `v` may have points that do not extend."""
        run = self.run
        run.lexicographic = False
        rest = [row for row in self.rows.values() if v not in row[0]]
        for dark in (False, True):
            run.spend(len(rest) + len(lowers) * len(uppers))  # before they are written
            pairs = [_without(v, lower, upper, dark) for lower in lowers for upper in uppers]
            values = _Work(run, (), rest + pairs).solve()
            if values is None and not dark:
                return None
            if values is not None:
                value, exists = _nearest(v, lowers + uppers, values)
                if exists:
                    return values | {v: value}
        # a point outside the dark shadow is this near to a lower bound, and, as v may be negated, this near to an upper one
        near = []
        for side, other in ((lowers, uppers), (uppers, lowers)):
            most = max(abs(terms[v]) for terms, _ in other)
            steps = [(abs(terms[v]) * most - abs(terms[v]) - most) // most for terms, _ in side]
            near.append([(row, k) for row, n in zip(side, steps, strict=True) for k in range(min(n, run.steps) + 1)])
        for (terms, constant), k in min(near, key=len):
            run.spend(len(self.rows))
            values = _Work(run, [(terms, constant - k)], self.rows.values()).solve()
            if values is not None:
                return values
        return None


def _without(v: int, lower: Row, upper: Row, dark: bool = False) -> Row:
    """The row without `v` that two rows imply; `dark`: the one that implies an integer `v` between them."""
    a, b = lower[0][v], -upper[0][v]
    terms = {u: b * c for u, c in lower[0].items()}
    for u, c in upper[0].items():
        terms[u] = terms.get(u, 0) + a * c
    return terms, b * lower[1] + a * upper[1] - ((a - 1) * (b - 1) if dark else 0)


def _substituted(row: Row, solved: list[tuple[int, Row | None, list[Row]]]) -> Row:
    terms, constant = row[0].copy(), row[1]
    for v, equal, _ in solved:
        if equal is not None and (c := terms.pop(v, 0)):
            for u, x in equal[0].items():
                terms[u] = terms.get(u, 0) + c * x
            constant += c * equal[1]
    return terms, constant


def _value(row: Row, values: dict[int, int]) -> int:
    return sum([c * values[v] for v, c in row[0].items() if v in values], row[1])


def _nearest(v: int, bounding: list[Row], values: dict[int, int]) -> tuple[int, bool]:
    """The integer nearest to zero that the rows allow for `v`, and whether there is one."""
    low, high = None, None
    values.pop(v, None)
    for row in bounding:
        c, rest = row[0][v], _value(row, values)
        if c > 0:
            low = -(rest // c) if low is None else max(low, -(rest // c))
        else:
            high = rest // -c if high is None else min(high, rest // -c)
    value = 0 if low is None else max(low, 0)
    value = value if high is None else min(high, value)
    return value, low is None or low <= value
