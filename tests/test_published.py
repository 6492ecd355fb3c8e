"""Published frequencies beside targets: likelihood ratios, leakage, and what is refused."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from mialeak import mean_leakage, mean_tradeoff
from mialeak.cli import main
from mialeak.means._published import _averaged_terms, _log_terms

SITES = 40


def write_raw(path, counts, *, first=0):
    """Genotypes as PLINK's --export A with include-alt writes them: C counted, the other A."""
    names = " ".join(f"rs{j}_C(/A)" for j in range(counts.shape[1]))
    lines = [f"FID IID PAT MAT SEX PHENOTYPE {names}"]
    for k, row in enumerate(counts.tolist(), first):
        lines.append(f"f p{k} 0 0 0 -9 " + " ".join("NA" if x < 0 else str(x) for x in row))
    path.write_text("\n".join(lines) + "\n")
    return path


def write_afreq(path, copies, alleles, *, swap=()):
    """Frequencies as plink2 --freq writes them, of the allele C unless swapped."""
    lines = ["#CHROM\tID\tREF\tALT\tALT_FREQS\tOBS_CT"]
    for j, (c, m) in enumerate(zip(copies.tolist(), alleles.tolist(), strict=True)):
        ref, alt, share = ("C", "A", 1 - c / m) if j in swap else ("A", "C", c / m)
        lines.append(f"{1 + j % 22}\trs{j}\t{ref}\t{alt}\t{share:.6g}\t{m}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A release of 60 people, at some sites fewer; a panel of 25 others; 5 members and 5 not."""
    folder, rng = tmp_path_factory.mktemp("published"), np.random.default_rng(3)
    p = rng.uniform(0.1, 0.9, SITES)
    cohort, panel, outside = (rng.binomial(2, p, (k, SITES)) for k in (60, 25, 5))
    people = np.where(np.arange(SITES) % 3, 60, 57)
    copies = np.array([cohort[:k, j].sum() for j, k in enumerate(people)])
    targets = np.concatenate([cohort[:5], outside])
    write_raw(folder / "targets.raw", targets)
    write_raw(folder / "panel.raw", panel, first=100)
    swap = (0, 7)
    return {
        "folder": folder,
        "targets": targets,
        "release": (copies, 2 * people),
        "panel": (panel.sum(axis=0), np.full(SITES, 50)),
        "table": folder / "targets.raw",
        "published": write_afreq(folder / "r.afreq", copies, 2 * people),
        "swapped": write_afreq(folder / "s.afreq", copies, 2 * people, swap=swap),
        "others": write_afreq(folder / "p.afreq", panel.sum(axis=0), np.full(SITES, 50)),
    }


def binomial(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k) if 0 <= k <= n else Fraction(0)


def ratio(x, c, m, b, others, p):
    """Of c copies in the release given c + b in both: in the release x of them are the target's."""

    def given(moved, alleles):
        chances = [
            binomial(k - moved, alleles, p) * binomial(c + b - k, others, p)
            for k in range(c + b + 1)
        ]
        return chances[c] / sum(chances)

    return given(x, m - 2) / given(0, m)


def test_log_likelihood_ratios_are_those_of_enumerated_copies(files):
    """In fractions, for two frequencies of the population: the ratio does not depend on it."""
    report = mean_leakage(files["table"], published=files["published"], panel=files["others"])
    assert report.rows_used == 60
    (copies, alleles), (b, others) = files["release"], files["panel"]
    for row, target in enumerate(files["targets"].tolist()):
        truth = 0.0
        for j, x in enumerate(target):
            arguments = x, int(copies[j]), int(alleles[j]), int(b[j]), int(others[j])
            exact = ratio(*arguments, Fraction(1, 3))
            if row == 0:
                assert ratio(*arguments, Fraction(3, 5)) == exact
            truth += math.log(exact)
        assert report.log_likelihood_ratios[row] == pytest.approx(truth, abs=1e-11)
    table = report.to_frame()
    np.testing.assert_array_equal(table["log_likelihood_ratio"], report.log_likelihood_ratios)
    for other in (
        mean_leakage(
            files["table"], published=files["published"], panel=files["folder"] / "panel.raw"
        ),
        mean_leakage(
            files["table"], published=files["swapped"], panel=files["others"], unmatched="omit"
        ),
    ):
        np.testing.assert_allclose(
            other.log_likelihood_ratios, report.log_likelihood_ratios, atol=1e-11
        )


@pytest.mark.parametrize("size", [3, 40])
def test_few_others_reach_a_ratio(size):
    """Of people who are not in it at most e^-x reach x, for a small panel too; members do."""
    rng, rounds, people, sites = np.random.default_rng(size), 20_000, 30, 60
    p = rng.uniform(0.05, 0.5, sites)
    out = rng.binomial(2 * people, p, (rounds, sites))
    others = rng.binomial(2 * size, p, (rounds, sites))
    target = rng.binomial(2, p, (rounds, sites))
    inside = rng.binomial(2 * people - 2, p, (rounds, sites)) + target
    scores = []
    for copies in (out, inside):
        terms = _log_terms(copies, 2.0 * people, others, 2.0 * size)
        scores.append(np.choose(target, terms).sum(axis=1))
    for x in (1.0, 2.0, 3.0):
        share = np.mean(scores[0] >= x)
        assert share <= math.exp(-x) + 5.0 * math.sqrt(math.exp(-x) / rounds)
        assert np.mean(scores[1] >= x) >= 2.0 * share
    assert np.mean(np.exp(scores[0])) == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("panel", [None, 30, "others"])
def test_leakage_is_that_of_the_moments_of_the_population(files, panel):
    copies, alleles = files["release"]
    b, others = files["panel"] if panel == "others" else (copies, alleles)
    p, people = b / others, alleles / 2.0
    report = mean_leakage(
        files["table"], published=files["published"], panel=files.get(panel, panel)
    )
    known = 30.0 if panel == 30 else np.inf if panel is None else others / 2.0
    # As a release of 60 people of other variances at the sites with fewer.
    factor = 60.0 / people * (1.0 + people / known) * (people / 60.0) ** 2
    for row, target in enumerate(files["targets"]):
        curve = mean_tradeoff(
            2 * p + (target - 2 * p) / np.sqrt(factor), 2 * p, 2 * p * (1 - p), 60
        )
        assert report.leakage[row] == pytest.approx(curve.advantage, rel=1e-4)
    assert (report.panel, report.people) == ({None: None, 30: 30, "others": 25}[panel], None)
    assert report.yardsticks() is None
    assert report.sites_within(0.1) is None


def test_the_report_states_whom_the_release_points_at(files, capsys):
    options = ["--published", str(files["published"]), "--panel", str(files["others"])]
    assert main(["mean", str(files["table"]), *options, "--top", "3"]) == 0
    text = capsys.readouterr().out
    assert "The published frequencies of these 40 sites over 60 people leak" in " ".join(
        text.split()
    )
    assert "Evidence that a target is among the people of the release" in text
    assert main(["mean", str(files["table"]), *options, "--top", "3", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    report = mean_leakage(files["table"], published=files["published"], panel=files["others"])
    above = int((report.log_likelihood_ratios > 0).sum())
    assert content["published"] == {"people": 60, "sites": 40, "above_zero": above}
    row = content["riskiest"][0]
    assert row["log_likelihood_ratio"] == report.log_likelihood_ratios[row["row"]]
    copies, alleles = files["release"]
    means = [column["mean"] for column in content["columns"]]
    np.testing.assert_allclose(means, 2 * copies / alleles, rtol=1e-5)
    assert main(["mean", str(files["table"]), *options[:2]]) == 0
    assert "Not computed: it compares" in capsys.readouterr().out


def test_one_target_is_enough_and_an_impossible_one_is_named(files, tmp_path):
    alone = write_raw(tmp_path / "t.raw", files["targets"][:1])
    report = mean_leakage(alone, published=files["published"], panel=files["others"])
    whole = mean_leakage(files["table"], published=files["published"], panel=files["others"])
    assert report.leakage[0] == pytest.approx(whole.leakage[0], rel=1e-13)
    assert not report.cautions
    copies, alleles = files["release"]
    absent = np.where(np.arange(SITES) == 5, 0, copies)
    release = write_afreq(tmp_path / "a.afreq", absent, alleles)
    carriers = np.array(files["targets"])
    carriers[:, 5] = [1, 2, 0, 0, 0, 0, 0, 0, 0, 0]
    table = write_raw(tmp_path / "c.raw", carriers)
    report = mean_leakage(table, published=release, panel=files["others"])
    np.testing.assert_array_equal(np.isneginf(report.log_likelihood_ratios), carriers[:, 5] > 0)
    assert "Certainly not among them, by genotypes that the release excludes: 2" in str(report)


def test_another_population_or_the_release_as_panel_is_a_caution(files, tmp_path):
    copies, alleles = files["release"]
    (caution,) = mean_leakage(
        files["table"], published=files["published"], panel=files["published"]
    ).cautions
    assert "The panel seems to be the release itself" in caution
    far = write_afreq(tmp_path / "f.afreq", np.roll(copies // 2, 1), alleles)
    report = mean_leakage(files["table"], published=files["published"], panel=far)
    (caution,) = report.cautions
    assert "The panel seems to be of another population than the release" in caution
    assert "not stated" in str(report)  # the false-positive rate
    good = mean_leakage(files["table"], published=files["published"], panel=files["others"])
    assert "not stated" not in str(good)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"exact": True}, "published is not available with exact"),
        ({"sampling_rate": 0.5}, "published is not available with sampling_rate"),
        ({"population": 100}, "published is not available with population"),
        ({"structure": "full"}, "published is not available with structure='full'"),
        ({"by": "sample"}, "published is not available with by"),
        ({"published": "table"}, "published must be the frequencies of sites, an .afreq file"),
        ({"published": "swapped"}, "published must have each column .* 2 with swapped alleles"),
        ({"published": "dosages", "panel": "others"}, "published must be shares of whole alleles"),
        (
            {"published": "haploid", "panel": "others"},
            r"published must be over two alleles of each",
        ),
        ({"table": {"rs1": [0, 1, 2, 1]}}, "published must come with genotypes whose alleles"),
    ],
)
def test_what_has_no_answer_is_refused(files, tmp_path, options, words):
    copies, alleles = files["release"]
    at = files | {
        "dosages": write_afreq(tmp_path / "d.afreq", copies + 0.3, alleles),
        "haploid": write_afreq(tmp_path / "h.afreq", copies, alleles - 1),
    }
    given = {"table": "table", "published": "published"} | options
    given = {k: at[v] if isinstance(v, str) and v in at else v for k, v in given.items()}
    with pytest.raises(ValueError, match=f"(?s){words}"):
        mean_leakage(given.pop("table"), **given)


def test_targets_that_are_in_the_panel_by_another_name_are_noticed(files, tmp_path):
    others = np.random.default_rng(5).binomial(2, 0.5, (25, SITES))
    for people, again in ((others, False), (np.concatenate([others, files["targets"]]), True)):
        panel = write_raw(tmp_path / "p.raw", people, first=500)
        report = mean_leakage(files["table"], published=files["published"], panel=panel)
        words = "10 of 10 rows equal a row of the panel in all columns"
        assert any(words in each for each in report.cautions) == again


def write_shares(path, copies, alleles, column):
    """Frequencies with a number in OBS_CT that may be of people."""
    lines = ["#CHROM ID REF ALT ALT_FREQS OBS_CT"]
    for j, (c, m, number) in enumerate(zip(copies, alleles, column, strict=True)):
        lines.append(f"1 rs{j} A C {c / m:.6g} {number}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_numbers_of_people_in_place_of_alleles_are_refused(files, tmp_path):
    """Of dosages, and of frequencies with too few digits, nothing is known."""
    copies, alleles = files["release"]
    path = write_shares(tmp_path / "n.afreq", copies, alleles, alleles // 2)
    for options in ({"published": path}, {"panel": path}):
        with pytest.raises(ValueError, match=r"half an allele too many, the first 'rs0' .*double"):
            mean_leakage(files["table"], **options)
    rng = np.random.default_rng(1)
    for shares in (copies + rng.random(SITES), 0.5 * copies + 1000 * alleles):
        path = write_shares(tmp_path / "n.afreq", shares, shares.max() + alleles, alleles // 2)
        mean_leakage(files["table"], published=path)


def released(folder, cohort, panel, targets, *, decimals=None):
    """A report on targets, with frequencies rounded before they are written."""
    kept = (panel.sum(axis=0) > 0) & (panel.sum(axis=0) < 2 * len(panel))
    kept &= np.ptp(targets, axis=0) > 0
    cohort, panel, targets = (each[:, kept] for each in (cohort, panel, targets))
    copies = cohort.sum(axis=0)
    if decimals is not None:
        copies = np.round(copies / (2 * len(cohort)), decimals) * 2 * len(cohort)
    alleles = np.full(copies.size, 2 * len(cohort))
    release = write_afreq(folder / "release.afreq", copies, alleles)
    beside = np.full(copies.size, 2 * len(panel))
    others = write_afreq(folder / "others.afreq", panel.sum(axis=0), beside)
    table = write_raw(folder / "people.raw", targets)
    return mean_leakage(table, published=release, panel=others)


@pytest.mark.parametrize(("decimals", "people"), [(3, 1000), (2, 300)])
def test_members_are_not_excluded_by_frequencies_that_are_rounded(tmp_path, decimals, people):
    """One copy is less than half a unit: a frequency of 0 excludes nobody."""
    rng = np.random.default_rng(decimals)
    p = np.exp(rng.uniform(np.log(0.0005), np.log(0.5), 300))
    cohort, panel, outside = (rng.binomial(2, p, (k, p.size)) for k in (people, 4000, 600))
    targets = np.concatenate([cohort[: people // 2], outside])
    report = released(tmp_path, cohort, panel, targets, decimals=decimals)
    assert report.cautions == ()
    members, others = np.split(report.log_likelihood_ratios, [people // 2])
    assert np.isfinite(members).all()
    assert members.mean() > 0.0 > others.mean()
    assert np.mean(np.exp(others)) == pytest.approx(1.0, abs=0.15)
    for x in (0.5, 1.0, 2.0):
        assert np.mean(others >= x) <= math.exp(-x)
    assert "The frequencies are rounded" in report.warnings[-1]
    assert "Certainly not" not in str(report)
    whole = released(tmp_path, cohort, panel, targets)
    assert "rounded" not in str(whole)
    assert whole.log_likelihood_ratios[: people // 2].mean() > members.mean()


def test_a_ratio_by_rounded_copies_is_that_of_all_that_are_possible():
    """Enumerated: copies between 3 and 6 of 40, 9 of 60 in the panel, frequency of Jeffreys."""
    low, high, alleles, b, others = 3, 6, 40, 9, 60
    got = _averaged_terms(*(np.array([float(x)]) for x in (low, high, alleles, b, others)))
    for x in range(3):
        grid = (np.arange(20_000) + 0.5) / 20_000
        prior = grid ** (b - 0.5) * (1 - grid) ** (others - b - 0.5)
        out = [
            math.comb(alleles, c) * np.mean(prior * grid**c * (1 - grid) ** (alleles - c))
            for c in range(low, high + 1)
        ]
        ratios = [
            float(ratio(x, c, alleles, b, others, Fraction(1, 3))) for c in range(low, high + 1)
        ]
        assert math.exp(got[x, 0]) == pytest.approx(np.dot(out, ratios) / sum(out), rel=1e-9)


def mosaics(people, sites, rng, founders):
    """Linked sites: each haplotype copies one of forty, and changes it at one site of eighty."""
    moves = rng.random((2 * people, sites)) < 1 / 80
    moves[:, 0] = True
    last = np.maximum.accumulate(np.where(moves, np.arange(sites), 0), axis=1)
    copied = rng.integers(len(founders), size=moves.shape)[np.arange(2 * people)[:, None], last]
    haplotypes = founders[copied, np.arange(sites)]
    return haplotypes[::2] + 1 * haplotypes[1::2]


@pytest.mark.parametrize("kind", ["linked", "populations"])
@pytest.mark.parametrize("targets", [300, 20])
def test_no_false_positive_rate_is_stated_where_sites_are_correlated(tmp_path, kind, targets):
    """More people outside than e^-x reach x = 5, and a caution says why."""
    rng, sites = np.random.default_rng(targets), 1200
    founders = rng.random((40, sites)) < rng.uniform(0.1, 0.5, sites)
    p = rng.uniform(0.1, 0.9, sites)
    p = rng.beta(9 * p, 9 * (1 - p), (2, sites))

    def people(k, first=0.5):
        if kind == "linked":
            return mosaics(k, sites, rng, founders)
        sizes = round(first * k), round((1 - first) * k)
        return np.concatenate(
            [rng.binomial(2, q, (m, sites)) for q, m in zip(p, sizes, strict=True)]
        )

    report = released(tmp_path, people(100, 0.6), people(1000), people(targets))
    others = report.log_likelihood_ratios
    if targets > 20:
        assert np.mean(others >= 5.0) > 2.0 * math.exp(-5.0)
    assert len(report.cautions) == 1
    assert "The sites are not independent" in report.cautions[0]
    assert "not stated" in str(report)


def test_independent_sites_and_families_are_no_correlated_sites(tmp_path):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        p = np.exp(rng.uniform(np.log(0.005), np.log(0.5), 500))
        cohort, panel, targets = (
            rng.binomial(2, p, (k, p.size)) for k in (200, 900, 40 + 90 * seed)
        )
        report = released(tmp_path, cohort, panel, targets)
        assert report.cautions == (), seed
        parents = rng.random((20, 1, 2, 2, p.size)) < p
        chosen = rng.integers(2, size=(20, 2, 2, 1, p.size))
        children = np.take_along_axis(parents, chosen, axis=3).sum(axis=(2, 3)).reshape(-1, p.size)
        if seed > 3:
            report = released(tmp_path, cohort, panel, np.concatenate([targets, children[:8]]))
            assert report.cautions == (), seed


def test_one_target_is_warned_of_sites_that_are_close(tmp_path):
    """Of few people linkage shows by the places of the sites alone."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 600)
    alleles = np.full(600, 200)
    published, panel = (
        write_afreq(tmp_path / name, rng.binomial(200, p), alleles)
        for name in ("r.afreq", "p.afreq")
    )
    genotypes = np.array(["0/0", "0/1", "1/1"])[rng.binomial(2, p)]

    def cautions(step):
        lines = [
            "##fileformat=VCFv4.2",
            "##contig=<ID=1>",
            '##FORMAT=<ID=GT,Number=1,Type=String,Description="">',
            "#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT s".replace(" ", "\t"),
        ]
        for j, genotype in enumerate(genotypes):
            words = f"1 {10_000 + step * j} rs{j} A C . . . GT {genotype}"
            lines.append("\t".join(words.split()))
        path = tmp_path / "one.vcf"
        path.write_text("\n".join(lines) + "\n")
        return mean_leakage(path, published=published, panel=panel).cautions

    assert cautions(1_000_000) == ()
    (caution,) = cautions(300)
    assert "99.8% of the sites are within 5,000 bases" in caution


@pytest.fixture(scope="module")
def drawn():
    """Genotypes of 400 people at 500 independent sites, of the alternate allele."""
    rng = np.random.default_rng(8)
    return rng.binomial(2, rng.uniform(0.05, 0.95, 500), (400, 500))


@pytest.mark.parametrize(
    ("targets", "kind", "says"),
    [
        (1, "other", "1 - frequency is more likely by e^"),
        (30, "other", "1 - frequency is more likely by e^"),
        (30, "rarer", "not of the rarer allele (MAF)"),
    ],
)
def test_frequencies_of_alleles_that_targets_do_not_count_are_refused(
    drawn, tmp_path, targets, kind, says
):
    table = write_raw(tmp_path / "t.raw", drawn[:targets])
    copies, alleles = drawn[:300].sum(axis=0), np.full(500, 600)
    right = write_afreq(tmp_path / "r.afreq", copies, alleles)
    assert not mean_leakage(table, published=right).cautions
    others = 600 - copies if kind == "other" else np.minimum(copies, 600 - copies)
    wrong = write_afreq(tmp_path / "w.afreq", others, alleles)
    with pytest.raises(ValueError, match=r"^published must be frequencies of the allele") as caught:
        mean_leakage(table, published=wrong)
    assert says in str(caught.value)


@pytest.mark.parametrize("targets", [1, 5])
def test_frequencies_of_the_rarer_alleles_are_noticed_beside_few_targets(drawn, tmp_path, targets):
    table = write_raw(tmp_path / "t.raw", drawn[-targets:])
    copies, alleles = drawn[:300].sum(axis=0), np.full(500, 600)
    rarer = write_afreq(tmp_path / "m.afreq", np.minimum(copies, 600 - copies), alleles)
    (caution,) = mean_leakage(table, published=rarer).cautions
    assert caution.startswith("No frequency of these 500 sites exceeds 1/2, and the targets have ")
    assert "(MAF)" in caution
    # Targets that count the rarer alleles too are right.
    swap = copies > 300
    same = np.where(swap, 2 - drawn, drawn)
    alike = write_raw(tmp_path / "s.raw", same[-targets:])
    assert not mean_leakage(alike, published=rarer).cautions


@pytest.mark.parametrize("targets", [1, 60])
def test_a_panel_that_includes_the_people_of_the_release_is_cautioned(drawn, tmp_path, targets):
    table = write_raw(tmp_path / "t.raw", drawn[:targets])
    sizes = {"release": slice(320), "others": slice(320, 400), "all": slice(400)}
    of = {
        name: write_afreq(
            tmp_path / f"{name}.afreq",
            drawn[rows].sum(axis=0),
            np.full(500, 2 * len(drawn[rows])),
        )
        for name, rows in sizes.items()
    }
    others = mean_leakage(table, published=of["release"], panel=of["others"])
    assert not others.cautions
    both = mean_leakage(table, published=of["release"], panel=of["all"])
    (caution,) = both.cautions
    assert caution.startswith("The panel seems to include people of the release")
    assert both.log_likelihood_ratios.mean() < others.log_likelihood_ratios.mean()
    assert "not stated" in str(both)


def test_linked_sites_without_a_panel_are_cautioned(tmp_path):
    """Twenty sites of each of 30 blocks are the same: their frequencies state 30 numbers."""
    rng = np.random.default_rng(9)
    blocks = rng.binomial(2, rng.uniform(0.1, 0.9, 30), (260, 30))
    for counts, says in (
        (np.repeat(blocks, 20, axis=1), "The sites are not independent"),
        (blocks, ""),
    ):
        table = write_raw(tmp_path / "t.raw", counts[200:])
        copies, alleles = counts[:200].sum(axis=0), np.full(counts.shape[1], 400)
        of = write_afreq(tmp_path / "r.afreq", copies, alleles)
        cautions = mean_leakage(table, published=of).cautions
        assert len(cautions) == bool(says)
        assert all(caution.startswith(says) for caution in cautions)


@pytest.mark.parametrize("kind", ["other sites", "another population", "the same"])
def test_targets_are_compared_with_frequencies_without_a_panel(tmp_path, kind):
    rng = np.random.default_rng(9)
    p = rng.uniform(0.1, 0.5, 60)
    cohort, targets = rng.binomial(2, p, (2, 100, 60))
    if kind == "another population":
        targets = rng.binomial(2, np.clip(p + rng.choice([-0.15, 0.15], 60), 0.01, 0.9), (100, 60))
    copies = np.roll(cohort.sum(axis=0), 7 if kind == "other sites" else 0)
    published = write_afreq(tmp_path / "r.afreq", copies, np.full(60, 200))
    report = mean_leakage(write_raw(tmp_path / "t.raw", targets), published=published)
    said = [each for each in report.cautions if "another population than the release" in each]
    assert len(said) == (kind != "the same") == len(report.cautions)
