"""Make ``whitebox.npz`` and ``whitebox.json``: attacks on models trained on Fashion-MNIST.

The pages of the gallery plot the stored results. To make the files again, which takes a quarter of
an hour on one core (Debian has the images in its package dataset-fashion-mnist):

    python docs/gallery/make_whitebox.py --data /usr/share/datasets/fashion-mnist

Batches are of 64, the learning rate is 1e-3, the loss is cross-entropy.  Mean and covariance are
those of 1000 reference gradients at the first model; the targets are the easiest, the median and
the hardest of all other training images.

linear   300 steps (a third of an epoch) of a layer of 7,850 parameters, all attacked; in each run
         each target is in or out by itself, in one batch of those that the run passes over
conv     the same on a small convolutional net, its last layer of 4,010 parameters attacked
step     one step at the first model of either, a target in the place of one row or not; with
         covariances from 1000 and from 20,000 gradients
dp       one step of DP-SGD, by Opacus, of the linear layer at three noise levels
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from opacus import GradSampleModule
from opacus.optimizers import DPOptimizer
from scipy.special import logsumexp, softmax

import mialeak
from mialeak import CovarianceAttack, StreamingCovariance, mean_tradeoff, select_canaries
from mialeak.training import LayerGradients
from mialeak.training.torch import ParameterRecorder, layer_gradients

HERE = Path(__file__).parent
BATCH, RATE, REFERENCES = 64, 1e-3, 1000
CLIP, NOISES = 1.0, (0.5, 1.0, 2.0)
#: Shrinkage of the covariance where only one is shown, and all that are compared.
SHRINKAGE, SHRINKAGES = 0.1, (0.001, 0.01, 0.1, 0.5)
#: References that all but tell the covariance, and its shrinkage then.
KNOWN, LITTLE = 20_000, 0.001
#: For DP-SGD: next to nothing beside its noise, which makes the covariance regular.
RIDGE = 1e-9
CROSS_ENTROPY = torch.nn.CrossEntropyLoss()


def read_idx(path: Path) -> np.ndarray:
    """An array in the format of the MNIST files."""
    data = gzip.decompress(path.read_bytes())
    shape = [int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(data[3])]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)


def linear_model() -> torch.nn.Module:
    """28 x 28 to 10: 7,850 parameters."""
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))


def conv_model() -> torch.nn.Module:
    """Two convolutions and a last layer of 4,010 parameters."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 5, stride=2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 16, 3, stride=2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(400, 10),
    )


