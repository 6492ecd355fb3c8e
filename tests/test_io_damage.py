"""Damaged files of every kind: what they held or a clear error, and no other."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from mialeak import StreamingCovariance
from mialeak._columns import factor_from_values
from mialeak._files.states import write_state
from mialeak._files.tables import read_blocks, read_table

ROWS = np.arange(60.0).reshape(20, 3) % 7
LEARNT = StreamingCovariance().fit(ROWS)


def bytes_of(write) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


WHOLE = {
    ".csv": 'a,b\r\n1,x\n2,"y\nz"\n,"q""q"\nä,日本\n'.encode(),
    ".tsv": b"a\tb\n1\tx\n2\ty\n",
    ".npy": bytes_of(lambda file: np.save(file, ROWS)),
    ".npz": bytes_of(lambda file: np.savez_compressed(file, a=ROWS[:, 0], b=ROWS[:, 1])),
    ".parquet": bytes_of(
        lambda file: pq.write_table(
            pa.table({"a": ROWS[:, 0], "b": ["x", "y"] * 10, "c": ROWS[:, 2]}),
            file,
            write_page_checksum=True,
        )
    ),
}
MAGIC = {".npy": b"\x93NUMPY", ".npz": b"PK\x03\x04", ".parquet": b"PAR1"}

damaged = settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])


def content(suffix: str) -> st.SearchStrategy[bytes]:
    """Any bytes, with the first ones right or not, and the valid file changed in places, or cut."""
    whole = WHOLE[suffix]
    places = st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255)), max_size=4)

    def change(at: list[tuple[int, int]]) -> bytes:
        changed = bytearray(whole)
        for place, byte in at:
            changed[place] = byte
        return bytes(changed)

    some = places.map(change)
    cut = st.builds(lambda text, size: text[:size], some, st.integers(0, len(whole)))
    more = st.builds(lambda text, rest: text + rest, some, st.binary(max_size=20))
    raw = st.binary(max_size=200)
    return st.one_of(raw, raw.map(lambda rest: MAGIC.get(suffix, b"a,b\n") + rest), some, cut, more)


def read_all(path):
    """Every value of a table, as the callers take it."""
    table = read_table(path)
    if isinstance(table, pa.Table):
        return table.to_pydict()
    return {
        name: [factor.value(int(code)) for code in factor.codes]
        for name, factor in ((name, factor_from_values(table[name], name)) for name in table)
    }


def read_rows(path):
    """Every block of a file of numbers."""
    return [np.array(block) for _, block in read_blocks(path, 1000)]


READERS = [(suffix, read_all) for suffix in WHOLE]
READERS += [(suffix, read_rows) for suffix in (".npy", ".npz", ".parquet")]


@pytest.mark.parametrize(("suffix", "read"), READERS)
def test_whatever_is_in_a_file_it_is_read_or_refused_by_name(tmp_path, suffix, read):
    path = tmp_path / f"file{suffix}"

    @damaged
    @given(content(suffix))
    def check(text):
        path.write_bytes(text)
        with contextlib.suppress(ValueError):  # and nothing else
            read(path)

    check()


@pytest.mark.parametrize(("suffix", "read"), READERS)
def test_a_cut_file_is_refused_unless_it_is_text(tmp_path, suffix, read):
    """A CSV has no end that could be missed; a field that is lacking is."""
    path = tmp_path / f"file{suffix}"
    whole = WHOLE[suffix]
    for size in {*range(0, len(whole), 1 + len(whole) // 60), len(whole) - 1}:
        path.write_bytes(whole[:size])
        if suffix not in (".csv", ".tsv"):
            with pytest.raises(ValueError, match="file"):
                read(path)


@pytest.mark.parametrize(
    ("suffix", "read"), [(s, r) for s, r in READERS if s in (".npz", ".parquet")]
)
def test_a_changed_bit_is_seen_by_the_checksums_or_changes_nothing(tmp_path, suffix, read):
    """The footer of a Parquet file, which says what its columns are, has no checksum."""
    path = tmp_path / f"file{suffix}"
    whole = WHOLE[suffix]
    footer = 8 + int.from_bytes(whole[-8:-4], "little") if suffix == ".parquet" else 0
    path.write_bytes(whole)
    expected = repr(read(path))

    @damaged
    @given(st.integers(0, len(whole) - footer - 1), st.integers(0, 7))
    def check(place, bit):
        changed = bytearray(whole)
        changed[place] ^= 1 << bit
        path.write_bytes(changed)
        try:
            found = read(path)
        except ValueError:
            return
        assert repr(found) == expected

    check()


def test_rows_that_a_damaged_page_header_takes_away_are_missed(tmp_path):
    """Pyarrow reads on without a word."""
    path = tmp_path / "file.parquet"
    changed = bytearray(WHOLE[".parquet"])
    changed[5] ^= 2
    path.write_bytes(changed)
    with pytest.raises(ValueError, match="damaged Parquet file"):
        read_rows(path)


# --- saved objects -----------------------------------------------------------------------------


def test_a_changed_bit_of_a_saved_object_is_seen_or_changes_nothing(tmp_path):
    path = tmp_path / "learnt"
    LEARNT.save(path)
    whole, expected = path.read_bytes(), LEARNT.mahalanobis(ROWS)

    @damaged
    @given(st.integers(0, len(whole) - 1), st.integers(0, 7))
    def check(place, bit):
        changed = bytearray(whole)
        changed[place] ^= 1 << bit
        path.write_bytes(changed)
        try:
            found = StreamingCovariance.load(path)
        except ValueError:
            return
        assert found.get_params() == LEARNT.get_params()
        assert np.array_equal(found.mahalanobis(ROWS), expected)

    check()


def test_a_cut_saved_object_is_refused(tmp_path):
    path = tmp_path / "learnt"
    LEARNT.save(path)
    whole = path.read_bytes()
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match="learnt"):
            StreamingCovariance.load(path)


small = st.none() | st.booleans() | st.integers(-3, 30) | st.floats() | st.text(max_size=3)
anything = small | st.lists(small, max_size=4) | st.dictionaries(st.text(max_size=9), small)
names = st.sampled_from(["structure", "shrinkage", "ridge", "blocks", "rank", "ddof", "other"])
structures = st.sampled_from(["full", "diagonal", "block", "low-rank", "none"])


@damaged
@given(
    st.dictionaries(names, anything) | anything,
    structures | anything,
    st.fixed_dictionaries({}, optional={"columns": anything, "tails": anything,
                                        "names": anything, "dropped": anything}),
    st.dictionaries(st.sampled_from(["n", "centre", "low", "products"]), anything),
)  # fmt: skip
@example({"blocks": None}, "full", {"columns": 3, "tails": False, "names": None, "dropped": 0},
         {"n": 5})  # fmt: skip
def test_a_foreign_state_is_refused_by_name(tmp_path, parameters, structure, header, arrays):
    path = tmp_path / "foreign"
    if isinstance(parameters, dict):
        parameters = {**parameters, "structure": structure}
    kept = {}
    for name, value in arrays.items():
        array = np.asarray(value)
        kept[name] = array if array.dtype != object else np.zeros(3)
    write_state(path, "StreamingCovariance", 1, {**header, "parameters": parameters}, kept)
    with pytest.raises(ValueError, match="foreign"):
        StreamingCovariance.load(path)


def test_a_header_that_is_no_header_is_refused(tmp_path):
    path = tmp_path / "foreign"
    for text in ("[]", "3", "{}", '{"mialeak": 1}', "[" * 100_000, '"', ""):
        with path.open("wb") as file:
            np.savez(file, header=np.frombuffer(text.encode(), np.uint8))
        with pytest.raises(ValueError, match="foreign"):
            StreamingCovariance.load(path)
