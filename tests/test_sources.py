"""Tables that are counted where they are: lazy frames, relations, streams, folders, large files."""

from __future__ import annotations

import datetime
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from mialeak import table_leakage
from mialeak._files import arrow, delimited, tables
from mialeak.cli import main
from mialeak.tables import _sources

ROWS = 3000
COLUMNS = ["age", "sex", "income"]


def made(seed: int = 5) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    days = np.array(["2001-02-03", "1999-01-01", "2010-12-31"], "datetime64[D]")
    return pl.DataFrame(
        {
            "age": rng.integers(0, 30, ROWS),
            "sex": rng.choice(["f", "m"], ROWS),
            "income": rng.choice([0.0, -0.0, np.nan, 1.5, 2.5], ROWS),
            "born": rng.choice(days, ROWS),
            "year": rng.choice(["2020", "2021"], ROWS),
        }
    )


FRAME = made()


def duckdb_relation(frame):
    return pytest.importorskip("duckdb").connect().from_arrow(frame.to_arrow())


def dask_frame(frame):
    dask = pytest.importorskip("dask.dataframe")
    return dask.from_pandas(frame.to_pandas(), npartitions=3)


def ibis_table(frame):
    ibis = pytest.importorskip("ibis")
    pytest.importorskip("duckdb")
    return ibis.memtable(frame.to_arrow())


def spark_frame(frame):
    sql = pytest.importorskip("pyspark.sql")
    session = sql.SparkSession.builder.master("local[1]").getOrCreate()
    return session.createDataFrame(frame.rows(), frame.columns)


ENGINES = {
    "polars": pl.DataFrame.lazy,
    "duckdb": duckdb_relation,
    "ibis": ibis_table,
    "dask": dask_frame,
    "pyspark": spark_frame,
    "blocks": lambda frame: pa.dataset.dataset(frame.to_arrow()),
}
#: PySpark is in no extra of the tests; where it is installed it warns of other packages.
spark = pytest.param("pyspark", marks=pytest.mark.filterwarnings("ignore"))
every_engine = pytest.mark.parametrize(
    "engine", [spark if name == "pyspark" else name for name in ENGINES]
)


def answer(report):
    """All of the report that does not depend on how its cells are numbered."""
    content = report.to_dict(top=None, show_rows=True)
    engine = content.pop("counted_by")
    rows = sorted((each["count"], repr(each["values"])) for each in content.pop("riskiest"))
    return engine, content, sorted(set(rows))


@every_engine
@pytest.mark.parametrize("na", ["category", "drop"])
def test_every_engine_gives_the_same_bits(engine, na):
    frame = ENGINES[engine](FRAME)
    eager = [answer(table_leakage(each, COLUMNS, na=na)) for each in (FRAME, FRAME.to_arrow())]
    by_engine, *lazy = answer(table_leakage(frame, COLUMNS, na=na))
    assert by_engine == engine
    assert eager[0] == eager[1] == (None, *lazy)
    assert lazy[0]["caveats"]  # on the column of years, of which only the values came


def test_pandas_gives_the_same_bits():
    frame = FRAME.select("age", "sex")
    assert answer(table_leakage(frame.to_pandas())) == answer(table_leakage(frame))
    assert answer(table_leakage(frame.to_dict(as_series=False))) == answer(table_leakage(frame))


@every_engine
def test_the_rows_at_risk_are_fetched_by_a_filter(engine):
    report = table_leakage(ENGINES[engine](FRAME), COLUMNS, na="category")
    cells = report.riskiest(3)
    rows = report.fetch(3)
    if isinstance(rows, dict):
        rows = pa.table(rows)
    elif hasattr(rows, "to_arrow_table"):
        rows = rows.to_arrow_table()
    elif hasattr(rows, "toArrow"):
        rows = rows.toArrow()
    elif hasattr(rows, "to_pyarrow"):
        rows = rows.to_pyarrow()
    else:
        rows = getattr(rows, "collect", getattr(rows, "compute", None))()
    rows = pl.DataFrame(rows)
    assert rows.height == sum(cell.count for cell in cells)
    assert rows.columns == FRAME.columns
    assert {cell.values["age"] for cell in cells} == set(rows["age"])


