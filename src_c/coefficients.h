/* Written by make_coefficients.py; do not edit. */
#ifndef MIAL_COEFFICIENTS_H
#define MIAL_COEFFICIENTS_H

/* (atanh(s)/s - 1)/z, z = s*s in [0, 1/9]; error 1.2e-18 */
static const double ATANH_TAIL[11] = {
    0x1.5555555555555p-2,
    0x1.9999999999944p-3,
    0x1.2492492499d46p-3,
    0x1.c71c71bedea97p-4,
    0x1.745d19937b1fcp-4,
    0x1.3b13515f6f9efp-4,
    0x1.111abdc8abe16p-4,
    0x1.e0a2d581ab68fp-5,
    0x1.bc37f0140c19ep-5,
    0x1.32e0d25c9c761p-5,
    0x1.401d3e65cdc48p-4,
};

/* (atanh(s)/s - 1 - z/3)/z^2, |s| <= (r - 1)/(r + 1), r = sqrt 2; error 1.4e-16 */
static const double ATANH_NEXT[7] = {
    0x1.999999999999ep-3,
    0x1.249249248e53bp-3,
    0x1.c71c71d7e5cbbp-4,
    0x1.745d09f1d2e07p-4,
    0x1.3b18b888c578fp-4,
    0x1.1018bb6af787ep-4,
    0x1.0877e906b72d3p-4,
};

/* (exp(r) - 1 - r)/r^2, |r| <= log(2)/2; error 1.4e-18 */
static const double EXP_TAIL[11] = {
    0x1.0000000000000p-1,
    0x1.5555555555557p-3,
    0x1.5555555555556p-5,
    0x1.11111111100dfp-7,
    0x1.6c16c16c162d6p-10,
    0x1.a01a01abe62ddp-13,
    0x1.a01a01a6d7808p-16,
    0x1.71de02375656cp-19,
    0x1.27e4db67b4303p-22,
    0x1.af4ddd84882fep-26,
    0x1.1f72fc730b4ffp-29,
};

/* the same for -0.071 <= r <= 0; error 3.0e-18 */
static const double EXP_TAIL_NEAR[7] = {
    0x1.0000000000000p-1,
    0x1.55555555554c1p-3,
    0x1.5555555534a7ep-5,
    0x1.111110e5e2f22p-7,
    0x1.6c168b0ce3166p-10,
    0x1.9ff6d2fca3c86p-13,
    0x1.94c8b6ecc090cp-16,
};

/* (G(u)/u^2 - 1/2)/u, G(u) = -log(1-u) - u, |u| <= 1/15; error 9.1e-15 */
static const double DEVIANCE_TAIL[9] = {
    0x1.5555555555555p-2,
    0x1.fffffffff5dbcp-3,
    0x1.99999999903cdp-3,
    0x1.555555cc25a3bp-3,
    0x1.2492499241772p-3,
    0x1.fffd10b6829cap-4,
    0x1.c719bc39585c7p-4,
    0x1.9d086e63958c2p-4,
    0x1.77885f126efa7p-4,
};

/* the same for 0 <= u <= 1/17; error 5.2e-16 */
static const double DEVIANCE_TAIL_ABOVE[8] = {
    0x1.555555555554cp-2,
    0x1.0000000004be2p-2,
    0x1.9999998c66ab0p-3,
    0x1.55555c50e650dp-3,
    0x1.24907a0c756ecp-3,
    0x1.0040da3f2509ap-3,
    0x1.bd22e28473848p-4,
    0x1.fda9a71705642p-4,
};

/* the same for -1/15 <= u <= 0; error 8.5e-16 */
static const double DEVIANCE_TAIL_BELOW[8] = {
    0x1.5555555555546p-2,
    0x1.fffffffff1985p-3,
    0x1.99999987d4f54p-3,
    0x1.55554cf7137edp-3,
    0x1.2490581a0f816p-3,
    0x1.ff8219b060754p-4,
    0x1.be3059a579209p-4,
    0x1.433a5af12b6e6p-4,
};

