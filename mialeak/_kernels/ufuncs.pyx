"""Elementwise kernels as NumPy ufuncs: whatever mialeak.h lists is here by its name."""

from itertools import product

cimport numpy as cnp
from libc.stdlib cimport malloc
from libc.string cimport memcpy, strcpy

from mialeak._kernels.table cimport MIAL_MOST_INPUTS, TABLE, mial_elementwise, mial_function

cnp.import_array()
cnp.import_umath()

cdef extern from "<fenv.h>" nogil:
    ctypedef struct fenv_t:
        pass
    int FE_INVALID
    int feholdexcept(fenv_t *)
    int fesetenv(const fenv_t *)
    int feraiseexcept(int)

cdef cnp.int64_t LARGEST = <cnp.int64_t>1 << 53

cdef enum:
    BUFFER = 512

ctypedef struct elementwise:
    mial_elementwise *kernel
    int inputs
    bint whole            # some input is an integer
    char types[MIAL_MOST_INPUTS + 1]


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
    cdef double buffers[MIAL_MOST_INPUTS + 1][BUFFER]
    cdef const double *inputs[MIAL_MOST_INPUTS]
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
        out = buffers[MIAL_MOST_INPUTS]
        invalid += function.kernel(size, inputs, out)
        for i in range(size):
            memcpy(args[nin] + <cnp.npy_intp>(start + i) * steps[nin], &out[i], 8)
        start += size
    fesetenv(&environment)
    if invalid:
        feraiseexcept(FE_INVALID)


# A ufunc has a loop for each way in which its whole numbers can be exact integers (l signed, L
# unsigned) or doubles (d); NumPy takes the first that the arguments fit without loss.
cdef dict TYPES = {"w": "lLd", "r": "d"}
cdef dict CODES = {"l": cnp.NPY_INT64, "L": cnp.NPY_UINT64, "d": cnp.NPY_DOUBLE}


cdef void *room(size_t size) except NULL:
    """Memory that is never freed: NumPy keeps pointers to it as long as the process lives."""
    cdef void *memory = malloc(size)
    if memory is NULL:
        raise MemoryError
    return memory


cdef object new_ufunc(const mial_function *function, str doc):
    cdef list signatures = list(product(*(TYPES[letter] for letter in function.inputs.decode())))
    cdef int count = len(signatures), inputs = len(signatures[0]), i, j
    if inputs > MIAL_MOST_INPUTS:
        raise ValueError(f"{function.name.decode()} has {inputs} inputs, above MIAL_MOST_INPUTS")
    cdef elementwise *data = <elementwise *>room(count * sizeof(elementwise))
    cdef void **pointers = <void **>room(count * sizeof(void *))
    cdef cnp.PyUFuncGenericFunction *loops = <cnp.PyUFuncGenericFunction *>room(
        count * sizeof(cnp.PyUFuncGenericFunction))
    cdef char *types = <char *>room(count * (inputs + 1))
    cdef bytes doc_text = doc.encode()
    cdef char *text = <char *>room(len(doc_text) + 1)
    strcpy(text, doc_text)
    for i, signature in enumerate(signatures):
        data[i].kernel = function.kernel
        data[i].inputs = inputs
        data[i].whole = any(letter != "d" for letter in signature)
        for j in range(inputs):
            data[i].types[j] = types[i * (inputs + 1) + j] = CODES[signature[j]]
        types[i * (inputs + 1) + inputs] = cnp.NPY_DOUBLE
        pointers[i] = &data[i]
        loops[i] = <cnp.PyUFuncGenericFunction>loop
    return cnp.PyUFunc_FromFuncAndData(loops, pointers, types, count, inputs, 1,
                                       cnp.PyUFunc_None, function.name, text, 0)


cdef dict made = {}


def elementwise_names():
    """The names of all elementwise kernels, in the order of mialeak.h."""
    cdef list names = []
    cdef const mial_function *function = TABLE.elementwise
    while function.name is not NULL:
        names.append(function.name.decode())
        function += 1
    return tuple(names)


def ufunc(str name, str doc):
    """The kernel of this name as a ufunc, with the docstring of whoever asks first."""
    cdef const mial_function *function = TABLE.elementwise
    while name not in made:
        if function.name is NULL:
            raise KeyError(name)
        if function.name.decode() == name:
            made[name] = new_ufunc(function, doc)
        function += 1
    return made[name]
