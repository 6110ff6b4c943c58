// What an opcode does. reference.go is the same in Go, case by case.

const uint NOT_REACHED = ~0u; // in place of a fault code: the slot stays published

struct Outcome {
    uint fault;  // a fault code, or NOT_REACHED
    uint result; // the slot's result word
};

// outside reports whether words of the window from address on leave it.
bool outside(uint address, uint words) {
    return address > window_length || words > window_length - address;
}

// finished_status is the status of a slot after an attempt.
uint finished_status(uint status, uint fault) {
    uint attempt = (status >> STATUS_ATTEMPT_SHIFT & STATUS_ATTEMPT_MASK) == STATUS_ATTEMPT_MASK ? 0u : 1u;
    uint state = fault == FAULT_NONE ? STATE_DONE : STATE_FAULT | fault << STATUS_FAULT_SHIFT;
    return (status & ~(STATUS_STATE_MASK | STATUS_FAULT_MASK << STATUS_FAULT_SHIFT)) + (attempt << STATUS_ATTEMPT_SHIFT) | state;
}

// execute runs one slot. All moves of words share one loop at the end, because
// some devices (software rasterisers) run every branch for every lane, and a
// memory access costs them more than the arithmetic that selects it.
Outcome execute(uint opcode, uint tenant, uvec4 a) {
    uint fault = FAULT_NONE;
    uint source = 0u; // first word read
    uint target = 0u; // first word written
    uint reads = 0u;  // words read
    uint writes = 0u; // words written
    bool adds = false;
    uint value = 0u;

    switch (opcode) {
    case OP_NOP:
        break;
    case OP_STORE:
        target = a.y;
        writes = 1u;
        value = a.x;
        break;
    case OP_ADD:
        target = a.y;
        adds = true;
        break;
    case OP_LOAD:
        source = a.x;
        reads = 1u;
        break;
    case OP_COPY:
        source = a.x;
        target = a.y;
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

    if (tenant != wave_tenant) {
        fault = FAULT_FOREIGN_TENANT;
    }
    if (fault == FAULT_NONE && (outside(source, reads) || outside(target, adds ? 1u : writes))) {
        fault = FAULT_ADDRESS_OUTSIDE_WINDOW;
    }
    uint steps = max(reads, writes);
    if (fault == FAULT_NONE && steps > step_budget) {
        fault = NOT_REACHED;
    }
    if (fault != FAULT_NONE) {
        return Outcome(fault, 0u);
    }
    source += window_base;
    target += window_base;
    for (uint i = 0u; i < steps; i++) {
        if (i < reads) {
            value = heap[source + i];
        }
        if (i < writes) {
            heap[target + i] = value;
        }
    }
    if (adds) {
        atomicAdd(heap[target], a.x);
    }
    return Outcome(FAULT_NONE, writes == 0u ? value : 0u);
}
