"""Writes src_c/coefficients.h: every fitted number of the kernels, from 60-digit arithmetic.

Run ``python src_c/make_coefficients.py > src_c/coefficients.h`` after a change (needs mpmath; four
minutes, for the weights of convergents).
Polynomials are Chebyshev interpolants in the monomial basis; the comment above each holds its
largest error on the interval, in the measure that the kernel cares about.
"""

import mpmath as mp

mp.mp.dps = 60


def fit(function, low, high, degree):
    """Coefficients, lowest first, and the largest absolute error over [low, high]."""
    coefficients, error = mp.chebyfit(function, [low, high], degree + 1, error=True)
    return coefficients[::-1], error


def show(name, comment, values):
    print(f"/* {comment} */")
    print(f"static const double {name}[{len(values)}] = {{")
    for value in values:
        print(f"    {float(value).hex()},")
    print("};\n")


def atanh_tail(z):
    """(atanh(s)/s - 1)/s**2 with s**2 = z."""
    if z < mp.mpf("1e-12"):
        return mp.nsum(lambda i: z**i / (2 * i + 3), [0, 6])
    s = mp.sqrt(z)
    return (mp.atanh(s) / s - 1) / z


def atanh_next(z):
    """(atanh(s)/s - 1 - z/3)/z**2 with s**2 = z."""
    return mp.nsum(lambda i: z**i / (2 * i + 5), [0, 60])


def exp_tail(r):
    """(exp(r) - 1 - r)/r**2."""
    if abs(r) < mp.mpf("1e-15"):
        return mp.mpf(1) / 2 + r / 6
    return (mp.expm1(r) - r) / r**2


def deviance_tail(u):
    """((-log(1 - u) - u)/u**2 - 1/2)/u."""
    if abs(u) < mp.mpf("1e-10"):
        return mp.mpf(1) / 3 + u / 4 + u * u / 5
    return ((-mp.log1p(-u) - u) / u**2 - mp.mpf(1) / 2) / u


