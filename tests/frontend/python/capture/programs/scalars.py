"""Loops and branches on single numbers."""

import math

import lamina.numpy as lnp
import numpy as np


def absolute(x):
    if x > 0:
        y = x
    else:
        y = -x
    return y


def sign(x):
    if x > 0:
        return 1.0
    elif x < 0:
        return -1.0
    return 0.0


def clamp(x, low, high):
    if x < low:
        x = low
    if x > high:
        x = high
    return x


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def extended_gcd(a, b):
    old, s = 1, 0
    while b != 0:
        q = a // b
        a, b = b, a - q * b
        old, s = s, old - q * s
    return a, old


def newton_root(a):
    x = a
    while abs(x * x - a) > 1e-9:
        x = 0.5 * (x + a / x)
    return x


def newton_break(a):
    x = a
    while True:
        new = 0.5 * (x + a / x)
        if abs(new - x) < 1e-9:
            break
        x = new
    return new


def newton_limited(a):
    x = a
    for _ in range(50):
        step = (x**3 - a) / (3 * x**2)
        x = x - step
        if abs(step) < 1e-10:
            break
    return x


def bisection(low, high):
    for _ in range(40):
        middle = (low + high) / 2
        if math.cos(middle) - middle > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def bisection_tolerance(low, high):
    while high - low > 1e-8:
        middle = 0.5 * (low + high)
        if middle**3 - middle - 2 < 0:
            low = middle
        else:
            high = middle
    return low


def secant(x0, x1):
    count = 0
    f0, f1 = x0**2 - 2, x1**2 - 2
    while abs(f1) > 1e-10 and count < 50:
        x0, x1 = x1, x1 - f1 * (x1 - x0) / (f1 - f0)
        f0, f1 = f1, x1**2 - 2
        count += 1
    return x1, count


def golden_section(a, b):
    ratio = (math.sqrt(5) - 1) / 2
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    while abs(b - a) > 1e-6:
        if (c - 2) ** 2 < (d - 2) ** 2:
            b = d
        else:
            a = c
        c, d = b - ratio * (b - a), a + ratio * (b - a)
    return (a + b) / 2


def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def factorial(n):
    result = 1
    for i in range(2, n + 1):
        result *= i
    return result


def triangle(n):
    total = 0
    for i in range(n, 0, -1):
        total += i
    return total


def stepped(start, stop, step):
    total = 0
    for i in range(start, stop, step):
        total = total * 3 + i
    return total


def power_by_squaring(base, exponent):
    result = 1
    while exponent > 0:
        if exponent % 2 == 1:
            result = result * base
        base = base * base
        exponent //= 2
    return result


def is_prime(n):
    if n < 2:
        return False
    d = 2
    while d * d <= n:
        if n % d == 0:
            return False
        d += 1
    return True


def digit_sum(n):
    total = 0
    while n > 0:
        total += n % 10
        n //= 10
    return total


def reverse_digits(n):
    out = 0
    while n:
        out = out * 10 + n % 10
        n = n // 10
    return out


def count_bits(n):
    count = 0
    while n:
        n &= n - 1
        count += 1
    return count


