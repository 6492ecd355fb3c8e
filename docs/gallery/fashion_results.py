"""Make fashion.json, which plot_discretised_images.py draws: ``python fashion_results.py FOLDER``.

FOLDER holds the four files of Fashion-MNIST [1]_.  Minutes, on one core.

.. [1] H. Xiao, K. Rasul, R. Vollgraf, "Fashion-MNIST", arXiv:1708.07747 (MIT licence).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.neural_network import MLPClassifier

from mialeak import max_leakage
from mialeak.discrete import diversity

SEED = 2025
SIZES = (1000, 5000, 10_000)
CLUSTERS = (20, 50, 100)
CURVE = (3, 5, 10, 20, 50, 100, 200, 400)
#: Images that find the clusters, and for nothing else: as in the paper for the table, more for the
#: curve, whose largest clusterings have more centres.
SET_ASIDE, SET_ASIDE_CURVE = 1000, 4000
#: Further images, whose shares are taken for the law.
LAW = 30_000
REPEATS, NETWORKS = 5, 1


def read(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Images in [0, 1], their labels, and a hash of the files."""
    digest, data = hashlib.sha256(), []
    for kind, skip in (("images-idx3", 16), ("labels-idx1", 8)):
        raw = gzip.decompress((folder / f"{part}-{kind}-ubyte.gz").read_bytes())
        digest.update(raw)
        data.append(np.frombuffer(raw, np.uint8, offset=skip))
    images, labels = data
    return images.reshape(len(labels), -1) / np.float32(255), labels, digest.hexdigest()


def clustering(images: np.ndarray, clusters: int) -> MiniBatchKMeans:
    """As in the paper."""
    return MiniBatchKMeans(clusters, random_state=SEED, n_init=1, batch_size=1024).fit(images)


def law(*codes: np.ndarray) -> np.ndarray:
    """Shares of the joint values."""
    _, counts = np.unique(np.stack(codes), axis=1, return_counts=True)
    return counts / counts.sum()


def vote(codes: np.ndarray, labels: np.ndarray, clusters: int) -> np.ndarray:
    """The commonest label of each cluster.

    On K distinct images whatever is learned is a list of K answers; on the same images none has
    more right than this.
    """
    votes = np.zeros((clusters, 10))
    np.add.at(votes, (codes, labels), 1)
    return votes.argmax(axis=1)


def discretised(data, clusters: int, aside: int, sizes: tuple[int, ...]) -> list[dict[str, object]]:
    """A row for each size: accuracy, and what the atoms leak."""
    images, labels, test_images, test_labels = data
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(images))
    kmeans = clustering(images[order[:aside]], clusters)
    rest = order[aside : aside + LAW]
    codes, answers = kmeans.predict(images[rest]), labels[rest]
    test_codes = kmeans.predict(test_images)
    found = []
    for n in sizes:
        accuracy = []
        for _ in range(REPEATS):
            rows = rng.choice(len(rest), n, replace=False)
            learned = vote(codes[rows], answers[rows], clusters)
            accuracy.append(float((learned[test_codes] == test_labels).mean()))
        row: dict[str, object] = {"n": n, "clusters": clusters, "accuracy": accuracy}
        for name, p in (("clusters", law(codes)), ("pairs", law(codes, answers))):
            row[f"diversity_{name}"] = float(diversity(p))
            row[f"leakage_{name}"] = float(max_leakage(p, n))
            row[f"atoms_{name}"] = len(p)
        found.append(row)
        print(row, flush=True)
    return found


def raw(data, n: int) -> dict[str, object]:
    """A network with two inner layers of 256, on images as they are."""
    images, labels, test_images, test_labels = data
    rng = np.random.default_rng(SEED)
    accuracy = []
    for repeat in range(NETWORKS):
        rows = rng.choice(len(images), n, replace=False)
        network = MLPClassifier(
            (256, 256), random_state=SEED + repeat, max_iter=20 if n < 5000 else 8, batch_size=100
        )
        network.fit(images[rows], labels[rows])
        accuracy.append(float(network.score(test_images, test_labels)))
    row = {"n": n, "clusters": None, "accuracy": accuracy}
    print(row, flush=True)
    return row


def main() -> None:
    """Write fashion.json beside this file."""
    warnings.filterwarnings("ignore", message="Stochastic Optimizer")
    folder = Path(sys.argv[1])
    images, labels, digest = read(folder, "train")
    test_images, test_labels, test_digest = read(folder, "t10k")
    data = (images, labels, test_images, test_labels)
    n = SIZES[-1]
    results = {
        "data": "Fashion-MNIST",
        "sha256": [digest, test_digest],
        "seed": SEED,
        "curve": [row for k in CURVE for row in discretised(data, k, SET_ASIDE_CURVE, (n,))],
        "table": [row for k in CLUSTERS for row in discretised(data, k, SET_ASIDE, SIZES)],
        "raw": [raw(data, n) for n in SIZES],
    }
    path = Path(__file__).with_name("fashion.json")
    path.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
