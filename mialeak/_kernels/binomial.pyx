"""Binomial deviations as NumPy ufuncs, and sums of leakages over atoms."""

cimport numpy as cnp
from libc.string cimport memcpy

from mialeak._kernels.table cimport TABLE, mial_elementwise

cnp.import_array()
cnp.import_umath()

cdef extern from "<fenv.h>" nogil:
    ctypedef struct fenv_t:
        pass
    int FE_INVALID
    int feholdexcept(fenv_t *)
    int fesetenv(const fenv_t *)
    int feraiseexcept(int)

# ---- elementwise functions as ufuncs ----

cdef cnp.int64_t LARGEST = <cnp.int64_t>1 << 53

DEF MAX_INPUTS = 3
DEF BUFFER = 512

ctypedef struct elementwise:
    mial_elementwise *kernel
    int inputs
    bint whole            # some input is an integer
    char types[MAX_INPUTS + 1]


cdef inline double whole_number(const char *source, bint unsigned_) noexcept nogil:
    """A 64-bit integer as a double; one beyond 2**53 stays beyond it, so that kernels refuse it."""
    cdef cnp.int64_t value
    memcpy(&value, source, 8)
    if value > LARGEST or (unsigned_ and value < 0):
        return <double>(LARGEST + 2)
    return <double>value


cdef void gather(double *buffer, const char *source, cnp.npy_intp step, size_t count,
                 char type) noexcept nogil:
    cdef size_t i
    for i in range(count):
        if type == cnp.NPY_DOUBLE:
            memcpy(&buffer[i], source + <cnp.npy_intp>i * step, 8)
        else:
            buffer[i] = whole_number(source + <cnp.npy_intp>i * step, type == cnp.NPY_UINT64)


cdef void loop(char **args, const cnp.npy_intp *dimensions, const cnp.npy_intp *steps,
               void *data) noexcept nogil:
    """NumPy's inner loop: strided or integer inputs pass through buffers, the rest as they are."""
    cdef const elementwise *function = <const elementwise *>data
    cdef int nin = function.inputs, j
    cdef size_t count = <size_t>dimensions[0], start = 0, size, i, invalid = 0
    cdef double buffers[MAX_INPUTS + 1][BUFFER]
    cdef const double *inputs[MAX_INPUTS]
    cdef double *out
    cdef fenv_t environment
    cdef bint direct = steps[nin] == 8 and not function.whole
    for j in range(nin):
        direct = direct and steps[j] == 8
    # The kernels set flags in lanes they throw away: none of those may reach the caller.
    feholdexcept(&environment)
    if direct:
        for j in range(nin):
            inputs[j] = <const double *>args[j]
        invalid = function.kernel(count, inputs, <double *>args[nin])
        start = count
    while start < count:
        size = min(count - start, <size_t>BUFFER)
        for j in range(nin):
            gather(buffers[j], args[j] + <cnp.npy_intp>start * steps[j], steps[j], size,
                   function.types[j])
            inputs[j] = buffers[j]
        out = buffers[MAX_INPUTS]
        invalid += function.kernel(size, inputs, out)
        for i in range(size):
            memcpy(args[nin] + <cnp.npy_intp>(start + i) * steps[nin], &out[i], 8)
        start += size
    fesetenv(&environment)
    if invalid:
        feraiseexcept(FE_INVALID)


# A ufunc has a loop for each way in which its counts can be exact integers (l signed, L unsigned),
# and one for doubles (d); NumPy takes the first that the arguments fit without loss.
cdef tuple ONE_COUNT = ("{}ld", "{}Ld", "{}dd")
cdef tuple TWO_COUNTS = tuple(f"{k}{n}d" for k in "lLd" for n in "lLd")
cdef dict CODES = {"l": cnp.NPY_INT64, "L": cnp.NPY_UINT64, "d": cnp.NPY_DOUBLE}

# NumPy keeps pointers to all of this for as long as a ufunc lives, which is as long as the process.
DEF MOST_LOOPS = 32
cdef elementwise FUNCTIONS[MOST_LOOPS]
cdef void *DATA[MOST_LOOPS]
cdef cnp.PyUFuncGenericFunction LOOPS[MOST_LOOPS]
cdef char TYPES[MOST_LOOPS * (MAX_INPUTS + 1)]
cdef int made = 0
cdef list texts = []


cdef object new_ufunc(mial_elementwise *kernel, signatures, str name, str doc):
    """`signatures`: the types of the inputs, one string a loop."""
    global made
    cdef int first = made, j, inputs = len(signatures[0])
    cdef char *types = &TYPES[first * (MAX_INPUTS + 1)]
    cdef char *next_type = types
    cdef bytes name_text = name.encode(), doc_text = doc.encode()
    texts.extend((name_text, doc_text))
    for signature in signatures:
        FUNCTIONS[made].kernel = kernel
        FUNCTIONS[made].inputs = inputs
        FUNCTIONS[made].whole = signature != "d" * inputs
        for j in range(inputs):
            FUNCTIONS[made].types[j] = next_type[j] = CODES[signature[j]]
        next_type[inputs] = cnp.NPY_DOUBLE
        next_type += inputs + 1
        DATA[made] = &FUNCTIONS[made]
        LOOPS[made] = <cnp.PyUFuncGenericFunction>loop
        made += 1
    return cnp.PyUFunc_FromFuncAndData(&LOOPS[first], &DATA[first], types, made - first, inputs, 1,
                                       cnp.PyUFunc_None, <const char *>name_text,
                                       <const char *>doc_text, 0)


cdef dict ufuncs = {}


def binomial_ufuncs(dict docs):
    """The ufuncs by name, with the docstrings that mialeak.special has for them; made once."""
    if ufuncs:
        return ufuncs
    n_p = [signature.format("") for signature in ONE_COUNT]
    c_n_p = [signature.format("d") for signature in ONE_COUNT]
    for name, doc in docs.items():
        if name == "binom_mad":
            ufuncs[name] = new_ufunc(TABLE.binom_mad, n_p, name, doc)
        elif name == "binom_excess":
            ufuncs[name] = new_ufunc(TABLE.binom_excess, c_n_p, name, doc)
        elif name == "binom_shortfall":
            ufuncs[name] = new_ufunc(TABLE.binom_shortfall, c_n_p, name, doc)
        elif name == "binom_sf":
            ufuncs[name] = new_ufunc(TABLE.binom_sf, c_n_p, name, doc)
        elif name == "binom_logpmf":
            ufuncs[name] = new_ufunc(TABLE.binom_logpmf, TWO_COUNTS, name, doc)
    return ufuncs


# ---- sums over atoms ----

def leakage_sum(const double[::1] p, double n, double gamma, double total):
    """Leakage and mass of the atoms p/total: (bad_index or -1, leak_hi, leak_lo, mass_hi, mass_lo).
    """
    cdef double sums[4]
    cdef size_t bad = 0
    cdef int status
    with nogil:
        status = TABLE.leakage_sum(<size_t>p.shape[0], &p[0], n, gamma, total, sums, &bad)
    if status:
        return <Py_ssize_t>bad, 0.0, 0.0, 0.0, 0.0
    return -1, sums[0], sums[1], sums[2], sums[3]


def leakage_atoms(const double[::1] p, double n, double gamma, double total, double[::1] out):
    """Leakage of a target equal to each atom of p/total, into `out`; bad_index or -1."""
    cdef size_t bad = 0
    cdef int status
    with nogil:
        status = TABLE.leakage_atoms(<size_t>p.shape[0], &p[0], n, gamma, total, &out[0], &bad)
    return <Py_ssize_t>bad if status else -1
