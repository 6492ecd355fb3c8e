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

/* Copies a column in, and repeats its first element up to a whole number of eight lanes. */
INLINE void fill(double *column, const double *source, size_t count) {
    memcpy(column, source, count * sizeof *column);
    for (size_t i = count; i < (count + 7) / 8 * 8; i++)
        column[i] = column[0];
}

/* Runs a method on the elements at `place`: gathers them into dense columns, and scatters. */
NOINLINE void run_some(size_t members, const uint8_t *place, const method *chosen,
                       double (*columns)[CHUNK]) {
    double work[MAX_COLUMNS][CHUNK];
    size_t padded = whole_lanes(members);
    for (int j = 0; j < chosen->inputs; j++) {
        for (size_t i = 0; i < members; i++)
            work[j][i] = columns[j][place[i]];
        for (size_t i = members; i < padded; i++)
            work[j][i] = work[j][0];
    }
    chosen->run(padded, work);
    for (int j = chosen->inputs; j < chosen->inputs + chosen->outputs; j++)
        for (size_t i = 0; i < members; i++)
            columns[j][place[i]] = work[j][i];
}

/*
 * Runs on each element the method whose number, 1 to 3, `kind` holds; where that is 0 the output
 * columns are right already.  `mixed` is 0 if the caller knows that all kinds are the same.
 */
NOINLINE void run_methods(size_t count, const int64_t *kind, int mixed, const method *methods,
                          double (*columns)[CHUNK]) {
    if (!mixed) {
        if (kind[0])
            methods[kind[0]].run(whole_lanes(count), columns);
        return;
    }
    uint8_t place[MAX_METHODS][CHUNK];
    size_t ones = 0, twos = 0, threes = 0;
    /* Without branches: each list is written always and grows when the element is its own. */
    for (size_t i = 0; i < count; i++) {
        int64_t number = kind[i];
        place[1][ones] = place[2][twos] = place[3][threes] = (uint8_t)i;
        ones += number == 1;
        twos += number == 2;
        threes += number == 3;
    }
    const size_t size[MAX_METHODS] = {0, ones, twos, threes};
    /* A total method of the majority runs on all, where they lie, and the others write over it. */
    int main_number = 0;
    if (ones + twos + threes == count)
        for (int number = 1; number < MAX_METHODS; number++)
            if (methods[number].total && 2 * size[number] > count)
                main_number = number;
    if (main_number)
        methods[main_number].run(whole_lanes(count), columns);
    for (int number = 1; number < MAX_METHODS; number++)
        if (size[number] && number != main_number)
            run_some(size[number], place[number], &methods[number], columns);
}

#endif
