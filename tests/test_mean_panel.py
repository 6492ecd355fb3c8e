"""A panel of people or frequencies beside a table: its moments, and the sites of both."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

from mialeak import mean_leakage, mean_tradeoff
from mialeak._files.tables import read_table
from mialeak.cli import main
from mialeak.datasets import load_genotypes

SNPS = 30
DATA = load_genotypes()
#: Of one population, so that its genotypes are a sample of one law.
EUROPEANS = np.flatnonzero(DATA.columns["superpopulation"] == "EUR")
IN, OUT = EUROPEANS[::4], np.setdiff1d(EUROPEANS, EUROPEANS[::4])
NAMES = DATA.columns["sample"]
COUNTS = DATA.counts[:, :SNPS].astype(int)
ALLELES = list(zip(DATA.alternate_alleles, DATA.reference_alleles, strict=True))[:SNPS]


def write_raw(path, people, *, swap=(), heterozygous=False, separator=" ", other=False):
    """The people as PLINK's --export A writes them; `swap` names sites by place."""
    columns, cells = [], []
    for k, (alt, ref) in enumerate(ALLELES):
        counted, second = (ref, alt) if k in swap else (alt, ref)
        counts = 2 - COUNTS[people, k] if k in swap else COUNTS[people, k]
        columns.append(f"{DATA.snps[k]}_{counted}" + (f"(/{second})" if other else ""))
        cells.append(counts)
        if heterozygous:
            columns.append(f"{DATA.snps[k]}_HET")
            cells.append((counts == 1).astype(int))
    lines = [["FID", "IID", "PAT", "MAT", "SEX", "PHENOTYPE", *columns]]
    for place, row in zip(people, np.transpose(cells), strict=True):
        lines.append([NAMES[place], NAMES[place], "0", "0", "0", "-9", *map(str, row)])
    path.write_text("".join(separator.join(line) + "\n" for line in lines))
    return path


def write_afreq(path, people, *, swap=(), leave_out=(), extra=()):
    """The frequencies as PLINK 2 writes them; `extra` are lines."""
    lines = ["#CHROM\tID\tREF\tALT\tPROVISIONAL_REF?\tALT_FREQS\tOBS_CT"]
    for k, (alt, ref) in enumerate(ALLELES):
        if k in leave_out:
            continue
        p = COUNTS[people, k].mean() / 2
        ref, alt, p = (alt, ref, 1 - p) if k in swap else (ref, alt, p)
        chromosome, snp = DATA.chromosomes[k], DATA.snps[k]
        lines.append(f"{chromosome}\t{snp}\t{ref}\t{alt}\tY\t{p:.12g}\t{2 * len(people)}")
    path.write_text("\n".join([*lines, *extra]) + "\n")
    return path


def truth(mean, cov, n, rows):
    """The advantages of the definition, row by row."""
    out = COUNTS[IN] - mean
    m = np.sum(out @ np.linalg.inv(np.atleast_2d(cov)) * out, axis=1) / n / (1 + n / rows)
    return 2 * stats.norm.cdf(np.sqrt(m) / 2) - 1


@pytest.fixture
def table(tmp_path):
    return write_raw(tmp_path / "table.raw", IN)


def test_a_raw_file_is_the_table_of_its_counts(tmp_path):
    plain = read_table(write_raw(tmp_path / "a.raw", IN))
    assert plain["sample"].tolist() == NAMES[IN].tolist()
    np.testing.assert_array_equal(np.transpose(list(plain.values())[1:]), COUNTS[IN])
    forms = ({"heterozygous": True}, {"separator": "\t"}, {"other": True})
    for k, options in enumerate(forms):
        other = read_table(write_raw(tmp_path / f"{k}.raw", IN, **options))
        np.testing.assert_array_equal(np.transpose(list(other.values())[1:]), COUNTS[IN])
        assert any("30; counts determine them" in note for note in other.notes) == (k == 0)
    assert any("states no chromosomes" in note for note in plain.notes)
    report = mean_leakage(tmp_path / "a.raw")
    truth = mean_leakage(dict(zip(DATA.snps[:SNPS], COUNTS[IN].T, strict=True)))
    assert report.leakage.tolist() == truth.leakage.tolist()