class Setting:
    """A model at its start, the reference there, the targets, and the rows to train on."""

    def __init__(self, make: Any, images: np.ndarray, labels: np.ndarray, seed: int):
        torch.manual_seed(seed)
        self.model = make()
        self.start = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.x = torch.from_numpy(images[:, None] / np.float32(255.0))
        self.y = torch.from_numpy(labels.astype(np.int64))
        rows = np.random.default_rng(seed).permutation(len(images))
        self.reference_rows, others = np.split(rows, [REFERENCES])
        chosen = select_canaries(self.blocks(others), self.reference(), len(others))
        order = others[chosen.indices]
        self.scores = chosen.scores
        self.targets = order[[0, len(order) // 2, -1]]
        self.shown = np.concatenate([order[:3], order[len(order) // 2 :][:3], order[-3:]])
        self.pool = np.setdiff1d(others, self.targets)

    def blocks(self, rows: np.ndarray) -> Any:
        """Gradients of the last layer at the start, in blocks."""
        for part in np.array_split(rows, max(1, len(rows) // 512)):
            yield layer_gradients(self.model, CROSS_ENTROPY, self.x[part], self.y[part]).dense()

    def reference(self, structure: str = "low-rank", **options: Any) -> StreamingCovariance:
        """Fitted to the reference rows; a ridge in proportion to the mean variance."""
        options = {"shrinkage": SHRINKAGE, **options}
        estimator = StreamingCovariance(structure=structure, **options)
        return estimator.fit(self.blocks(self.reference_rows))

    def restart(self) -> None:
        """Put the parameters of the start back."""
        self.model.load_state_dict(self.start)

    def order(self, rng: np.random.Generator, member: np.ndarray, steps: int) -> np.ndarray:
        """Rows of each step, (steps, BATCH); members take the place of rows at random."""
        rows = rng.permutation(self.pool)[: steps * BATCH]
        places = rng.choice(rows.size, len(member), replace=False)
        rows[places[member]] = self.targets[member]
        return rows.reshape(steps, BATCH)


def memberships(rng: np.random.Generator, runs: int) -> np.ndarray:
    """(runs, 3): each target in half of the runs."""
    half = np.arange(runs) < runs // 2
    return np.stack([rng.permutation(half) for _ in range(3)], axis=1)


def estimators(setting: Setting, shrinkages: tuple[float, ...]) -> dict[str, StreamingCovariance]:
    """What the covariance is taken for."""
    last = setting.model[-1]
    blocks = [last.in_features] * last.out_features + [last.out_features]
    low_rank = {f"{a:g}": setting.reference(shrinkage=a) for a in shrinkages}
    block = setting.reference("block", blocks=blocks)
    return {**low_rank, "diagonal": setting.reference("diagonal"), "block": block}


def attacks(found: dict[str, StreamingCovariance]) -> dict[str, CovarianceAttack]:
    """What is compared on one model."""
    options = {"participation": "one-step"}
    made = {f"covariance {name}": CovarianceAttack(found[name], BATCH, **options) for name in found}
    for score in ("glir", "scalar-product"):
        made[score] = CovarianceAttack(found[f"{SHRINKAGE:g}"], BATCH, score=score, **options)
    return made


def combined(
    made: dict[str, CovarianceAttack], gradients: Any, batches: np.ndarray
) -> dict[str, np.ndarray]:
    """Every attack's scores (3,) of one run: sums, largest and log mean exp over the steps."""
    found = {}
    for name, attack in made.items():
        attack.reset()
        steps = attack.update(gradients, batches)
        found[f"{name}, sum"] = steps.sum(axis=0)
        found[f"{name}, largest"] = steps.max(axis=0)
        if name.startswith("covariance"):
            found[f"{name}, log mean exp"] = attack.scores()
            assert np.allclose(attack.scores(), logsumexp(steps, axis=0) - np.log(len(steps)))
    return found


def linear_run(setting: Setting, rows: np.ndarray) -> tuple[LayerGradients, np.ndarray]:
    """The targets' gradients before each step, and the batch gradients."""
    setting.restart()
    optimizer = torch.optim.SGD(setting.model.parameters(), lr=RATE)
    with ParameterRecorder(setting.model, optimizer) as recorder:
        for batch in rows:
            optimizer.zero_grad()
            CROSS_ENTROPY(setting.model(setting.x[batch]), setting.y[batch]).backward()
            optimizer.step()
    path = recorder.parameters_[:-1]
    inputs = setting.x[setting.targets].flatten(1).numpy()
    outputs = path[:, :7840].reshape(-1, 10, 784) @ inputs.T + path[:, 7840:, None]
    errors = errors_of(setting, outputs.transpose(0, 2, 1))
    return LayerGradients(errors, inputs), recorder.batch_gradients_


def errors_of(setting: Setting, outputs: np.ndarray) -> np.ndarray:
    """Derivative of the targets' losses in the outputs (S, 3, 10) of the last layer."""
    errors = softmax(outputs, axis=-1)
    errors[:, np.arange(3), setting.y[setting.targets].numpy()] -= 1.0
    return errors


def conv_run(setting: Setting, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Some steps: what feeds the last layer changes, so that gradients are dense."""
    setting.restart()
    model, x = setting.model, setting.x[setting.targets]
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, foreach=False)
    fed, outputs = [], []
    with ParameterRecorder(model, optimizer) as recorder:
        for batch in rows:
            with torch.no_grad():
                fed.append(model[:-1](x))
                outputs.append(model[-1](fed[-1]))
            optimizer.zero_grad()
            CROSS_ENTROPY(model(setting.x[batch]), setting.y[batch]).backward()
            optimizer.step()
    errors = errors_of(setting, torch.stack(outputs).numpy())
    inputs = torch.cat(fed).numpy()
    dense = LayerGradients(errors.reshape(len(inputs), -1), inputs).dense()
    return dense.reshape(len(rows), 3, -1), recorder.batch_gradients_


def play(setting: Setting, run: Any, runs: int, steps: int, seed: int) -> dict[str, np.ndarray]:
    """Scores (runs, 3) of each attack, and who was in."""
    rng = np.random.default_rng(seed)
    member = memberships(rng, runs)
    made = attacks({f"{SHRINKAGE:g}": setting.reference()})
    found = []
    for game in range(runs):
        rows = setting.order(rng, member[game], steps)
        found.append(combined(made, *run(setting, rows)))
        if game in (0, 9) or (game + 1) % 25 == 0:
            print(f"{time.strftime('%T')} {run.__name__} {game + 1} of {runs}", flush=True)
    stored = {name: np.stack([one[name] for one in found]) for name in found[0]}
    return {**stored, "member": member}


def play_step(setting: Setting, rounds: int, seed: int) -> dict[str, np.ndarray]:
    """Scores (3, 2, rounds), out and in, of one step at the start; areas (3,) by theory."""
    setting.restart()
    rng = np.random.default_rng(seed)
    known, pool = np.split(rng.permutation(setting.pool), [KNOWN])
    at = setting.targets
    targets = layer_gradients(setting.model, CROSS_ENTROPY, setting.x[at], setting.y[at]).dense()
    released = np.empty((3, 2, rounds, targets.shape[1]))
    for game in range(rounds):
        (rows,) = setting.blocks(rng.choice(pool, BATCH, replace=False))
        released[:, :, game] = rows.mean(axis=0)
        released[:, 1, game] += (targets - rows[0]) / BATCH
    found = estimators(setting, SHRINKAGES)
    found["known"] = StreamingCovariance(shrinkage=LITTLE).fit(setting.blocks(known))
    made = attacks(found)
    games = np.broadcast_to(targets[:, None, None, None], (3, 2, rounds, 1, targets.shape[1]))
    stored = {}
    for name, attack in made.items():
        scores = attack.update(
            games.reshape(-1, 1, targets.shape[1]), released.reshape(-1, targets.shape[1])
        )
        stored[name] = scores.reshape(3, 2, rounds)
    for name, estimator in found.items():
        law = mean_tradeoff(targets, estimator.mean_, estimator, BATCH)
        stored[f"theory {name}"] = np.asarray(law.auc)
    return stored


def dp_step(setting: Setting, rows: np.ndarray, noise: float, generator: Any) -> np.ndarray:
    """Batch gradient that one step of DP-SGD follows."""
    setting.restart()
    module = setting.private
    inner = torch.optim.SGD(module.parameters(), lr=RATE)
    optimizer = DPOptimizer(
        inner,
        noise_multiplier=noise,
        max_grad_norm=CLIP,
        expected_batch_size=BATCH,
        generator=generator,
    )
    with ParameterRecorder(module, optimizer) as recorder:
        optimizer.zero_grad()
        CROSS_ENTROPY(module(setting.x[rows]), setting.y[rows]).backward()
        optimizer.step()
    return recorder.batch_gradients_[0]


def play_dp(setting: Setting, rounds: int, seed: int) -> dict[str, np.ndarray]:
    """Scores out and in, (noises, 3, rounds), and the curves that theory gives."""
    x, y = setting.x[setting.reference_rows], setting.y[setting.reference_rows]
    rows = layer_gradients(setting.model, CROSS_ENTROPY, x, y).clip(CLIP).dense()
    reference = StreamingCovariance(structure="low-rank", ridge=RIDGE).fit(rows)
    at = setting.targets
    gradients = layer_gradients(setting.model, CROSS_ENTROPY, setting.x[at], setting.y[at])
    targets = gradients.clip(CLIP).dense()
    setting.private = GradSampleModule(setting.model)
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    out, into = np.empty((2, len(NOISES), 3, rounds))
    power, fpr = [], np.linspace(0.0, 1.0, 101)
    for level, noise in enumerate(NOISES):
        released = np.empty((4, rounds, targets.shape[1]))
        for game in range(rounds):
            batch = rng.choice(setting.pool, BATCH, replace=False)
            released[3, game] = dp_step(setting, batch, noise, generator)
            for k in range(3):
                batch[0] = at[k]
                released[k, game] = dp_step(setting, batch, noise, generator)
        attack = CovarianceAttack(reference, BATCH, noise_multiplier=noise, clip_norm=CLIP)
        for k in range(3):
            games = np.broadcast_to(targets[k], (rounds, 1, targets.shape[1]))
            out[level, k] = attack.update(games, released[3])[:, 0]
            into[level, k] = attack.update(games, released[k])[:, 0]
        # to the theory the noise is so much more variance of every coordinate
        ridge = noise**2 * CLIP**2 / BATCH
        noisy = StreamingCovariance(structure="low-rank", ridge=ridge).fit(rows)
        curve = mean_tradeoff(targets, noisy.mean_, noisy, BATCH)
        power.append(np.asarray(curve.power(fpr[:, None])).T)
        print(f"{time.strftime('%T')} dp {noise}", flush=True)
    return {"out": out, "in": into, "fpr": fpr, "power": np.stack(power)}


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def store(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
    """The arrays as npz, and what they are made of as JSON."""
    small = {
        name: array.astype(np.float32) if array.dtype == np.float64 else array
        for name, array in arrays.items()
    }
    np.savez_compressed(HERE / "whitebox.npz", **small)
    about["sha256"] = digest(HERE / "whitebox.npz")
    (HERE / "whitebox.json").write_text(json.dumps(about, indent=1) + "\n")


def main() -> None:
    """Run all experiments and store them."""
    parser = argparse.ArgumentParser(description="Attack models trained on Fashion-MNIST.")
    parser.add_argument("--data", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument("--seed", type=int, default=2025)
    parser.add_argument("--linear-runs", type=int, default=100)
    parser.add_argument("--linear-steps", type=int, default=300)
    parser.add_argument("--conv-runs", type=int, default=100)
    parser.add_argument("--conv-steps", type=int, default=300)
    parser.add_argument("--step-rounds", type=int, default=1000)
    parser.add_argument("--dp-rounds", type=int, default=1000)
    options = vars(parser.parse_args())
    data, seed = options.pop("data"), options["seed"]
    torch.set_num_threads(1)
    files = [data / f"train-{name}-ubyte.gz" for name in ("images-idx3", "labels-idx1")]
    images, labels = map(read_idx, files)

    about = {
        **options,
        "references": (REFERENCES, KNOWN),
        "shrinkages": SHRINKAGES,
        "noises": NOISES,
        "clip_norm": CLIP,
        "data": {path.name: digest(path) for path in files},
        "versions": {
            "mialeak": mialeak.__version__,
            "numpy": np.__version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
    }
    arrays: dict[str, np.ndarray] = {}
    for name, make in {"linear": linear_model, "conv": conv_model}.items():
        setting = Setting(make, images, labels, seed)
        middle = len(setting.scores) // 2
        distances = setting.scores[[0, middle, -1]]
        print(f"{time.strftime('%T')} {name}: distances of targets {distances}", flush=True)
        run = linear_run if name == "linear" else conv_run
        found = play(setting, run, options[f"{name}_runs"], options[f"{name}_steps"], seed)
        counts, edges = np.histogram(np.log10(setting.scores), bins=80)
        found |= {"counts": counts, "edges": edges, "distances": distances}
        found |= {"images": images[setting.shown], "labels": labels[setting.shown]}
        arrays |= {f"{name}: {key}": value for key, value in found.items()}
        found = play_step(setting, options["step_rounds"], seed)
        arrays |= {f"{name} step: {key}": value for key, value in found.items()}
        print(f"{time.strftime('%T')} {name} step", flush=True)
        if name == "linear":
            setting.restart()
            found = play_dp(setting, options["dp_rounds"], seed)
            arrays |= {f"dp: {key}": value for key, value in found.items()}
        store(arrays, about)


if __name__ == "__main__":
    main()
