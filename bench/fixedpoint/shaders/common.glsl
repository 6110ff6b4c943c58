// Numbers of 64 bits are pairs of words, the low one first.

uvec2 plus(uvec2 a, uvec2 b) {
    uint carry;
    uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

uvec2 negative(uvec2 a) { return plus(~a, uvec2(1u, 0u)); }

// scaled is a·b >> 16 for two signed words, sign-extended to 64 bits.
uvec2 scaled(int a, int b) {
    int high, low;
    imulExtended(a, b, high, low);
    return uvec2((uint(low) >> 16) | (uint(high) << 16), uint(high >> 16));
}

shared uvec2 parts[WIDTH];

// total adds up the values of all invocations of the workgroup; all must call it.
uvec2 total(uvec2 value) {
    uint lane = gl_LocalInvocationID.x;
    parts[lane] = value;
    barrier();
    for (uint half_ = WIDTH / 2u; half_ > 0u; half_ >>= 1) {
        if (lane < half_) parts[lane] = plus(parts[lane], parts[lane + half_]);
        barrier();
    }
    return parts[0];
}

// clamped saturates a signed number at 0 and 2^32-1.
uint clamped(uvec2 a) {
    return int(a.y) < 0 ? 0u : a.y > 0u ? 0xffffffffu : a.x;
}