def test_missing_and_constant_sites_of_a_raw_file_are_reported(tmp_path):
    lines = ["FID IID PAT MAT SEX PHENOTYPE a_1_A b_G c_T"]
    lines += [f"f{k} p 0 0 0 -9 {row}" for k, row in enumerate(("0 1 2", "NA 1 0", "2 1 NA"))]
    (tmp_path / "m.raw").write_text("\n".join(lines) + "\n")
    table = read_table(tmp_path / "m.raw")
    assert table["sample"].tolist() == ["f0:p", "f1:p", "f2:p"]
    np.testing.assert_array_equal(table["a_1_A"], [0, np.nan, 2])
    np.testing.assert_array_equal(table["c_T"], [2, 0, np.nan])
    assert "Missing genotypes: 2 in 2 of 3 sites, of 3 people each" in table.notes[0]
    assert table.notes[1] == "Monomorphic sites: 1, which leak nothing beside the others."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("IID a_A\n1 0\n", "line 1 does not begin with FID IID PAT MAT SEX PHENOTYPE"),
        ("{} a_A\nf p 0 0 0 1\n", "line 2 has no genotypes"),
        ("{} a_A b_C\nf p 0 0 0 1 2\n", "line 2 has 1 genotypes; line 1 names 2 columns"),
        ("{} a_A\nf p 0 0 0 1 0.97\n", "line 2 has '0.97' in 'a_A'. Dosages are no genotypes"),
        ("{} a_A\nf p 0 0 0 1 3\n", "line 2 has '3' in 'a_A'"),
        ("{} a\nf p 0 0 0 1 2\n", "column 'a' is not of the form SITE_ALLELE"),
        ("{} a_A b_HET\nf p 0 0 0 1 2 0\n", "column 'b_HET' is not of the form SITE_ALLELE"),
        ("{} a_A a_HET\nf p 0 0 0 1 2 1\n", "line 2 has a 'a_HET' that is not its count's"),
        ("{} a_A\n", "it has no person"),
        ("{} a_A a_A\nf p 0 0 0 1 2 2\n", "must hold each site once; it holds 'a_A' twice"),
        ("{} a_A\nf p 0 0 0 1 2\nf p 0 0 0 1 0\n", "each person once; it names 'f:p' twice"),
    ],
)
def test_bad_raw_files_are_refused_with_the_place_named(tmp_path, text, message):
    (tmp_path / "t.raw").write_text(text.format("FID IID PAT MAT SEX PHENOTYPE"))
    with pytest.raises(ValueError, match=re.escape(message)):
        read_table(tmp_path / "t.raw")


@pytest.mark.parametrize("structure", ["diagonal", "full"])
def test_people_of_a_panel_give_the_mean_and_the_covariance(tmp_path, table, structure):
    panel = write_raw(tmp_path / "panel.raw", OUT)
    report = mean_leakage(table, panel=panel, structure=structure)
    others = COUNTS[OUT]
    cov = np.cov(others.T)
    cov = np.diag(np.diag(cov)) if structure == "diagonal" else cov
    expected = truth(others.mean(axis=0), cov, IN.size, OUT.size)
    np.testing.assert_allclose(report.leakage, expected, rtol=1e-9)
    assert (report.panel, report.has_reference, report.cautions) == (OUT.size, True, ())
    noisy = truth(
        others.mean(axis=0),
        cov + IN.size * 0.04 / (1 + IN.size / OUT.size) * np.diag(np.diag(cov)),
        IN.size,
        OUT.size,
    )
    np.testing.assert_allclose(report.leakage_with(0.2), noisy, rtol=1e-9)