/* x e(x), e the Stirling remainder, in 1/x^2, x >= 15; error 6.3e-18 */
static const double STIRLING[5] = {
    0x1.5555555555555p-4,
    -0x1.6c16c16bef173p-9,
    0x1.a019fd42ce472p-11,
    -0x1.3808ba4090cfdp-11,
    0x1.ae6975c70b8fap-11,
};

/* e(0), unused, and e(1) to e(16) */
static const double STIRLING_SMALL[17] = {
    0x0.0p+0,
    0x1.4c071bcda0a5bp-4,
    0x1.52a9b923ea649p-5,
    0x1.c579a268d80b3p-6,
    0x1.54a2662fd78a9p-6,
    0x1.10b4e513fcbedp-6,
    0x1.c6b167bebdf36p-7,
    0x1.85d4d612e4a86p-7,
    0x1.552805e7b3076p-7,
    0x1.2f4871b12ab64p-7,
    0x1.10f9d4c0743a7p-7,
    0x1.f0593088014f8p-8,
    0x1.c7018733aa9c6p-8,
    0x1.a40514700f36cp-8,
    0x1.86076c002d4a7p-8,
    0x1.6c08f6f194a10p-8,
    0x1.5549f7dd113bcp-8,
};

/* (exp(-y) - 1 + y)/y^2, y in [0, 1.4]; error 1.0e-18 */
static const double MISSING_TAIL[13] = {
    0x1.0000000000000p-1,
    -0x1.555555555554cp-3,
    0x1.5555555554fb6p-5,
    -0x1.11111110faecbp-7,
    0x1.6c16c1666b38bp-10,
    -0x1.a01a00c296497p-13,
    0x1.a019ebe344f53p-16,
    -0x1.71dccb7cc84f3p-19,
    0x1.27d45df1220c2p-22,
    -0x1.ad5a2cb9b695bp-26,
    0x1.193e5bffe2e74p-29,
    -0x1.382583644d90ap-33,
    0x1.bbbe7b3d8e76dp-38,
};

#define MISSING_END 1.4
/* (sin(r)/r - 1)/z, z = r*r, |r| <= pi/4; error 1.2e-20 */
static const double SINE_TAIL[7] = {
    -0x1.5555555555555p-3,
    0x1.1111111111110p-7,
    -0x1.a01a01a019937p-13,
    0x1.71de3a54607a5p-19,
    -0x1.ae64541295cdfp-26,
    0x1.61217ee5cca1bp-33,
    -0x1.ab17bdcbd3414p-41,
};

/* (cos(r) - 1 + z/2)/z^2, likewise; error 6.4e-22 */
static const double COSINE_TAIL[7] = {
    0x1.5555555555555p-5,
    -0x1.6c16c16c16c16p-10,
    0x1.a01a01a019d0ap-16,
    -0x1.27e4fb7712ca2p-22,
    0x1.1eed8deb82809p-29,
    -0x1.9394b9eb4d56dp-37,
    0x1.ab78473be59d7p-45,
};

enum { LEGENDRE_NODES = 32 };

/* Gauss-Legendre nodes in (0, 1) */
static const double LEGENDRE_NODE[32] = {
    0x1.66a18fbf64a0fp-10,
    0x1.d77b63ad0c91bp-8,
    0x1.20aae7fac455ap-6,
    0x1.0a9fed30405eep-5,
    0x1.a8ab25d459a36p-5,
    0x1.347ec0a5e57b4p-4,
    0x1.a4e5adf8ed0ebp-4,
    0x1.123ed9c52d88dp-3,
    0x1.590aec76f00edp-3,
    0x1.a62dd72d3a6b8p-3,
    0x1.f8ef3af329ac5p-3,
    0x1.2844a541c8387p-2,
    0x1.5615518d42105p-2,
    0x1.857c20798fdadp-2,
    0x1.b607c563a0372p-2,
    0x1.e74437b7733b6p-2,
    0x1.0c5de42446625p-1,
    0x1.24fc1d4e2fe47p-1,
    0x1.3d41efc338129p-1,
    0x1.54f557395ef7dp-1,
    0x1.6bddad5f1be3cp-1,
    0x1.81c431433594fp-1,
    0x1.96748a34b1652p-1,
    0x1.a9bd44e243fc5p-1,
    0x1.bb70498eb49ddp-1,
    0x1.cb634a40e25e3p-1,
    0x1.d97027eb43509p-1,
    0x1.e5754da2ba65dp-1,
    0x1.ef56012cfbfa1p-1,
    0x1.f6faa8c029dd5p-1,
    0x1.fc510938a5e6ep-1,
    0x1.ff4caf38204dbp-1,
};

