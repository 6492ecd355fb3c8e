/*
 * Elements come in chunks, and within a chunk are sorted by the method that suits them.
 *
 * A family whose method depends on the element writes one `lane_function` a method.  It runs on
 * dense columns that hold elements of its own kind only, so no lane computes what it throws away.
 */
#ifndef MIAL_CHUNKS_H
#define MIAL_CHUNKS_H

#include "simd.h"

enum {
    CHUNK = 256,      /* elements: eight columns stay in the first-level cache, a place is a byte */
    MAX_COLUMNS = 8,
    MAX_METHODS = 4,  /* number 0 is none */
};

/* Reads the first columns and writes the last; `count` is a multiple of MIAL_LANES. */
typedef void lane_function(size_t count, double (*columns)[CHUNK]);

/* A method, what it reads (the first `inputs` columns) and writes (the next `outputs`).  One that
 * is `total` may run on elements of another kind: it reads no table, so what it makes of them is
 * thrown away and harms nothing. */
typedef struct {
    lane_function *run;
    int inputs, outputs, total;
} method;

INLINE size_t whole_lanes(size_t count) {
    return (count + MIAL_LANES - 1) / MIAL_LANES * MIAL_LANES;
}

/* The next chunk is on its way from memory while this one is worked on; past the end that does
 * nothing. */
INLINE void prefetch_next(const double *source) {
    for (size_t line = 0; line < CHUNK; line += 8)
        PREFETCH((const char *)source + (CHUNK + line) * sizeof *source);
}

/* Copies a column in, and repeats its first element up to a whole number of eight lanes. */
INLINE void fill(double *column, const double *source, size_t count) {
    prefetch_next(source);
    memcpy(column, source, count * sizeof *column);
    for (size_t i = count; i < (count + 7) / 8 * 8; i++)
        column[i] = column[0];
}

/* The elements of a chunk that have one number: bit i % 64 of word i / 64. */
typedef struct {
    uint64_t word[CHUNK / 64];
} members;

/* The elements of each number from 1 on. */
INLINE void sort_members(size_t count, const int64_t *kind, members *of) {
    for (int number = 1; number < MAX_METHODS; number++)
        for (size_t j = 0; j < CHUNK / 64; j++) {
            uint64_t word = 0;
            for (size_t i = 64 * j; i < 64 * (j + 1) && i < count; i += MIAL_LANES)
                word |= (uint64_t)lane_bits(MASK(load_bits(kind + i) == number)) << i % 64;
            if (count < 64 * (j + 1)) /* no padding */
                word &= count > 64 * j ? ((uint64_t)1 << (count - 64 * j)) - 1 : 0;
            of[number].word[j] = word;
        }
}

INLINE size_t count_members(const members *set) {
    size_t total = 0;
    for (size_t j = 0; j < CHUNK / 64; j++)
        total += (size_t)count_bits(set->word[j]);
    return total;
}

/* Writes the places of the members in ascending order. */
INLINE void list_members(const members *set, uint8_t *place) {
    for (size_t j = 0; j < CHUNK / 64; j++)
        for (uint64_t word = set->word[j]; word; word &= word - 1)
            *place++ = (uint8_t)(64 * j + (size_t)lowest_bit(word));
}

/* Do all have one number, padding too? */
INLINE int all_alike(size_t count, const int64_t *kind) {
    vi first = as_bits(all(0.0)) + kind[0], differ = first ^ first;
    for (size_t i = 0; i < count; i += MIAL_LANES)
        differ = differ | (load_bits(kind + i) ^ first);
    return !any(MASK(differ != 0));
}

/* Runs a method on some elements: gathers them into dense columns, and scatters. */
NOINLINE void run_some(size_t size, const members *chosen, const method *with,
                       double (*columns)[CHUNK]) {
    double work[MAX_COLUMNS][CHUNK];
    uint8_t place[CHUNK];
    size_t padded = whole_lanes(size);
    list_members(chosen, place);
    for (int j = 0; j < with->inputs; j++) {
        for (size_t i = 0; i < size; i++)
            work[j][i] = columns[j][place[i]];
        for (size_t i = size; i < padded; i++)
            work[j][i] = work[j][0];
    }
    with->run(padded, work);
    for (int j = with->inputs; j < with->inputs + with->outputs; j++)
        for (size_t i = 0; i < size; i++)
            columns[j][place[i]] = work[j][i];
}

/*
 * Runs on each element the method whose number, 1 to 3, `kind` holds; where that is 0 the output
 * columns are right already.
 */
NOINLINE void run_methods(size_t count, const int64_t *kind, const method *methods,
                          double (*columns)[CHUNK]) {
    if (all_alike(count, kind)) {
        if (kind[0])
            methods[kind[0]].run(whole_lanes(count), columns);
        return;
    }
    members of[MAX_METHODS];
    size_t size[MAX_METHODS], total = 0;
    sort_members(count, kind, of);
    for (int number = 1; number < MAX_METHODS; number++)
        total += size[number] = count_members(&of[number]);
    /* A total method of the majority runs on all, where they lie, and the others write over it. */
    for (int number = 1; total == count && number < MAX_METHODS; number++)
        if (size[number] == count || (methods[number].total && 2 * size[number] > count)) {
            methods[number].run(whole_lanes(count), columns);
            size[number] = 0;
        }
    for (int number = 1; number < MAX_METHODS; number++)
        if (size[number])
            run_some(size[number], &of[number], &methods[number], columns);
}

#endif