def test_frequencies_of_a_panel_are_one_without_correlations(tmp_path, table):
    panel = write_afreq(tmp_path / "panel.afreq", OUT)
    p = COUNTS[OUT].mean(axis=0) / 2
    expected = truth(2 * p, np.diag(2 * p * (1 - p)), IN.size, OUT.size)
    report = mean_leakage(table, panel=panel)
    np.testing.assert_allclose(report.leakage, expected, rtol=1e-9)
    curve = mean_tradeoff(COUNTS[IN[0]], 2 * p, 2 * p * (1 - p), IN.size, n_reference=OUT.size)
    assert report.leakage[0] == pytest.approx(curve.advantage, rel=1e-9)
    assert any("Hardy-Weinberg" in warning for warning in report.warnings)
    with pytest.raises(ValueError, match="frequencies have no correlations"):
        mean_leakage(table, panel=panel, structure="shrunk")
    with pytest.raises(ValueError, match=r"it holds frequencies of sites\. Pass it beside"):
        mean_leakage(panel)
    with pytest.raises(ValueError, match="for a table that states no alleles"):
        mean_leakage(dict(zip(DATA.snps[:SNPS], COUNTS[IN].T, strict=True)), panel=panel)


def test_sites_that_the_panel_cannot_judge_are_refused_or_omitted_by_name(tmp_path):
    table = write_raw(tmp_path / "table.raw", IN, other=True)
    both = [k for k, alleles in enumerate(ALLELES) if set(alleles) in ({"A", "T"}, {"C", "G"})]
    swap = [3, 5, *both[:1]]
    x = f"X\t{DATA.snps[7]}\tA\tG\tY\t0.3\t100"
    panel = write_afreq(tmp_path / "p.afreq", OUT, swap=swap, leave_out=(7, 8), extra=[x])
    names = [f"{DATA.snps[k]}_{ALLELES[k][0]}(/{ALLELES[k][1]})" for k in range(SNPS)]
    with pytest.raises(ValueError, match="2 absent in the panel") as refused:
        mean_leakage(table, panel=panel)
    for words in (names[7], names[8], "2 with swapped alleles", names[3], "unmatched='omit'"):
        assert words in str(refused.value)
    report = mean_leakage(table, panel=panel, unmatched="omit")
    left = [k for k in range(SNPS) if k not in (7, 8, *both[:1])]
    assert report.columns == tuple(names[k] for k in left)
    p = COUNTS[OUT][:, left].mean(axis=0) / 2
    out = COUNTS[IN][:, left] - 2 * p
    m = np.sum(out**2 / (2 * p * (1 - p)), axis=1) / IN.size / (1 + IN.size / OUT.size)
    np.testing.assert_allclose(report.scores, m, rtol=1e-9)
    notes = " ".join(report.warnings)
    assert f"{len(left)} used, {SNPS - len(left)} left out (2 absent in the panel" in notes
    assert "Swapped alleles: 2 sites" in notes
    assert not both or "whose strand is unknown" in notes


def test_a_site_without_variation_or_with_other_alleles_is_named(tmp_path, table):
    text = write_afreq(tmp_path / "p.afreq", OUT).read_text().splitlines()
    first, second = text[1].split("\t"), text[2].split("\t")
    first[5] = "0"
    second[2:4] = ["AC", "ACC"]
    (tmp_path / "p.afreq").write_text("\n".join([text[0], "\t".join(first), "\t".join(second)]))
    with pytest.raises(ValueError, match="28 absent in the panel") as refused:
        mean_leakage(table, panel=tmp_path / "p.afreq")
    assert "1 with other alleles in the panel" in str(refused.value)
    assert "1 without variation in the panel" in str(refused.value)
    with pytest.raises(ValueError, match="have a column of the table that varies"):
        mean_leakage(table, panel=tmp_path / "p.afreq", unmatched="omit")


def test_people_of_both_files_and_another_population_are_noticed(tmp_path, table):
    both = write_raw(tmp_path / "both.raw", np.append(OUT, IN[:2]))
    with pytest.raises(ValueError, match="other people than the table; it shares 2"):
        mean_leakage(table, panel=both)
    africans = np.flatnonzero(DATA.columns["superpopulation"] == "AFR")
    far = write_raw(tmp_path / "far.raw", africans)
    report = mean_leakage(table, panel=far, unmatched="omit")
    assert any("of another population than the table" in each for each in report.cautions)


