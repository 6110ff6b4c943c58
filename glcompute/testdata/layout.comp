#version 430 core
layout(local_size_x = 32, local_size_y = 2) in;
struct Slot {
    uint opcode;
    uint tenant;
    uint priority;
    uint sequence;
    uint args[12];
};
layout(std430, binding = 0) buffer Ring {
    uint head;
    uint tail;
    uvec4 wide;
    Slot slots[];
};
layout(std430, binding = 1) buffer Status {
    uint words[];
} status;
uniform uint limit;

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < limit) {
        status.words[i] = slots[i].args[3] + slots[i].sequence + head + tail + wide.y;
        slots[i].opcode = i;
    }
}
