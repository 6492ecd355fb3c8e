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

/* Copies a column in, and repeats its first element up to a whole number of eight lanes.  The next
 * chunk is on its way from memory while this one is worked on; past the end that does nothing. */
INLINE void fill(double *column, const double *source, size_t count) {
    for (size_t line = 0; line < CHUNK; line += 8)
        PREFETCH((const char *)source + (CHUNK + line) * sizeof *source);
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

/* How many elements have each number. */
INLINE void tally(size_t count, const int64_t *kind, size_t members[MAX_METHODS]) {
    double ones[MIAL_LANES], twos[MIAL_LANES], threes[MIAL_LANES];
    vd one = all(0.0), two = one, three = one;
    size_t i = 0;
    for (; i + MIAL_LANES <= count; i += MIAL_LANES) {
        vi number = load_bits(kind + i);
        one = one + pick(MASK(number == 1), all(1.0), all(0.0));
        two = two + pick(MASK(number == 2), all(1.0), all(0.0));
        three = three + pick(MASK(number == 3), all(1.0), all(0.0));
    }
    store(ones, one);
    store(twos, two);
    store(threes, three);
    for (int j = 0; j < MIAL_LANES; j++) {
        members[1] += (size_t)ones[j];
        members[2] += (size_t)twos[j];
        members[3] += (size_t)threes[j];
    }
    for (; i < count; i++)
        members[kind[i]]++;
}

/*
 * Runs on each element the method whose number, 1 to 3, `kind` holds; where that is 0 the output
 * columns are right already.
 */
NOINLINE void run_methods(size_t count, const int64_t *kind, const method *methods,
                          double (*columns)[CHUNK]) {
    size_t members[MAX_METHODS] = {0};
    tally(count, kind, members);
    members[0] = 0;
    /* A total method of the majority runs on all, where they lie, and the others write over it. */
    int most = 0;
    int none_done = members[1] + members[2] + members[3] == count;
    for (int number = 1; none_done && number < MAX_METHODS; number++)
        if (members[number] == count || (methods[number].total && 2 * members[number] > count))
            most = number;
    if (most) {
        methods[most].run(whole_lanes(count), columns);
        if (members[most] == count)
            return;
    }
    /* Without branches: a place is written always, and kept if the element is one of the rest. */
    uint8_t rest[CHUNK], place[CHUNK];
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        rest[left] = (uint8_t)i;
        left += kind[i] != most;
    }
    for (int number = 1; number < MAX_METHODS; number++) {
        if (!members[number] || number == most)
            continue;
        size_t size = 0;
        for (size_t i = 0; i < left; i++) {
            place[size] = rest[i];
            size += kind[rest[i]] == number;
        }
        run_some(size, place, &methods[number], columns);
    }
}

#endif