def test_a_panel_in_another_unit_is_noticed_in_few_columns():
    rng = np.random.default_rng(2)
    age = rng.integers(18, 90, 900)
    measures = {"age": age, "sbp": (100 + age / 3 + rng.normal(0.0, 12.0, 900)).round()}
    cohort, panel = (
        {k: each[p] for k, each in measures.items()} for p in (slice(90), slice(90, 500))
    )
    assert not mean_leakage(cohort, panel=panel).cautions
    (caution,) = mean_leakage(cohort, panel=panel | {"sbp": panel["sbp"] / 7.5}).cautions
    assert "or a column in another unit" in caution
    assert f"'sbp' (mean {cohort['sbp'].mean():.4g}; {panel['sbp'].mean() / 7.5:.4g} in" in caution


def test_the_table_itself_as_a_panel_has_a_caution(tmp_path, table):
    """Its frequencies, or its people with other names: both hide what the release gives away."""
    (caution,) = mean_leakage(table, panel=write_afreq(tmp_path / "own.afreq", IN)).cautions
    assert caution.startswith("The panel seems to be the table itself")
    assert not mean_leakage(table, panel=write_afreq(tmp_path / "p.afreq", OUT)).cautions
    rows = {k: COUNTS[IN, k] for k in range(SNPS)}
    for people, copies in ((np.append(OUT, IN[:40]), 40), (OUT, 0)):
        cautions = mean_leakage(rows, panel={k: COUNTS[people, k] for k in rows}).cautions
        assert len(cautions) == (copies > 0)
        if copies:
            assert cautions[0].startswith(f"{copies} of {len(IN)} rows equal a row of the panel")


def test_columns_that_count_the_other_allele_in_a_panel_are_named():
    rows = {f"s{k}": COUNTS[IN, k] for k in range(SNPS)}
    other = {f"s{k}": COUNTS[OUT, k] for k in range(SNPS)}
    far = [name for name in rows if abs(other[name].mean() - 1.0) > 0.5]
    swapped = {name: 2 - v if name in far[:2] else v for name, v in other.items()}
    (caution,) = mean_leakage(rows, panel=swapped).cautions
    assert caution.startswith(f"Columns {far[0]!r}, {far[1]!r} seem to count the other allele")
    with pytest.raises(ValueError, match="panel must count the same alleles as the table"):
        mean_leakage(rows, panel={name: 2 - v for name, v in other.items()})