def test_what_cannot_be_fetched_says_so():
    with pytest.raises(ValueError, match="fetch is not available for a table in memory"):
        table_leakage(FRAME, ["age"]).fetch()
    stream = table_leakage(FRAME.to_arrow().to_reader(), ["age"])
    with pytest.raises(ValueError, match="an Arrow stream is read once"):
        stream.fetch()


def test_an_arrow_stream_is_counted_by_blocks_and_once(monkeypatch):
    monkeypatch.setattr(_sources, "_KEPT", 100)
    reader = FRAME.to_arrow().to_reader(max_chunksize=97)
    report = table_leakage(reader, ["age", "sex", "born"])
    whole = table_leakage(FRAME, ["age", "sex", "born"])
    assert answer(report)[2] == answer(whole)[2]
    assert report.estimate == whole.estimate
    assert np.array_equal(report.cell_counts, whole.cell_counts)  # numbered as the rows come
    with pytest.raises(ValueError, match=r"at least one row\. An Arrow stream is read once"):
        table_leakage(reader, ["age"])


def test_missing_values_are_merged_with_their_markers():
    frame = pl.DataFrame({"a": ["x", "?", None, "y", "?", "x"], "b": [1, 1, 1, 2, 2, 1]})
    options = {"missing": ["?"], "na": "category"}
    lazy, eager = (table_leakage(each, **options) for each in (frame.lazy(), frame))
    assert answer(lazy)[1:] == answer(eager)[1:]
    assert lazy.fetch(10).collect().sort("a", "b").equals(frame.sort("a", "b"))
    with pytest.raises(ValueError, match="no missing values; there are 3 in column 'a'"):
        table_leakage(frame.lazy(), missing="?")


@every_engine
def test_a_table_of_counts_may_be_in_an_engine(engine):
    counts = pl.DataFrame({"sex": ["f", "m", "f"], "age": [1, 1, 2], "n": [301, 60, 7]})
    report = table_leakage(ENGINES[engine](counts), counts="n")
    assert answer(report) == answer(table_leakage(counts, counts="n"))
    with pytest.raises(ValueError, match="looks like a table of counts: column 'n'"):
        table_leakage(ENGINES[engine](counts))


@pytest.mark.parametrize("counts", [[5, -1, 3], [5.0, 0.5, 3.0], [5, None, 3]])
def test_bad_counts_in_an_engine_are_refused(counts):
    frame = pl.LazyFrame({"sex": ["f", "m", "x"], "n": counts})
    with pytest.raises(ValueError, match="column 'n' must hold counts"):
        table_leakage(frame, counts="n")


def test_a_register_may_be_in_an_engine():
    register = pl.concat([FRAME.select("age", "sex")] * 3)
    sample = FRAME.select("age", "sex").head(500)
    exact = table_leakage(sample, population=register).population.leakage
    for population in (register.lazy(), register.to_arrow().to_reader()):
        report = table_leakage(sample.lazy(), population=population)
        assert report.population.leakage == exact
    counted = register.group_by("age", "sex").len("n")
    report = table_leakage(sample, population=counted.lazy(), counts="n")
    assert report.population.leakage == exact


def test_cautions_are_those_of_the_rows():
    frame = pl.DataFrame(
        {
            "id": [f"p{k}" for k in range(60)] * 2,
            "code": [1, 2, 3, -9] * 30,
            "word": ["Yes", "yes", "no"] * 40,
        }
    )
    for each in (frame, frame.with_columns(name=pl.Series(range(120)).cast(str) + "x")):
        lazy, eager = table_leakage(each.lazy()), table_leakage(each)
        assert len(lazy.cautions) == len(eager.cautions) >= 3
        places = [k for k, text in enumerate(eager.cautions) if "capitals" not in text]
        assert [lazy.cautions[k] for k in places] == [eager.cautions[k] for k in places]


