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

// A loop is open from rm_enter until its condition ends it or a break or
// return leaves it. Some drivers end loops that take very long, silently; such
// a loop is still open when the body has ended.
uint rm_enter(uint count) {
    rm_open++;
    return count;
}

// rm_turn is the condition of a loop: whether it takes another turn, which is
// a step.
bool rm_turn(bool more) {
    if (more && rm_steps == 0u) {
        rm_violate(FAULT_TOO_MANY_STEPS);
    }
    if (more && rm_fault == FAULT_NONE) {
        rm_steps--;
        return true;
    }
    rm_open--;
    return false;
}

void rm_close() {
    if (rm_open != 0u) {
        rm_violate(FAULT_TOO_MANY_STEPS);
    }
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

#define FOR(i, count) for (uint i = 0u, rm_turns = rm_enter(count); rm_turn(i < rm_turns); i++)
#define WHILE(condition) for (rm_enter(0u); rm_turn(condition);)
