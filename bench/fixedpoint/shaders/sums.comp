// Adds up the exponentials: one share per workgroup.

layout(binding = 0, std430) readonly buffer Input { uint values[]; };
layout(binding = 3, std430) writeonly buffer Parts { uvec2 sums[]; };
uniform uint count;

void main() {
    uvec2 sum = uvec2(0u);
    for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * WIDTH) {
        sum = plus(sum, uvec2(values[i], 0u));
    }
    sum = total(sum);
    if (gl_LocalInvocationID.x == 0u) sums[gl_WorkGroupID.x] = sum;
}
