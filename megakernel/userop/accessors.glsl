// What the bodies of operators' opcodes see. Slot in reference.go is the same
// in Go.

bool rm_violate(uint fault) {
    if (rm_fault == FAULT_NONE) {
        rm_fault = fault;
    }
    return false;
}

// rm_reaches reports whether a body may touch a word of the window.
bool rm_reaches(uint address) {
    if (address >= rm_length) {
        rm_violate(FAULT_ADDRESS_OUTSIDE_WINDOW);
    }
    return rm_fault == FAULT_NONE;
}

// rm_step is a turn of a loop.
bool rm_step() {
    if (rm_steps == 0u) {
        rm_violate(FAULT_TOO_MANY_STEPS);
    }
    rm_steps--;
    return rm_fault == FAULT_NONE;
}

uint rm_load(uint address) {
    return rm_reaches(address) ? heap[rm_base + address] : 0u;
}

void rm_store(uint address, uint value) {
    if (rm_reaches(address)) {
        heap[rm_base + address] = value;
    }
}

uint rm_atomic_add(uint address, uint value) {
    return rm_reaches(address) ? atomicAdd(heap[rm_base + address], value) : 0u;
}

uint rm_atomic_min(uint address, uint value) {
    return rm_reaches(address) ? atomicMin(heap[rm_base + address], value) : 0u;
}

uint rm_atomic_max(uint address, uint value) {
    return rm_reaches(address) ? atomicMax(heap[rm_base + address], value) : 0u;
}

uint rm_atomic_and(uint address, uint value) {
    return rm_reaches(address) ? atomicAnd(heap[rm_base + address], value) : 0u;
}

uint rm_atomic_or(uint address, uint value) {
    return rm_reaches(address) ? atomicOr(heap[rm_base + address], value) : 0u;
}

uint rm_atomic_xor(uint address, uint value) {
    return rm_reaches(address) ? atomicXor(heap[rm_base + address], value) : 0u;
}

uint rm_exchange(uint address, uint value) {
    return rm_reaches(address) ? atomicExchange(heap[rm_base + address], value) : 0u;
}

uint rm_compare_swap(uint address, uint expected, uint value) {
    return rm_reaches(address) ? atomicCompSwap(heap[rm_base + address], expected, value) : 0u;
}

uint rm_window_words() {
    return rm_length;
}

uint rm_sequence() {
    return rm_number;
}

void rm_result(uint value) {
    rm_word = value;
}

void rm_fail(uint code) {
    rm_violate(code < USER_FAULTS ? FAULT_USER + code : FAULT_BAD_FAULT_CODE);
}

#define FOR(i, count) for (uint i = 0u, rm_turns = (count); i < rm_turns && rm_step(); i++)
#define WHILE(condition) for (; (condition) && rm_step();)
