"""Makes tests/data/puct.tsv: states of a node, and which move PUCT chooses there.

    python puct.py > ../data/puct.tsv

Only cases in which the best two scores differ by more than the rounding of the priors are kept.
"""

import math
import random

HEAD = "# c_puct\tfpu\treduction\tvirtual loss\tvisits\tsum\tin flight\tpriors\ttried: visits,sum,in flight\tchosen"


def scores(c, fpu, reduction, loss, visits, total, in_flight, priors, tried):
    root = math.sqrt(visits + in_flight)
    for prior, (n, w, f) in zip(priors, tried):
        # The sum is the child's; the parent's view is the opposite, and what is in flight is lost.
        yield (-w - loss * f) / (n + f) + c * prior * root / (1 + n + f)
    seen = sum(priors[: len(tried)])
    first = 0.0 if fpu == "zero" else total / visits - reduction * math.sqrt(seen)
    for prior in priors[len(tried) :]:
        yield first + c * prior * root


def case(source):
    count = source.randint(1, 8)
    weights = [source.expovariate(1) for _ in range(count)]
    priors = [round(weight / sum(weights), 4) for weight in weights]
    tried = []
    for _ in range(source.randint(0, count)):
        n, f = source.choice([(0, 1), (0, 2), (1, 0), (3, 1), (40, 0), (900, 8), (1, 1)])
        tried.append((n, round(n * source.uniform(-1, 1), 3), f))
    if len(tried) < count:
        # The first of the untried moves is the most probable of them.
        rest = sorted(priors[len(tried) :], reverse=True)
        priors[len(tried) :] = rest
    visits = 1 + sum(n for n, _, _ in tried)
    in_flight = sum(f for _, _, f in tried)
    total = round(visits * source.uniform(-1, 1), 3)
    setting = (
        source.choice([1.0, 1.5, 3.0]),
        source.choice(["zero", "parent"]),
        source.choice([0.0, 0.3]),
        source.choice([1.0, 0.0, 0.5]),
    )
    found = list(scores(*setting, visits, total, in_flight, priors, tried))
    best, *others = sorted(found, reverse=True)
    if others and best - others[0] < 0.01:
        return None
    stats = ";".join(f"{n},{w},{f}" for n, w, f in tried)
    fields = [*setting, visits, total, in_flight, ";".join(map(str, priors)), stats, found.index(best)]
    return "\t".join(map(str, fields))


def main():
    source = random.Random(1)
    print(HEAD)
    # By hand: the seed's form. 0.5 * 1 / 1 for the first move, nothing seen yet.
    print("1.0\tzero\t0.0\t1.0\t1\t0.0\t0\t0.5;0.3;0.2\t\t0")
    # By hand: one lost visit, -1 + 0.5 * 1.414 / 2 = -0.65 against 0 + 0.3 * 1.414 = 0.42.
    print("1.0\tzero\t0.0\t1.0\t2\t0.0\t0\t0.5;0.3;0.2\t1,1.0,0\t1")
    kept = 0
    while kept < 200:
        if line := case(source):
            kept += 1
            print(line)


if __name__ == "__main__":
    main()
