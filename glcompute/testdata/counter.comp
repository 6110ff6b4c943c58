#version 430 core
// Counts every invocation once and adds its step, so the sum tells the uniform.
layout(local_size_x = 128) in;
layout(std430, binding = 0) buffer Counter {
    uint count;
    uint sum;
};
uniform uint step;

void main() {
    atomicAdd(count, 1u);
    atomicAdd(sum, step);
}
