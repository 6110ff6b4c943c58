// What an opcode does. reference.go is the same in Go, case by case.

const uint NOT_REACHED = ~0u; // in place of a fault code: the slot stays published

struct Outcome {
    uint fault;  // a fault code, or NOT_REACHED
    uint result; // the slot's result word
};

// beyond reports whether words of the window from address on leave it.
bool beyond(uint address, uint words) {
    return address > window_length || words > window_length - address;
}

// finished_status is the status of a slot after an attempt.
uint finished_status(uint status, uint fault) {
    uint attempt = (status >> STATUS_ATTEMPT_SHIFT & STATUS_ATTEMPT_MASK) == STATUS_ATTEMPT_MASK ? 0u : 1u;
    uint state = fault == FAULT_NONE ? STATE_DONE : STATE_FAULT | fault << STATUS_FAULT_SHIFT;
    return (status & ~(STATUS_STATE_MASK | STATUS_FAULT_MASK << STATUS_FAULT_SHIFT)) + (attempt << STATUS_ATTEMPT_SHIFT) | state;
}

// execute runs one slot. Opcodes share their operands' places: words are read
// from a0 on and written from a1 on. All moves of words share one loop at the
// end, because software rasterisers run every branch for every lane, and a
// memory access costs them more than the arithmetic that selects it.
Outcome execute(uint opcode, uint tenant, uvec4 a) {
    uint fault = FAULT_NONE;
    uint reads = 0u;  // words read
    uint writes = 0u; // words written
    switch (opcode) {
    case OP_NOP:
        break;
    case OP_STORE:
        writes = 1u;
        break;
    case OP_ADD:
        writes = 1u;
        break;
    case OP_LOAD:
        reads = 1u;
        break;
    case OP_COPY:
        reads = a.z;
        writes = a.z;
        fault = a.z > COPY_CAP ? FAULT_COPY_TOO_LONG : FAULT_NONE;
        break;
    case OP_FAULT:
        fault = a.x < USER_FAULTS ? FAULT_USER + a.x : FAULT_BAD_FAULT_CODE;
        break;
    case OP_FENCE:
        break;
    default:
        fault = FAULT_UNKNOWN_OPCODE;
    }

    bool outside = reads > 0u && beyond(a.x, reads) || writes > 0u && beyond(a.y, writes);
    fault = fault == FAULT_NONE && outside ? FAULT_ADDRESS_OUTSIDE_WINDOW : fault;
    fault = tenant != wave_tenant ? FAULT_FOREIGN_TENANT : fault;
    uint steps = max(reads, writes);
    fault = fault == FAULT_NONE && steps > step_budget ? NOT_REACHED : fault;
    if (fault != FAULT_NONE) {
        return Outcome(fault, 0u);
    }
    uint source = window_base + a.x;
    uint target = window_base + a.y;
    if (opcode == OP_ADD) {
        atomicAdd(heap[target], a.x);
        writes = 0u;
    }
    uint value = a.x;
    uint i = 0u;
    do {
        if (i < reads) {
            value = heap[source + i];
        }
        if (i < writes) {
            heap[target + i] = value;
        }
    } while (++i < steps);
    return Outcome(FAULT_NONE, opcode == OP_LOAD ? value : 0u);
}