def stirling(x):
    """Stirling remainder: log x! - (x + 1/2) log x + x - log(2 pi)/2."""
    return mp.loggamma(x + 1) - (x + mp.mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2


def stirling_scaled(y):
    """The product x stirling(x) with 1/x**2 = y."""
    if y < mp.mpf("1e-20"):
        return mp.mpf(1) / 12 - y / 360
    x = 1 / mp.sqrt(y)
    return x * stirling(x)


def sine_tail(z):
    """(sin(r)/r - 1)/z with r**2 = z."""
    return mp.nsum(lambda i: (-1) ** (i + 1) * z**i / mp.factorial(2 * i + 3), [0, 20])


def cosine_tail(z):
    """(cos(r) - 1 + z/2)/z**2 with r**2 = z."""
    return mp.nsum(lambda i: (-1) ** i * z**i / mp.factorial(2 * i + 4), [0, 20])


# --- weights of convergents (fraction.h) ---

FIRST, STEPS, SCALE_STEP = 10, 22, 19


def excess_terms(d, terms, p):
    """a(m) and b(m) of the mean excess of a binomial law: d, N and P of tails.h."""
    return (lambda m: m * p * (terms - m)), (lambda m: d + m * (1 + p))


def mean_excess(a, b, steps=500, smoothed=40):
    """The fraction's value by `steps` steps and binomial weights; nothing fitted.

    Errors of convergents are made alike by dividing each step by the size of its own.
    """
    top, bottom, size_before = (mp.mpf(0), mp.mpf(1)), (mp.mpf(1), mp.mpf(0)), mp.mpf(1)
    sums = [mp.mpf(0), mp.mpf(0)]
    for m in range(1, steps + 1):
        if a(m) <= 0:
            return top[0] / bottom[0]
        size = (mp.sqrt(b(m) ** 2 + 4 * a(m)) - b(m)) / 2
        x, y = b(m) / size, a(m) / (size * size_before)
        top = x * top[0] + y * top[1], top[0]
        bottom = x * bottom[0] + y * bottom[1], bottom[0]
        size_before = size
        if m >= steps - smoothed:
            weight = mp.binomial(smoothed, m - steps + smoothed)
            sums = [sums[0] + weight * top[0], sums[1] + weight * bottom[0]]
    return sums[0] / sums[1]


def convergents(d, terms, p):
    """Relative errors of d + rho by each convergent alone, times its denominator; denominators."""
    a, b = excess_terms(d, terms, p)
    at = b(SCALE_STEP)
    scale = (mp.sqrt(at * at + 4 * max(a(SCALE_STEP), 0)) - at * 15 / 16) / 2
    rho = mean_excess(a, b)
    top, bottom = (mp.mpf(0), mp.mpf(1)), (mp.mpf(1), mp.mpf(0))
    errors, denominators = [], []
    for m in range(1, STEPS + 1):
        x, y = b(m) / scale, a(m) / scale**2
        top = x * top[0] + y * top[1], top[0]
        bottom = x * bottom[0] + y * bottom[1], bottom[0]
        if m >= FIRST:
            errors.append((scale * top[0] - rho * bottom[0]) / (d + rho))
            denominators.append(bottom[0])
    return errors, denominators


def fraction_weights(rounds=120):
    """Weights of least largest relative error, and that error: least squares, reweighted (Lawson).

    The middle weight is 1; the denominators are those of the weights of the round before.
    """
    rows = []
    spreads = [mp.mpf(10) ** (mp.mpf(i) / 8) for i in range(33)]
    for sd in [*spreads, mp.mpf(10) ** 5, mp.mpf(10) ** 7]:
        for p in (1e-6, 0.2, 0.4, 0.6, 0.8, 0.95, 1 - 1e-9):
            for z in (0, 0.1, 0.3, 0.7, 1.3, 2.5):
                terms = mp.nint(sd**2 / p + 1 - z * sd)
                if terms > 1:
                    rows.append(convergents(z * sd, terms, mp.mpf(p)))
    count, middle = STEPS - FIRST + 1, (STEPS - FIRST) // 2
    free = [i for i in range(count) if i != middle]
    weights = [mp.binomial(count - 1, i) for i in range(count)]
    importance, best = [mp.mpf(1)] * len(rows), (mp.inf, weights)
    for _ in range(rounds):
        sizes = [mp.fdot(weights, below) for _, below in rows]
        errors = [abs(mp.fdot(weights, row) / n) for (row, _), n in zip(rows, sizes, strict=True)]
        worst = max(errors)
        best = min(best, (worst, weights), key=lambda pair: pair[0])
        importance = [x * (e / worst + 1e-4) for x, e in zip(importance, errors, strict=True)]
        importance = [x / mp.fsum(importance) for x in importance]
        scales = [mp.sqrt(x) / n for x, n in zip(importance, sizes, strict=True)]
        columns = [
            [row[i] * x for (row, _), x in zip(rows, scales, strict=True)] for i in range(count)
        ]
        normal = mp.matrix([[mp.fdot(columns[i], columns[j]) for j in free] for i in free])
        right = mp.matrix([-mp.fdot(columns[i], columns[middle]) for i in free])
        solved = mp.lu_solve(normal, right)
        weights = [*solved[:middle], mp.mpf(1), *solved[middle:]]
    return best[1], best[0]


def split(value):
    """`value` as an unevaluated sum of two doubles."""
    high = float(value)
    return high, float(value - mp.mpf(high))


def main():
    print("/* Written by make_coefficients.py; do not edit. */")
    print("#ifndef MIAL_COEFFICIENTS_H\n#define MIAL_COEFFICIENTS_H\n")

    c, error = fit(atanh_tail, 0, mp.mpf(1) / 9, 10)
    show("ATANH_TAIL", f"(atanh(s)/s - 1)/z, z = s*s in [0, 1/9]; error {mp.nstr(error, 2)}", c)

    c, error = fit(atanh_next, 0, mp.mpf("0.0404"), 7)
    show(
        "ATANH_NEXT",
        f"(atanh(s)/s - 1 - z/3)/z^2, z = s*s in [0, 0.0404]; error {mp.nstr(error, 2)}",
        c,
    )

    half_log2 = mp.log(2) / 2
    c, error = fit(exp_tail, -half_log2, half_log2, 10)
    show("EXP_TAIL", f"(exp(r) - 1 - r)/r^2, |r| <= log(2)/2; error {mp.nstr(error, 2)}", c)

    c, error = fit(exp_tail, mp.mpf("-0.071"), 0, 6)
    show("EXP_TAIL_NEAR", f"the same for -0.071 <= r <= 0; error {mp.nstr(error, 2)}", c)

    c, error = fit(deviance_tail, -mp.mpf(1) / 15, mp.mpf(1) / 15, 8)
    show(
        "DEVIANCE_TAIL",
        f"(G(u)/u^2 - 1/2)/u, G(u) = -log(1-u) - u, |u| <= 1/15; error {mp.nstr(error, 2)}",
        c,
    )

    c, error = fit(deviance_tail, 0, mp.mpf(1) / 17, 7)
    show("DEVIANCE_TAIL_ABOVE", f"the same for 0 <= u <= 1/17; error {mp.nstr(error, 2)}", c)

    c, error = fit(deviance_tail, -mp.mpf(1) / 15, 0, 7)
    show("DEVIANCE_TAIL_BELOW", f"the same for -1/15 <= u <= 0; error {mp.nstr(error, 2)}", c)

    c, error = fit(stirling_scaled, 0, mp.mpf(1) / 225, 4)
    show(
        "STIRLING",
        f"x e(x), e the Stirling remainder, in 1/x^2, x >= 15; error {mp.nstr(error, 2)}",
        c,
    )

    show(
        "STIRLING_SMALL",
        "e(0), unused, and e(1) to e(16)",
        [0] + [stirling(mp.mpf(x)) for x in range(1, 17)],
    )

    show("FACTORIAL", "0! to 128!, and 0", [*map(mp.factorial, range(129)), 0])
    show(
        "FACTORIAL_INVERSE",
        "1/(x - 1)! of x = 0 to 129",
        [0, *(1 / mp.factorial(x) for x in range(129))],
    )

    c, error = fit(lambda y: exp_tail(-y), 0, mp.mpf("1.4"), 12)
    show("MISSING_TAIL", f"(exp(-y) - 1 + y)/y^2, y in [0, 1.4]; error {mp.nstr(error, 2)}", c)
    print("#define MISSING_END 1.4")

    eighth = (mp.pi / 4) ** 2 * mp.mpf("1.0001")
    c, error = fit(sine_tail, 0, eighth, 6)
    show("SINE_TAIL", f"(sin(r)/r - 1)/z, z = r*r, |r| <= pi/4; error {mp.nstr(error, 2)}", c)
    c, error = fit(cosine_tail, 0, eighth, 6)
    show("COSINE_TAIL", f"(cos(r) - 1 + z/2)/z^2, likewise; error {mp.nstr(error, 2)}", c)

    weights, error = fraction_weights()
    show(
        "FRACTION_WEIGHT",
        f"of convergents {FIRST} to {STEPS} of a fraction (fraction.h); error {mp.nstr(error, 2)}",
        weights,
    )

    print(f"#define SQRT_2_PI_INVERSE {float(1 / mp.sqrt(2 * mp.pi)).hex()}")
    print(f"#define TWO_PI {float(2 * mp.pi).hex()}")
    pairs = (("LOG2", mp.log(2)), ("TWO_OVER_PI", 2 / mp.pi), ("THIRD", mp.mpf(1) / 3))
    for name, value in pairs:
        high, low = split(value)
        print(f"#define {name} {high.hex()}")
        print(f"#define {name}_LOW {low.hex()}")
    # log 2 in two pieces, the first short enough that k times it is exact for |k| < 2**11.
    high = mp.floor(mp.log(2) * 2**41) / 2**41
    print(f"#define LOG2_SHORT {float(high).hex()}")
    print(f"#define LOG2_REST {float(mp.log(2) - high).hex()}")
    print(f"#define LOG2_INVERSE {float(1 / mp.log(2)).hex()}")
    # pi/2 in three pieces, the first two short enough that k times them is exact for |k| < 2**22.
    rest = mp.pi / 2
    for name, bits in (("HALF_PI_SHORT", 30), ("HALF_PI_NEXT", 61)):
        piece = mp.floor(rest * 2**bits) / 2**bits
        print(f"#define {name} {float(piece).hex()}")
        rest -= piece
    print(f"#define HALF_PI_REST {float(rest).hex()}")
    print(f"#define HALF_PI_INVERSE {float(2 / mp.pi).hex()}")
    print("\n#endif")


if __name__ == "__main__":
    main()
