"""Verify a certificate of mialeak without mialeak: this file and mpmath are all it takes.

    python verify_certificate.py adult.json [FILE ...]

Exact numbers are computed from the counts with 60 digits and must lie in their enclosures; the
salted hashes of the FILEs are compared.  Estimates need mialeak itself (``mialeak verify``) and are
named.  Exit code: 0 if all that was checked holds, 1 if not.
"""

import hashlib
import json
import sys

from mpmath import loggamma, mp, mpf

mp.dps = 60


def log_choose(n, k):
    """Log of the binomial coefficient."""
    return loggamma(mpf(n) + 1) - loggamma(mpf(k) + 1) - loggamma(mpf(n - k) + 1)


def binomial_deviation(n, successes, rows):
    """E|B - n p| of a binomial count with p = successes/rows, by de Moivre's formula."""
    if successes == rows:
        return mpf(0)
    m = n * successes // rows + 1
    p = mpf(successes) / rows
    return 2 * m * mp.exp(log_choose(n, m) + m * mp.log(p) + (n - m + 1) * mp.log1p(-p))


def hypergeometric_deviation(N, K, n):
    """E|H - n K/N| of the marked people among n of N, K of whom are marked."""
    m = n * K // N + 1
    if m > min(n, K) or N - K - n + m < 0:
        return mpf(0)
    log_probability = log_choose(K, m) + log_choose(N - K, n - m) - log_choose(N, n)
    return 2 * m * mpf(N - K - n + m) / N * mp.exp(log_probability)


def exact_leakage(question, counts):
    """The leakage that follows from the counts: half the mean distance of the shares."""
    n = question["n"]
    pairs = list(zip(counts["sizes"], counts["cells"], strict=True))
    total = sum(size * cells for size, cells in pairs)
    if question["population"].startswith("a register"):
        deviations = [cells * hypergeometric_deviation(total, size, n) for size, cells in pairs]
        return sum(deviations) * total / (2 * mpf(n) * (total - n))
    assert total == question["rows"], "the rows are not those of the counts"
    deviations = [cells * binomial_deviation(n, size, total) for size, cells in pairs]
    return sum(deviations) / (2 * mpf(n))


def number_of(text):
    """A hexadecimal float64 as an exact number."""
    return mpf(float.fromhex(text))


def failures(path, inputs):
    """What does not hold; prints each check."""
    with open(path, "rb") as file:
        raw = file.read()
    content = json.loads(raw)
    stated = {name: value for name, value in content.items() if name != "digest"}
    digest = hashlib.sha256(json.dumps(stated).encode("ascii")).hexdigest()
    same_bytes = (json.dumps(content, indent=1) + "\n").encode("ascii") == raw
    checks = [("schema", content["schema"] == "mialeak.certificate/1")]
    checks.append(("bytes and digest", same_bytes and digest == content["digest"]))
    for number in content["numbers"]:
        low, value, high = (number_of(number[name]) for name in ("low", "value", "high"))
        checks.append((f"{number['name']}: low <= value <= high", low <= value <= high))
        if number["kind"] != "exact":
            print(f"not checked  {number['name']} is an estimate: {number['decimal']}")
            continue
        truth = exact_leakage(content["question"], content["counts"])
        checks.append((f"{number['name']} = {mp.nstr(truth, 17)}", low <= truth <= high))
        checks.append(("its decimal form", float(number["decimal"]) == float(value)))
    for each in inputs:
        with open(each, "rb") as file:
            salted = hashlib.sha256(content["salt"].encode("ascii") + file.read()).hexdigest()
        checks.append((f"{each} is an input", salted in content["inputs"].values()))
    for name, passed in checks:
        print(f"{'passed' if passed else 'FAILED':11}  {name}")
    return [name for name, passed in checks if not passed]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(1 if failures(sys.argv[1], sys.argv[2:]) else 0)
