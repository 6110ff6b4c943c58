// Multiplies the root by the policy: one row per workgroup.

layout(binding = 0, std430) readonly buffer Input { uint values[]; };
layout(binding = 1, std430) readonly buffer Root { int cells[]; };
layout(binding = 2, std430) writeonly buffer Output { uint results[]; };
uniform uint count;

void main() {
    uvec2 sum = uvec2(0u);
    uint row = gl_WorkGroupID.x * count;
    for (uint c = gl_LocalInvocationID.x; c < count; c += WIDTH) {
        sum = plus(sum, scaled(cells[row + c], int(values[c])));
    }
    sum = total(sum);
    if (gl_LocalInvocationID.x == 0u) results[gl_WorkGroupID.x] = clamped(sum);
}