/* and their weights, summing to 1 */
static const double LEGENDRE_WEIGHT[32] = {
    0x1.cbf8bc743cc5cp-9,
    0x1.0aa3c248696c9p-7,
    0x1.a0060a8531ffap-7,
    0x1.18c5800a355d9p-6,
    0x1.5ee963a335495p-6,
    0x1.a1c6ae961fbfap-6,
    0x1.e0bd76c924981p-6,
    0x1.0d9b9a62cac10p-5,
    0x1.2854103b35e0cp-5,
    0x1.40483e126fd14p-5,
    0x1.553ee25ebebc6p-5,
    0x1.6705e18e13ed1p-5,
    0x1.7572bdb3f6e51p-5,
    0x1.8062fc0f6fef9p-5,
    0x1.87bc776f8c6d7p-5,
    0x1.8b6d9eaec77adp-5,
    0x1.8b6d9eaec77adp-5,
    0x1.87bc776f8c6d7p-5,
    0x1.8062fc0f6fef9p-5,
    0x1.7572bdb3f6e51p-5,
    0x1.6705e18e13ed1p-5,
    0x1.553ee25ebebc6p-5,
    0x1.40483e126fd14p-5,
    0x1.2854103b35e0cp-5,
    0x1.0d9b9a62cac10p-5,
    0x1.e0bd76c924981p-6,
    0x1.a1c6ae961fbfap-6,
    0x1.5ee963a335495p-6,
    0x1.18c5800a355d9p-6,
    0x1.a0060a8531ffap-7,
    0x1.0aa3c248696c9p-7,
    0x1.cbf8bc743cc5cp-9,
};

/* of convergents 10 to 22 of a mean excess (fraction.h) */
static const double FRACTION_WEIGHT[13] = {
    0x1.e4ea1383750b8p-13,
    0x1.0437952673480p-8,
    0x1.e95c7bd2cd3adp-6,
    0x1.0b9bc63040ddap-3,
    0x1.7c74a769e45bap-2,
    0x1.73704ed3b42b5p-1,
    0x1.0000000000000p+0,
    0x1.f71c3a38c5759p-1,
    0x1.5e742b8f2cda1p-1,
    0x1.521c132dacd71p-2,
    0x1.ad8194e07be12p-4,
    0x1.42f3278d2f761p-6,
    0x1.b3508a34fb5b7p-10,
};

#define SQRT_2_PI_INVERSE 0x1.9884533d43651p-2
#define TWO_PI 0x1.921fb54442d18p+2
#define LOG2 0x1.62e42fefa39efp-1
#define LOG2_LOW 0x1.abc9e3b39803fp-56
#define TWO_OVER_PI 0x1.45f306dc9c883p-1
#define TWO_OVER_PI_LOW -0x1.6b01ec5417056p-55
#define THIRD 0x1.5555555555555p-2
#define THIRD_LOW 0x1.5555555555555p-56
#define LOG2_SHORT 0x1.62e42fefa3000p-1
#define LOG2_REST 0x1.3de6af278ece6p-42
#define LOG2_INVERSE 0x1.71547652b82fep+0
#define HALF_PI_SHORT 0x1.921fb54400000p+0
#define HALF_PI_NEXT 0x1.0b4611a000000p-34
#define HALF_PI_REST 0x1.898cc51701b84p-64
#define HALF_PI_INVERSE 0x1.45f306dc9c883p-1

#endif
