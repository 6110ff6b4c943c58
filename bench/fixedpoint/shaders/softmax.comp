// Divides each exponential by the sum of the shares, floor((e << 16) / sum), by
// long division: the quotient has at most 17 bits, because e is part of the sum.

layout(binding = 0, std430) readonly buffer Input { uint values[]; };
layout(binding = 2, std430) writeonly buffer Output { uint results[]; };
layout(binding = 3, std430) readonly buffer Parts { uvec2 sums[]; };
uniform uint count;
uniform uint shares; // at most WIDTH

bool below(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }

void main() {
    uint lane = gl_LocalInvocationID.x;
    uvec2 sum = total(lane < shares ? sums[lane] : uvec2(0u));
    if (sum == uvec2(0u)) sum.x = 1u;
    uint i = gl_GlobalInvocationID.x;
    if (i >= count) return;
    uvec2 rest = uvec2(values[i], 0u);
    uint quotient = 0u;
    uvec2 minus = negative(sum);
    for (uint bit = 0u; bit <= 16u; bit++) {
        if (bit > 0u) rest = uvec2(rest.x << 1, (rest.y << 1) | (rest.x >> 31));
        quotient <<= 1;
        if (!below(rest, sum)) {
            rest = plus(rest, minus);
            quotient |= 1u;
        }
    }
    results[i] = quotient;
}