def leap_year(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def grade(score):
    if score >= 90:
        return 4
    elif score >= 80:
        return 3
    elif score >= 70:
        return 2
    else:
        return 1 if score >= 60 else 0


def tax(income):
    owed = 0.0
    if income > 1000:
        owed += (min(income, 5000) - 1000) * 0.1
    if income > 5000:
        owed += (min(income, 20000) - 5000) * 0.2
    if income > 20000:
        owed += (income - 20000) * 0.4
    return owed


def middle_of_three(a, b, c):
    if a < b < c or c < b < a:
        return b
    if b < a < c or c < a < b:
        return a
    return c


def quadratic(a, b, c):
    d = b * b - 4 * a * c
    if d < 0:
        return 0.0, 0.0, False
    r = math.sqrt(d)
    return (-b - r) / (2 * a), (-b + r) / (2 * a), True


def mandelbrot(re, im):
    x = y = 0.0
    n = 0
    while x * x + y * y <= 4 and n < 50:
        x, y = x * x - y * y + re, 2 * x * y + im
        n += 1
    return n


def harmonic_until(limit):
    total, n = 0.0, 0
    while total < limit:
        n += 1
        total += 1 / n
    return n


def exp_series(x):
    term = total = 1.0
    k = 1
    while abs(term) > 1e-12:
        term *= x / k
        total += term
        k += 1
    return total


def arithmetic_geometric_mean(a, b):
    while abs(a - b) > 1e-12:
        a, b = (a + b) / 2, math.sqrt(a * b)
    return a


def trailing_zeros(n):
    if not n:
        return 64
    count = 0
    while not n & 1:
        n >>= 1
        count += 1
    return count


def perfect(n):
    total = 1
    for d in range(2, n):
        if n % d != 0:
            continue
        total += d
    return total == n and n > 1


def first_divisor(n):
    for d in range(2, 50):
        if n % d == 0:
            return d
    return n


def nested_return(limit):
    for a in range(1, 20):
        for b in range(a, 20):
            if a * a + b * b == limit:
                return a, b
    return 0, 0


def for_else(n):
    for d in range(2, 12):
        if n % d == 0 and n != d:
            kind = 0
            break
    else:
        kind = 1
    return kind


def while_else(n):
    k = 0
    while k < n:
        if k * k == n:
            found = True
            break
        k += 1
    else:
        found = False
    return found, k


def walrus(n):
    total = 0
    while (n := n // 2) > 0:
        total += n
    return total


def walrus_in_if(x):
    if (y := x * x) > 4:
        return y
    return y + 1


def match_values(code):
    match code:
        case 200:
            out = 1
        case 301 | 302:
            out = 2
        case other if other >= 500:
            out = 5
        case _:
            out = 0
    return out


def piecewise(x):
    if x < -1:
        return x * x
    if -1 <= x <= 1:
        return 1 - x
    return math.log(x)


def smooth_step(x):
    if x <= 0:
        y = 0.0
    elif x >= 1:
        y = 1.0
    else:
        y = 3 * x**2 - 2 * x**3
    return y


def huber(x, delta):
    return 0.5 * x * x if abs(x) <= delta else delta * (abs(x) - 0.5 * delta)


def continued_fraction(x):
    depth, value = 0, x
    while depth < 8 and value - math.floor(value) > 1e-6:
        value = 1 / (value - math.floor(value))
        depth += 1
    return depth, value


def interest(balance, rate, target):
    years = 0
    while balance < target:
        balance *= 1 + rate
        years += 1
        if years >= 100:
            break
    return years, balance


def lcm(a, b):
    x, y = a, b
    while y != 0:
        x, y = y, x % y
    return a * b // x


def josephus(n, k):
    position = 0
    for size in range(2, n + 1):
        position = (position + k) % size
    return position


def water_jugs(a, b):
    steps = 0
    while a != 4:
        if a == 0:
            a = 5
        elif b == 3:
            b = 0
        else:
            poured = min(a, 3 - b)
            a, b = a - poured, b + poured
        steps += 1
        if steps > 30:
            return -1
    return steps


def mixed(x, flag):
    if (flag and x > 0) or (not flag and x < 0):
        return x
    return 2 * x


f, i = np.float64, np.int64
CASES = {
    absolute: [(f(2),), (f(-3),)],
    sign: [(f(2),), (f(-3),), (f(0),)],
    clamp: [(f(2), f(0), f(1)), (f(0.5), f(0), f(1)), (f(-2), f(0), f(1))],
    collatz: [(i(27),), (i(1),)],
    gcd: [(i(48), i(18)), (i(7), i(0))],
    extended_gcd: [(i(240), i(46))],
    newton_root: [(f(2),), (f(9),)],
    newton_break: [(f(2),), (f(9),)],
    newton_limited: [(f(2),), (f(27),)],
    bisection: [(f(0), f(1))],
    bisection_tolerance: [(f(1), f(2))],
    secant: [(f(1), f(2))],
    golden_section: [(f(0), f(5))],
    fibonacci: [(i(10),), (i(0),)],
    factorial: [(i(5),), (i(0),)],
    triangle: [(i(5),), (i(0),)],
    stepped: [(i(0), i(10), i(3)), (i(9), i(0), i(-2)), (i(3), i(3), i(1))],
    power_by_squaring: [(i(3), i(5)), (i(2), i(0))],
    is_prime: [(i(1),), (i(17),), (i(21),)],
    digit_sum: [(i(1234),), (i(0),)],
    reverse_digits: [(i(1234),)],
    count_bits: [(i(255),), (i(0),)],
    leap_year: [(i(2000),), (i(1900),), (i(2024),), (i(2023),)],
    grade: [(i(95),), (i(85),), (i(75),), (i(65),), (i(5),)],
    tax: [(f(500),), (f(3000),), (f(9000),), (f(50000),)],
    middle_of_three: [(i(1), i(2), i(3)), (i(2), i(1), i(3)), (i(1), i(3), i(2))],
    quadratic: [(f(1), f(-3), f(2)), (f(1), f(0), f(1))],
    mandelbrot: [(f(0), f(0)), (f(1), f(1)), (f(-0.75), f(0.3))],
    harmonic_until: [(f(3),), (f(0),)],
    exp_series: [(f(1),), (f(-2),)],
    arithmetic_geometric_mean: [(f(1), f(2))],
    trailing_zeros: [(i(0),), (i(1),), (i(40),)],
    perfect: [(i(6),), (i(28),), (i(12),), (i(1),)],
    first_divisor: [(i(91),), (i(97),)],
    nested_return: [(i(25),), (i(3),)],
    for_else: [(i(13),), (i(15),)],
    while_else: [(i(16),), (i(15),)],
    walrus: [(i(20),), (i(0),)],
    walrus_in_if: [(f(3),), (f(1),)],
    match_values: [(i(200),), (i(302),), (i(503),), (i(404),)],
    piecewise: [(f(-2),), (f(0.5),), (f(3),)],
    smooth_step: [(f(-2),), (f(0.5),), (f(3),)],
    huber: [(f(0.5), f(1)), (f(-3), f(1))],
    continued_fraction: [(f(3.245),), (f(2),)],
    interest: [(f(100), f(0.07), f(200)), (f(1), f(0), f(2))],
    lcm: [(i(4), i(6))],
    josephus: [(i(7), i(3)), (i(1), i(2))],
    water_jugs: [(i(0), i(0))],
    mixed: [(f(1), True), (f(-1), True), (f(-1), False)],
}
GRADIENTS = {
    absolute: "reverse", clamp: "reverse", newton_root: "forward", newton_break: "forward", newton_limited: "reverse",
    tax: "reverse", quadratic: "reverse", exp_series: "forward", arithmetic_geometric_mean: "forward", piecewise: "reverse",
    smooth_step: "reverse", huber: "reverse", interest: "forward", walrus_in_if: "reverse", mixed: "reverse",
}  # fmt: skip
_ = lnp
