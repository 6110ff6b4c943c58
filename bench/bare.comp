// The yardstick of the ring's benchmark: four opcodes of the same slot layout
// and nothing else. Slots are assigned to workgroups by position, none has a
// status word, no operand is checked and nothing is counted.

layout(local_size_x = WIDTH) in;

void run(uint slot) {
    uint opcode = slots[slot].head.x;
    uvec4 a = slots[slot].args[0];
    uint result = 0u;
    switch (opcode) {
    case OP_NOP:
        break;
    case OP_STORE:
        heap[a.y] = a.x;
        break;
    case OP_ADD:
        atomicAdd(heap[a.y], a.x);
        break;
    case OP_LOAD:
        result = heap[a.x];
        break;
    }
    results[slot] = result;
}

void main() {
    uint positions = wave_entries << PAGE_SHIFT;
    uint stride = gl_NumWorkGroups.x * wave_chunk;
    for (uint first = gl_WorkGroupID.x * wave_chunk; first < positions; first += stride) {
        uint end = min(first + wave_chunk, positions);
        uint slot = first + gl_LocalInvocationID.x;
        do {
            if (slot < end) {
                run(slot);
            }
            slot += WIDTH;
        } while (slot < end);
    }
}
