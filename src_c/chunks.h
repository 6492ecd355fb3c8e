/*
 * Evaluation of elements in chunks, where the elements of a chunk are grouped by method.
 *
 * A family whose method depends on the element has one `lane_function` per method.  The function
 * runs on dense columns of the elements of its method only: no lane computes a discarded result.
 */
#ifndef MIAL_CHUNKS_H
#define MIAL_CHUNKS_H

#include "mialeak.h"
#include "simd.h"

enum {
    CHUNK = MIAL_CHUNK, /* elements; eight columns fit the first-level cache */
    MAX_COLUMNS = 8,
    MAX_METHODS = 4,
};

/* Reads the first columns and writes the last; `count` is a multiple of MIAL_LANES. */
typedef void lane_function(size_t count, double *const *columns);

/* A method, what it reads (the first `inputs` columns) and writes (the next `outputs`).  A method that
 * is `safe_everywhere` may be run on every element: it reads no table beyond its end.  Results for
 * elements of other methods are garbage and are overwritten. */
typedef struct {
    lane_function *run;
    int inputs, outputs, safe_everywhere;
} method;

INLINE size_t whole_lanes(size_t count) {
    return (count + MIAL_LANES - 1) / MIAL_LANES * MIAL_LANES;
}

/* Prefetches the element one chunk and `ahead` elements further on; beyond the end of an array a
 * prefetch has no effect. */
INLINE void prefetch(const double *source, size_t ahead) {
    PREFETCH((const char *)source + (CHUNK + ahead) * sizeof *source);
}

/* Copies a column in, and repeats its first element up to a whole number of eight lanes. */
INLINE void fill(double *column, const double *source, size_t count) {
    for (size_t line = 0; line < CHUNK; line += 8)
        prefetch(source, line);
    memcpy(column, source, count * sizeof *column);
    for (size_t i = count; i < (count + 7) / 8 * 8; i++)
        column[i] = column[0];
}

/* A subset of the elements of a chunk: bit i % 64 of word i / 64. */
typedef struct {
    uint64_t word[CHUNK / 64];
} members;

/* The lanes of the vector from element `place` on are members where the mask is set.  Vectors are
 * passed in order, without gaps. */
INLINE void enlist(members *set, size_t place, vi mask) {
#if defined(MIAL_PACKS)
    ((uint8_t *)set->word)[place / 8] = (uint8_t)lane_bits(mask);
#else
    uint64_t bits = (uint64_t)lane_bits(mask) << place % 64;
    set->word[place / 64] = place % 64 ? set->word[place / 64] | bits : bits;
#endif
}

/* Removes the padding beyond `count`, and returns the number of members. */
INLINE size_t count_members(members *set, size_t count) {
    size_t total = 0;
    if (count % 64)
        set->word[count / 64] &= ((uint64_t)1 << count % 64) - 1;
    for (size_t j = 0; j * 64 < count; j++)
        total += (size_t)count_bits(set->word[j]);
    return total;
}

/* A list of members and their indices. */
typedef struct {
    const members *set;
    size_t count, size; /* of the chunk, of the members */
    uint8_t place[CHUNK];
} choice;

#if defined(MIAL_PACKS)

INLINE void list_members(choice *of) { (void)of; }

/* Copies the members of a column into a dense one, and back. */
INLINE void pack_column(const choice *of, const double *column, double *dense) {
    const uint8_t *bits = (const uint8_t *)of->set->word;
    for (size_t i = 0; i < of->count; i += MIAL_LANES, bits++) {
        store(dense, pack(load(column + i), *bits));
        dense += count_bits(*bits);
    }
}
INLINE void unpack_column(const choice *of, const double *dense, double *column) {
    const uint8_t *bits = (const uint8_t *)of->set->word;
    for (size_t i = 0; i < of->count; i += MIAL_LANES, bits++) {
        store(column + i, unpack(load(dense), load(column + i), *bits));
        dense += count_bits(*bits);
    }
}

#else

INLINE void list_members(choice *of) {
    uint8_t *next = of->place;
    for (size_t j = 0; j * 64 < of->count; j++)
        for (uint64_t word = of->set->word[j]; word; word &= word - 1)
            *next++ = (uint8_t)(64 * j + (size_t)lowest_bit(word));
}

INLINE void pack_column(const choice *of, const double *column, double *dense) {
    for (size_t i = 0; i < of->size; i++)
        dense[i] = column[of->place[i]];
}
INLINE void unpack_column(const choice *of, const double *dense, double *column) {
    for (size_t i = 0; i < of->size; i++)
        column[of->place[i]] = dense[i];
}

#endif

/* Runs a method on its members: packs the inputs into dense columns, and unpacks the outputs. */
NOINLINE void run_some(choice *of, const method *with, double *const *columns) {
    double work[MAX_COLUMNS][CHUNK + MIAL_LANES], *dense[MAX_COLUMNS];
    list_members(of);
    for (int j = 0; j < with->inputs + with->outputs; j++)
        dense[j] = work[j];
    for (int j = 0; j < with->inputs; j++) {
        pack_column(of, columns[j], dense[j]);
        store(dense[j] + of->size, all(dense[j][0])); /* padding */
    }
    with->run(whole_lanes(of->size), dense);
    for (int j = with->inputs; j < with->inputs + with->outputs; j++)
        unpack_column(of, dense[j], columns[j]);
}

/* Whether a method that is safe everywhere, with `size` of `count` members, runs on all elements in
 * place, which saves packing; the other methods then overwrite the results for their elements. */
INLINE int majority(size_t size, size_t count) { return 4 * size > 3 * count; }

/* Runs each method on its members; the output columns of elements of no method hold their results
 * already.  Columns have room for a whole number of eight lanes. */
NOINLINE void run_methods(size_t count, members *of, const method *methods,
                          double *const *columns) {
    size_t size[MAX_METHODS], total = 0;
    for (int number = 0; number < MAX_METHODS; number++) {
        int is_left = methods[number].run && total < count;
        total += size[number] = is_left ? count_members(&of[number], count) : 0;
    }
    for (int number = 0; total == count && number < MAX_METHODS; number++)
        if (size[number] == count || (methods[number].safe_everywhere && majority(size[number], count))) {
            methods[number].run(whole_lanes(count), columns);
            size[number] = 0;
        }
    for (int number = 0; number < MAX_METHODS; number++)
        if (size[number]) {
            choice some = {.set = &of[number], .count = count, .size = size[number]};
            run_some(&some, &methods[number], columns);
        }
}

#endif
