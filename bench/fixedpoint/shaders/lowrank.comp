// Adds up the products of the diagonal and of the terms: one candidate per invocation.

layout(binding = 0, std430) readonly buffer Input { uint values[]; };
layout(binding = 1, std430) readonly buffer Root { int cells[]; }; // diagonal, terms
layout(binding = 2, std430) writeonly buffer Output { uint results[]; };
layout(binding = 3, std430) readonly buffer Parts { uvec2 sums[]; };
uniform uint count;
uniform uint shares;
uniform uint terms; // at most WIDTH
uniform uint signsLow, signsHigh; // a bit per term: 1 if it is subtracted

shared int products[WIDTH];

// word saturates a signed number to 32 bits.
int word(uvec2 a) {
    int high = int(a.y), low = int(a.x);
    return high == (low >> 31) ? low : high < 0 ? -0x7fffffff - 1 : 0x7fffffff;
}

void main() {
    uint lane = gl_LocalInvocationID.x;
    if (lane < terms) {
        uvec2 sum = uvec2(0u);
        for (uint s = 0u; s < shares; s++) sum = plus(sum, sums[lane * shares + s]);
        products[lane] = word(sum);
    }
    barrier();
    uint i = gl_GlobalInvocationID.x;
    if (i >= count) return;
    uvec2 sum = scaled(cells[i], int(values[i]));
    for (uint k = 0u; k < terms; k++) {
        uvec2 product = scaled(cells[(k + 1u) * count + i], products[k]);
        bool subtracted = (((k < 32u ? signsLow : signsHigh) >> (k & 31u)) & 1u) != 0u;
        sum = plus(sum, subtracted ? negative(product) : product);
    }
    results[i] = clamped(sum);
}