def test_persons_of_a_table_elsewhere_are_looked_for(tmp_path, small):
    visits = pl.DataFrame({"patient_id": [k // 2 for k in range(400)], "ward": [1, 2, 3, 4] * 100})
    visits.write_csv(tmp_path / "visits.csv")
    eager = table_leakage(visits, ["ward"]).cautions
    assert "pass person='patient_id'" in eager[0]
    for table in (visits.lazy(), tmp_path / "visits.csv"):
        report = table_leakage(table, ["ward"])
        assert report.source is not None
        assert report.cautions == eager
    once = visits.with_columns(patient_id=pl.Series(range(400)))
    assert not table_leakage(once.lazy(), ["ward"]).cautions


def test_unequal_weights_of_a_table_elsewhere_are_named():
    frame = pl.DataFrame({"age": [*range(20)] * 5, "wgt_pers": [1.5, 7.5] * 50})
    cautions = table_leakage(frame.lazy(), ["age"]).cautions
    assert "survey weight, from 1.5 to 7.5" in " ".join(cautions)


def test_a_column_of_persons_in_an_engine_is_looked_up_without_a_warning():
    lazy = pl.LazyFrame({"person": [1, 1, 2, 3], "ward": [1, 2, 2, 1]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert table_leakage(lazy, person="person").persons.persons == 3


def test_counts_in_an_engine_are_no_register_of_persons():
    counted = pl.DataFrame({"age": [20, 30, 40], "n": [900, 800, 4]})
    for population in (counted, counted.lazy()):
        with pytest.raises(ValueError, match="population must have one row a person; it looks"):
            table_leakage({"age": [20, 30]}, population=population)


def test_an_engine_without_its_extra_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(ImportError, match=r"LazyFrame, which takes narwhals.*\[dataframe\]"):
        table_leakage(FRAME.lazy(), ["age"])


def test_columns_that_are_no_single_values_are_refused():
    frame = pl.LazyFrame({"a": [[1], [2]], "b": [1, 2]})
    with pytest.raises(TypeError, match="column 'a' must hold single values, not"):
        table_leakage(frame)
    with pytest.raises(ValueError, match="columns must be columns of the table; got"):
        table_leakage(frame, ["c"])
    with pytest.raises(ValueError, match="at least one row"):
        table_leakage(pl.LazyFrame({"a": []}))


# --- files --------------------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch):
    """Every file is large."""
    for name in ("_LARGE", "_LARGE_CSV", "_LARGE_PACKED"):
        monkeypatch.setattr(tables, name, 10)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "parquet.gz", "arrow", "feather"])
def test_a_large_file_is_counted_by_blocks(tmp_path, small, monkeypatch, suffix):
    import gzip

    monkeypatch.setattr(delimited, "_BLOCK", 100)
    monkeypatch.setattr(arrow, "_ROWS", 100)
    monkeypatch.setattr(_sources, "_KEPT", 50)
    frame = FRAME.select("age", "sex", "born")
    path = tmp_path / f"t.{suffix}"
    plain = tmp_path / f"t.{suffix.removesuffix('.gz')}"
    kind = suffix.split(".")[0]
    if kind == "csv":
        frame.write_csv(plain)
    elif kind == "parquet":
        frame.write_parquet(plain)
    else:
        frame.write_ipc(plain)
    if suffix.endswith(".gz"):
        path.write_bytes(gzip.compress(plain.read_bytes()))
    report = table_leakage(str(path))
    whole = table_leakage(frame)
    assert report.source.engine == "blocks"
    assert report.estimate == whole.estimate
    assert np.array_equal(report.cell_counts, whole.cell_counts)
    same = {"born": report.cell_values(0)["born"], "sex": report.cell_values(0)["sex"]}
    assert same == {name: whole.cell_values(0)[name] for name in same}
    rows = report.fetch(1)
    assert len(rows["age"]) == report.riskiest(1)[0].count
    assert table_leakage(path, ["age"], exclude=["sex"]).n_cells == frame["age"].n_unique()


def test_a_folder_of_parquet_is_one_table(tmp_path):
    frame = FRAME.select("age", "sex")
    for k, part in enumerate(frame.iter_slices(1000)):
        part.write_parquet(tmp_path / f"part{k}.parquet")
    (tmp_path / "_SUCCESS").touch()
    report = table_leakage(tmp_path)
    assert np.array_equal(report.cell_counts, table_leakage(frame).cell_counts)
    assert tables.read_table(tmp_path).num_rows == ROWS
    with pytest.raises(ValueError, match="a folder, which must be of Parquet files, not of csv"):
        tables.read_table(tmp_path, format="csv")
    other = tmp_path / "part9.parquet"
    frame.with_columns(pl.col("age").cast(str)).write_parquet(other)
    with pytest.raises(ValueError, match=r"part9\.parquet must have the same columns: see column"):
        table_leakage(tmp_path)
    other.write_bytes(other.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"part9\.parquet is a damaged Parquet file"):
        table_leakage(tmp_path)
    other.unlink()
    (tmp_path / "more").mkdir()
    with pytest.raises(ValueError, match=r"it holds more. For a folder of folders"):
        table_leakage(tmp_path)


def test_damage_in_a_large_file_is_refused(tmp_path, small):
    path = tmp_path / "t.parquet"
    pq.write_table(FRAME.to_arrow(), path, write_page_checksum=True, compression="none")
    content = bytearray(path.read_bytes())
    content[2000] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"t\.parquet is a damaged Parquet file"):
        table_leakage(path, na="category")


def test_the_shell_counts_a_large_file_by_blocks(tmp_path, small, capsys):
    path = tmp_path / "t.csv"
    path.write_text("sex, age\n" + "f, ?\nm,2\n" * 100)
    assert main(["table", str(path), "--missing", "?", "--na", "drop", "--show-rows"]) == 0
    text = capsys.readouterr().out
    assert "counted by blocks: the cells came, not the rows" in text
    assert "spaces around the values of age removed" in text
    assert "100 more rows dropped" in text
    assert main(["table", str(path), "--exclude", "age", "--json"]) == 0
    assert '"counted_by": "blocks"' in capsys.readouterr().out
    path.write_text("sex,age,n\nf,1,5\nm,1,7\n")
    assert main(["table", str(path), "--counts", "n"]) == 0
    assert "already counted" in capsys.readouterr().out
    path.write_text("sex,age\nf,1\nm\n")
    assert main(["table", str(path)]) == 1
    assert "line 3 has 1 field where the header has 2" in capsys.readouterr().err


def test_margins_of_a_counted_table_are_those_of_its_rows():
    options = {"margins": ["age", "sex"]}
    frame = FRAME.select("age", "sex")
    lazy, eager = table_leakage(frame.lazy(), **options), table_leakage(frame, **options)
    assert lazy.margins.average.value == pytest.approx(eager.margins.average.value, rel=1e-12)


def test_dates_are_shown_as_dates():
    frame = pl.LazyFrame({"born": [datetime.date(2001, 2, 3)] * 3 + [datetime.date(2002, 2, 3)]})
    assert table_leakage(frame).riskiest(1)[0].values == {"born": "2002-02-03"}


def test_pandas_frames_are_counted_in_memory():
    assert table_leakage(pd.DataFrame({"a": [1, 1, 2]})).source is None


def test_blocks_of_a_file_are_not_kept(tmp_path):
    """Pyarrow can keep all that it has read of a file until the file is closed."""
    from mialeak._files.arrow import arrow_batches
    from mialeak._files.opening import table_file

    path = tmp_path / "t.parquet"
    numbers = np.random.default_rng(2).integers(0, 2**60, 2**21)
    options = {"compression": "none", "use_dictionary": False, "row_group_size": 2**15}
    pq.write_table(pa.table({"a": numbers}), path, **options)
    before, most, rows = pa.total_allocated_bytes(), 0, 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mialeak._files.arrow._ROWS", 2**15)
        for block in arrow_batches([table_file(path)], ["a"]):
            rows += block.num_rows
            most = max(most, pa.total_allocated_bytes() - before)
    assert rows == numbers.size
    assert most < numbers.nbytes / 4


def test_short_memory_is_no_damage(tmp_path, small, monkeypatch):
    def read(*arguments, **options):
        raise pa.ArrowMemoryError("malloc of size 32 failed")

    path = tmp_path / "t.parquet"
    FRAME.write_parquet(path)
    table = tables.read_table(path, whole=False)
    monkeypatch.setattr("mialeak._files.arrow._parquet", read)
    with pytest.raises(MemoryError, match="malloc"):
        next(table.blocks(["age"]))
