#version 430 core
// Every invocation writes a value that depends on its number and on its whole
// workgroup, and counts itself: arithmetic, shared memory with a barrier, and
// atomics are all needed to get the numbers right.
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Out {
    uint count;
    uint values[];
};
shared uint sum;

void main() {
    if (gl_LocalInvocationIndex == 0u) sum = 0u;
    barrier();
    atomicAdd(sum, gl_GlobalInvocationID.x);
    barrier();
    values[gl_GlobalInvocationID.x] = gl_GlobalInvocationID.x * 2654435761u ^ sum;
    atomicAdd(count, 1u);
}