def test_a_table_of_numbers_has_a_panel_by_the_names_of_its_columns():
    rng = np.random.default_rng(3)
    table, other = rng.normal(size=(2, 50, 2))
    report = mean_leakage(
        {"a": table[:, 0], "b": table[:, 1]}, panel={"b": other[:, 1], "a": other[:, 0]}
    )
    out = table - other.mean(axis=0)
    m = np.sum(out @ np.linalg.inv(np.cov(other.T)) * out, axis=1) / 50 / 2
    np.testing.assert_allclose(report.scores, m, rtol=1e-9)
    with pytest.raises(ValueError, match=r"1 absent in the panel \('b'\)"):
        mean_leakage({"a": table[:, 0], "b": table[:, 1]}, panel={"a": other[:, 0]})
    with pytest.raises(ValueError, match="panel is not available for categories"):
        mean_leakage({"a": list("xyxyx")}, panel={"a": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1\trs\tA\tC\tY\t0.5", "line 2 has 6 fields; the header has 7"),
        ("1\trs\tA\tC\tY\t1.5\t10", "line 2 has the frequency 1.5 of 10 alleles"),
        ("1\trs\tA\tC\tY\tmany\t10", "line 2: could not convert"),
        ("1\trs\tA\tC,G\tY\t0.1,0.2\t10", "1 multi-allelic"),
        ("1\trs\tA\tC\tY\tnan\t0", "1 without an observed genotype"),
        ("1\trs\tA\tC\tY\t.1\t9\n1\trs\tA\tC\tY\t.1\t9", "each site once; it holds 'rs' twice"),
    ],
)
def test_bad_frequencies_are_refused_with_the_place_named(tmp_path, table, line, message):
    header = "#CHROM\tID\tREF\tALT\tPROVISIONAL_REF?\tALT_FREQS\tOBS_CT"
    (tmp_path / "p.afreq").write_text(f"{header}\n{line}\n")
    with pytest.raises(ValueError, match=re.escape(message)):
        mean_leakage(table, panel=tmp_path / "p.afreq")
    (tmp_path / "p.afreq").write_text("CHR SNP A1\n")
    with pytest.raises(ValueError, match="its header lacks #CHROM, ID"):
        mean_leakage(table, panel=tmp_path / "p.afreq")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cohort.afreq", ["it holds frequencies of sites", "or as --published, if these"]),
        ("cohort.frq", ["Convert it first: take the genotypes", ".afreq) are taken as panel"]),
        ("cohort.gcount", ["Convert it first: take the genotypes"]),
        ("cohort.pgen", ["plink2 --pfile NAME --make-bed"]),
        ("cohort.bcf", ["bcftools view FILE -Oz"]),
    ],
)
def test_a_file_of_sites_or_of_another_format_is_refused_with_the_cure(
    tmp_path, capsys, name, words
):
    (tmp_path / name).write_text("#CHROM\tID\tREF\tALT\tALT_FREQS\tOBS_CT\n1\trs\tA\tC\t.1\t9\n")
    assert main(["mean", str(tmp_path / name)]) == 1
    error = " ".join(capsys.readouterr().err.split())
    for each in words:
        assert each in error


def test_the_shell_takes_a_panel_of_people_or_frequencies(tmp_path, table, capsys):
    for panel in (write_afreq(tmp_path / "p.afreq", OUT), write_raw(tmp_path / "p.raw", OUT)):
        assert main(["mean", str(table), "--panel", str(panel), "--json"]) == 0
        content = json.loads(capsys.readouterr().out)
        expected = mean_leakage(table, panel=panel)
        assert content["average"] == pytest.approx(expected.average, rel=1e-12)
        assert content["panel"] == OUT.size
    few = write_afreq(tmp_path / "few.afreq", OUT, leave_out=(4,))
    assert main(["mean", str(table), "--panel", str(few)]) == 1
    assert "--panel must have each column" in capsys.readouterr().err
    assert main(["mean", str(table), "--panel", str(few), "--unmatched", "omit"]) == 0
    assert "29 used, 1 left out" in " ".join(capsys.readouterr().out.split())


