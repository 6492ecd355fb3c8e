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

/* (atanh(s)/s - 1 - z/3)/z^2, z = s*s in [0, 0.0404]; error 1.2e-17 */
static const double ATANH_NEXT[8] = {
    0x1.9999999999999p-3,
    0x1.24924924929e9p-3,
    0x1.c71c71c5c2002p-4,
    0x1.745d1851085a5p-4,
    0x1.3b134c369abd2p-4,
    0x1.1125bd5f23640p-4,
    0x1.dd39131ae3eb8p-5,
    0x1.f41f27c1d9d65p-5,
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

/* of convergents 10 to 22 of a fraction (fraction.h); error 2.7e-16 */
static const double FRACTION_WEIGHT[13] = {
    0x1.f8fee5ea7757dp-13,
    0x1.0c82038a5cd22p-8,
    0x1.f4d882a90d348p-6,
    0x1.0fee448b603b3p-3,
    0x1.80330452c6628p-2,
    0x1.7519ad2f2a196p-1,
    0x1.0000000000000p+0,
    0x1.f549313868db1p-1,
    0x1.5c31e6e0a60f5p-1,
    0x1.4f3cd7c70169dp-2,
    0x1.a94b7b281cbc3p-4,
    0x1.3f96b52d5abf8p-6,
    0x1.aed172b755dd2p-10,
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
