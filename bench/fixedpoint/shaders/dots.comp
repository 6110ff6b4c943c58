// Multiplies the vectors of a low-rank root's terms by the policy: one share of a
// term's sum per workgroup.

layout(binding = 0, std430) readonly buffer Input { uint values[]; };
layout(binding = 1, std430) readonly buffer Root { int cells[]; }; // diagonal, terms
layout(binding = 3, std430) writeonly buffer Parts { uvec2 sums[]; };
uniform uint count;
uniform uint shares; // of each term

void main() {
    uint term = gl_WorkGroupID.x / shares, share = gl_WorkGroupID.x % shares;
    uint base = (term + 1u) * count;
    uvec2 sum = uvec2(0u);
    for (uint c = share * WIDTH + gl_LocalInvocationID.x; c < count; c += shares * WIDTH) {
        sum = plus(sum, scaled(cells[base + c], int(values[c])));
    }
    sum = total(sum);
    if (gl_LocalInvocationID.x == 0u) sums[gl_WorkGroupID.x] = sum;
}