def test_each_group_is_judged_within_itself(tmp_path, capsys):
    """By a table of samples as by a column of the table, and as a table for each group."""
    rows = np.flatnonzero(np.isin(DATA.columns["superpopulation"], ["EUR", "EAS"]))[::3]
    raw = write_raw(tmp_path / "t.raw", rows)
    samples = tmp_path / "samples.tsv"
    lines = [f"{NAMES[k]}\t{DATA.columns['superpopulation'][k]}" for k in rows[::-1]]
    samples.write_text("\n".join(["sample\tgroup", *lines]) + "\n")
    command = ["mean", str(raw), "--by", "group", "--samples", str(samples)]
    assert main([*command, "--top", "4", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    highest, worst = [], []
    for group, found in zip(("EAS", "EUR"), content["groups"], strict=True):
        members = rows[DATA.columns["superpopulation"][rows] == group]
        truth = mean_leakage(dict(zip(DATA.snps[:SNPS], COUNTS[members].T, strict=True)))
        assert (found["group"], found["rows"]) == (group, members.size)
        assert found["average"] == pytest.approx(truth.average, rel=1e-12)
        assert found["highest"] == pytest.approx(truth.highest, rel=1e-12)
        highest.append(truth.highest)
        leaks = zip(truth.leakage.tolist(), np.flatnonzero(np.isin(rows, members)), strict=True)
        worst += [(-leakage, int(row)) for leakage, row in leaks]
    assert content["highest"] == pytest.approx(max(highest), rel=1e-12)
    assert [row["row"] for row in content["riskiest"]] == [row for _, row in sorted(worst)[:4]]
    assert main([*command, "--max-leakage", str(min(highest))]) == 2
    assert "EAS" in capsys.readouterr().out
    csv = tmp_path / "t.csv"
    text = [f"{DATA.columns['superpopulation'][k]},{','.join(map(str, COUNTS[k]))}" for k in rows]
    csv.write_text("\n".join([",".join(["group", *DATA.snps[:SNPS]]), *text]) + "\n")
    assert main(["mean", str(csv), "--by", "group", "--json"]) == 0
    same = json.loads(capsys.readouterr().out)["groups"]
    assert [each["average"] for each in same] == [each["average"] for each in content["groups"]]


def test_groups_of_any_table_are_those_of_the_shell(tmp_path):
    """By a column, or by a table of samples in another order, of a dict, a frame and a file."""
    rows = np.flatnonzero(np.isin(DATA.columns["superpopulation"], ["EUR", "EAS"]))[::3]
    groups = DATA.columns["superpopulation"][rows]
    table = {"sample": NAMES[rows].tolist(), "g": groups.tolist()}
    table |= {f"s{k}": COUNTS[rows, k] for k in range(SNPS)}
    samples = {"sample": NAMES[rows[::-1]], "g": groups[::-1]}
    without = {name: values for name, values in table.items() if name != "g"}
    raw = write_raw(tmp_path / "t.raw", rows)
    cases = [(table, None), (pd.DataFrame(table), None), (pa.table(table), None)]
    cases += [(without, samples), (pd.DataFrame(without), pa.table(samples)), (raw, samples)]
    for each, beside in cases:
        report = mean_leakage(each, by="g", samples=beside)
        assert list(report.reports) == ["EAS", "EUR"]
        for group, part in report.reports.items():
            members = COUNTS[rows[groups == group]]
            truth = mean_leakage(dict(enumerate(members.T)))
            np.testing.assert_array_equal(part.scores, truth.scores)
        assert report.highest == max(part.highest for part in report.reports.values())
        assert len(report.to_frame()) == 2
    assert "for each of 2 groups of g leaks" in " ".join(str(report).split())


def test_a_group_that_is_named_as_a_missing_value_is_named():
    """PLINK's -9 for no phenotype; the groups 1 and 2 alone have no caution."""
    status = np.array([1, 2, -9])[np.arange(60) % 3]
    table = {f"s{k}": COUNTS[IN[:60], k] for k in range(SNPS)}
    report = mean_leakage(table | {"status": status}, by="status")
    assert report.cautions[0].startswith("-9 is taken for the name of a group of status, of 20 ro")
    assert str(report).startswith("Caution: -9 is taken")
    known = mean_leakage(table | {"status": abs(status)}, by="status")
    assert not any("taken for the name" in caution for caution in known.cautions)


def test_alleles_in_small_letters_are_the_same(tmp_path):
    """A reference has its repeats in small letters."""
    table = write_raw(tmp_path / "table.raw", IN, other=True)
    panel = write_afreq(tmp_path / "p.afreq", OUT)
    truth = mean_leakage(table, panel=panel)
    head, *lines = panel.read_text().splitlines()
    small = [line.split("\t") for line in lines]
    small = ["\t".join([*x[:2], x[2].lower(), x[3].lower(), *x[4:]]) for x in small]
    panel.write_text("\n".join([head, *small]) + "\n")
    np.testing.assert_array_equal(mean_leakage(table, panel=panel).scores, truth.scores)
    swapped = write_afreq(tmp_path / "s.afreq", OUT, swap=[3])
    swapped.write_text(
        "\n".join(
            x.lower() if k == 4 else x for k, x in enumerate(swapped.read_text().splitlines())
        )
        + "\n"
    )
    with pytest.raises(ValueError, match="1 with swapped alleles"):
        mean_leakage(table, panel=swapped)


def test_chromosomes_by_refseq_names_are_the_same(tmp_path):
    panel = write_afreq(tmp_path / "p.afreq", OUT)
    plain = [line.split("\t") for line in panel.read_text().splitlines()]
    plain[0].insert(1, "POS")
    for k, line in enumerate(plain[1:]):
        line[0] = f"NC_{int(line[0]):06d}.11"
        line.insert(1, str(DATA.positions[k]))
        line[2] = "."
    panel.write_text("".join("\t".join(line) + "\n" for line in plain))
    lines = ["##fileformat=VCFv4.2", '##FORMAT=<ID=GT,Number=1,Type=String,Description="x">']
    lines += [f"##contig=<ID={k}>" for k in range(1, 23)]
    fixed = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]
    lines.append("\t".join([*fixed, *NAMES[IN]]))
    for k, (alt, ref) in enumerate(ALLELES):
        calls = np.array(["0/0", "0/1", "1/1"])[COUNTS[IN, k]]
        place = [str(DATA.chromosomes[k]), str(DATA.positions[k]), ".", ref, alt, *"...", "GT"]
        lines.append("\t".join([*place, *calls]))
    (tmp_path / "t.vcf").write_text("\n".join(lines) + "\n")
    with np.errstate():  # its import turns warnings of NumPy off
        pytest.importorskip("cyvcf2")
    report = mean_leakage(tmp_path / "t.vcf", panel=panel)
    truth = mean_leakage(
        write_raw(tmp_path / "t.raw", IN), panel=write_afreq(tmp_path / "q.afreq", OUT)
    )
    np.testing.assert_allclose(report.scores, truth.scores, rtol=1e-12)


def test_columns_left_out_beside_a_panel_are_a_caution_above_a_tenth(tmp_path):
    table = write_raw(tmp_path / "table.raw", IN, other=True)
    for count, is_large in ((3, False), (4, True)):
        panel = write_afreq(tmp_path / "p.afreq", OUT, leave_out=range(count))
        report = mean_leakage(table, panel=panel, unmatched="omit")
        words = f"{SNPS - count} used, {count} left out ({count} absent"
        assert any(words in x for x in report.cautions) == is_large
        assert any(words in x for x in report.warnings) == (not is_large)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--samples", "FEW"], "--samples must come with by"),
        (["--by", "group", "--samples", "FEW"], "must have each person of the table; 1 are absent"),
        (["--by", "group", "--samples", "TWICE"], "must name each person once; 'p0' occurs twice"),
        (["--by", "group", "--samples", "SMALL"], "groups of at least 3 rows; 'b' has 1"),
        (["--by", "group", "--samples", "NONE"], "must give each row a group; row 3 has none"),
        (["--by", "group", "--samples", "SMALL", "--panel", "9"], "--panel is not available with"),
        (["--by", "group"], "'group'"),
    ],
)
def test_groups_without_an_answer_are_refused(tmp_path, capsys, options, message):
    table = ["FID IID PAT MAT SEX PHENOTYPE a_A b_C"]
    table += [f"p{k} p{k} 0 0 0 -9 {k % 3} {k % 2}" for k in range(4)]
    (tmp_path / "t.raw").write_text("\n".join(table) + "\n")
    files = {
        "FEW": "sample,group\np0,a\np1,a\np2,a\n",
        "TWICE": "sample,group\np0,a\np0,a\np1,a\np2,a\np3,a\n",
        "SMALL": "sample,group\np0,a\np1,a\np2,a\np3,b\n",
        "NONE": "sample,group\np0,a\np1,a\np2,a\np3,\n",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.csv").write_text(text)
    words = [str(tmp_path / f"{word}.csv") if word in files else word for word in options]
    assert main(["mean", str(tmp_path / "t.raw"), *words]) == 1
    assert message in capsys.readouterr().err
