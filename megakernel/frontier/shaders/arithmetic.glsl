// What the director computes with.

uint pick(bool first, uint a, uint b) { return first ? a : b; }

// product_at_most says whether a * b <= c * d, in 64 bits.
bool product_at_most(uint a, uint b, uint c, uint d) {
    uint high_ab, low_ab, high_cd, low_cd;
    umulExtended(a, b, high_ab, low_ab);
    umulExtended(c, d, high_cd, low_cd);
    return high_ab < high_cd || (high_ab == high_cd && low_ab <= low_cd);
}
