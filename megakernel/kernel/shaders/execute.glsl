// What an opcode does. reference.go is the same in Go, case by case. HAS_NAME
// is defined for each built-in opcode whose body this kernel has, USER_OPCODES
// if it has operators' own.

struct Outcome {
    uint fault;  // a fault code, NOT_REACHED, YIELDED or REQUEUED
    uint result; // the slot's result word
};

// beyond reports whether words of the window from address on leave it.
bool beyond(uint address, uint words) {
    return address > window_length || words > window_length - address;
}

uint attempts(uint status) {
    return status >> STATUS_ATTEMPT_SHIFT & STATUS_ATTEMPT_MASK;
}

// finished_status is the status of a slot after an attempt.
uint finished_status(uint status, uint fault) {
    uint attempt = attempts(status) == STATUS_ATTEMPT_MASK ? 0u : 1u;
    uint state = fault == FAULT_NONE ? STATE_DONE : STATE_FAULT | fault << STATUS_FAULT_SHIFT;
#if defined(HAS_YIELD) || defined(HAS_AWAIT)
    state = fault == YIELDED ? STATE_YIELDED : state;
    state = fault == REQUEUED ? STATE_REQUEUED : state;
#endif
    return (status & ~(STATUS_STATE_MASK | STATUS_FAULT_MASK << STATUS_FAULT_SHIFT)) + (attempt << STATUS_ATTEMPT_SHIFT) | state;
}

#ifdef HAS_PRINT
// print_slot begins a record of the print log; ring.PrintCheck is the same.
void print_slot(uint tenant, uint sequence, uvec4 a) {
    uint number = atomicAdd(print_cursor, 1u);
    uint record = (number & uint(print_records.length()) / PRINT_RECORD_WORDS - 1u) * PRINT_RECORD_WORDS;
    uint words[PRINT_RECORD_WORDS] = uint[](number, sequence, tenant, a.x, a.y, a.z, a.w, 0u);
    uint check = 0x9E3779B9u;
    for (uint i = 0u; i < PRINT_RECORD_WORDS - 1u; i++) {
        check = (check + words[i]) * 0x85EBCA6Bu;
        check ^= check >> 15u;
    }
    words[PRINT_RECORD_WORDS - 1u] = check;
    for (uint i = 0u; i < PRINT_RECORD_WORDS; i++) {
        print_records[record + i] = words[i];
    }
}
#endif

#ifdef HAS_PACKED
uint packed_word(uint slot, uint i) {
    i = min(i, ARG_WORDS - 1u);
    return slots[slot].args[i >> 2u][i & 3u];
}

// packed_part is part i of a packed slot whose first argument is head: its
// opcode, and its arguments in a. malformed is a fault if it does not fit.
uint packed_part(uint slot, uint head, uint i, out uvec4 a, out uint malformed) {
    uint count = head & 0xFFu;
    uint words = head >> 8u & 0xFFu;
    uint first = (2u * count + 5u) / 4u;
    uint at = 2u + 2u * i;
    uint pair = packed_word(slot, at >> 2u) >> (at & 3u) * 8u;
    uint opcode = pair & 0xFFu;
    uint offset = pair >> 8u & 0xFFu;
    uint needs = ~0u;
    switch (opcode) {
    case OP_NOP:
        needs = 0u;
        break;
    case OP_LOAD:
        needs = 1u;
        break;
    case OP_STORE:
    case OP_ADD:
        needs = 2u;
        break;
    case OP_COMPARE_SWAP:
        needs = 3u;
        break;
    }
    bool fits = count >= 1u && count <= PACKED_MAX && first + words <= ARG_WORDS && needs <= words && offset <= words - needs;
    malformed = fits ? FAULT_NONE : FAULT_MALFORMED_PACKED_SLOT;
    a = uvec4(packed_word(slot, first + offset), packed_word(slot, first + offset + 1u), packed_word(slot, first + offset + 2u), 0u);
    return opcode;
}
#endif

// execute runs one slot. Opcodes share their operands' places: words are read
// from a0 on and written from a1 on. All moves of words share one loop at the
// end, because software rasterisers run every branch for every lane, and a
// memory access costs them more than the arithmetic that selects it. For the
// same reason a packed slot takes further turns of a loop that others leave
// after one: first every part is checked, then every part runs.
Outcome execute(uint slot, uint opcode, uint tenant, uvec4 a, uint status) {
    uint refused = tenant != wave_tenant ? FAULT_FOREIGN_TENANT : FAULT_NONE;
    uint fault;
    uint result = 0u;
#ifdef HAS_PACKED
    bool packed_slot = opcode == OP_PACKED && refused == FAULT_NONE;
    uint head = a.x;
    uint checks = packed_slot ? min(head & 0xFFu, PACKED_MAX) : 0u;
    uint turn = 0u;
    do {
#endif
        fault = FAULT_NONE;
#ifdef HAS_PACKED
        uint malformed = FAULT_NONE;
        if (packed_slot) {
            opcode = packed_part(slot, head, turn < checks ? turn : turn - checks, a, malformed);
        }
#endif
        uint reads = 0u;  // words read
        uint writes = 0u; // words written
        switch (opcode) {
#ifdef HAS_NOP
        case OP_NOP:
            break;
#endif
#ifdef HAS_FENCE
        case OP_FENCE:
            break;
#endif
#ifdef HAS_PRINT
        case OP_PRINT:
            break;
#endif
#ifdef HAS_PACKED
        case OP_PACKED:
            break;
#endif
#ifdef HAS_STORE
        case OP_STORE:
            writes = 1u;
            break;
#endif
#ifdef HAS_ADD
        case OP_ADD:
            writes = 1u;
            break;
#endif
#ifdef HAS_LOAD
        case OP_LOAD:
            reads = 1u;
            break;
#endif
#ifdef HAS_COMPARE_SWAP
        case OP_COMPARE_SWAP:
            reads = 1u;
            break;
#endif
#ifdef HAS_COPY
        case OP_COPY:
            reads = a.z;
            writes = a.z;
            fault = a.z > COPY_CAP ? FAULT_COPY_TOO_LONG : FAULT_NONE;
            break;
#endif
#ifdef HAS_FAULT
        case OP_FAULT:
            fault = a.x < USER_FAULTS ? FAULT_USER + a.x : FAULT_BAD_FAULT_CODE;
            break;
#endif
#ifdef HAS_YIELD
        case OP_YIELD:
            fault = a.x > MAX_ATTEMPTS ? FAULT_BAD_OPERAND : attempts(status) < a.x ? YIELDED : FAULT_NONE;
            break;
#endif
#ifdef HAS_AWAIT
        case OP_AWAIT:
            reads = 1u;
            fault = a.z < 1u || a.z > MAX_ATTEMPTS ? FAULT_BAD_OPERAND : FAULT_NONE;
            break;
#endif
        default:
#ifdef USER_OPCODES
            fault = has_user_opcode(opcode) ? FAULT_NONE : FAULT_UNKNOWN_OPCODE;
#else
            fault = FAULT_UNKNOWN_OPCODE;
#endif
        }

#ifdef HAS_PACKED
        fault = malformed != FAULT_NONE ? malformed : fault;
#endif
        bool outside = reads > 0u && beyond(a.x, reads) || writes > 0u && beyond(a.y, writes);
        fault = fault == FAULT_NONE && outside ? FAULT_ADDRESS_OUTSIDE_WINDOW : fault;
        fault = refused != FAULT_NONE ? refused : fault;
        uint steps = max(reads, writes);
        fault = fault == FAULT_NONE && steps > step_budget ? NOT_REACHED : fault;
#ifdef HAS_PACKED
        if (fault == FAULT_NONE && turn >= checks) {
#else
        if (fault == FAULT_NONE) {
#endif
            uint source = window_base + a.x;
            uint target = window_base + a.y;
            uint value = a.x;
#ifdef HAS_ADD
            if (opcode == OP_ADD) {
                atomicAdd(heap[target], a.x);
                writes = 0u;
            }
#endif
#ifdef HAS_COMPARE_SWAP
            if (opcode == OP_COMPARE_SWAP) {
                value = atomicCompSwap(heap[source], a.y, a.z);
                reads = 0u;
                result = value;
            }
#endif
#ifdef HAS_PRINT
            if (opcode == OP_PRINT) {
                print_slot(tenant, slots[slot].head.w, a);
            }
#endif
#ifdef HAS_COPY
            uint i = 0u;
            do {
                if (i < reads) {
                    value = heap[source + i];
                }
                if (i < writes) {
                    heap[target + i] = value;
                }
            } while (++i < steps);
#else
            if (reads > 0u) {
                value = heap[source];
            }
            if (writes > 0u) {
                heap[target] = value;
            }
#endif
#ifdef HAS_LOAD
            result = opcode == OP_LOAD ? value : result;
#endif
#ifdef HAS_AWAIT
            if (opcode == OP_AWAIT) {
                result = value;
                if (value != a.y) {
                    fault = attempts(status) + 1u < a.z ? REQUEUED : FAULT_GAVE_UP_WAITING;
                }
            }
#endif
#ifdef USER_OPCODES
            if (opcode >= FIRST_USER_OPCODE) {
                run_user_opcode(slot, opcode, a);
                fault = rm_fault;
                result = rm_word;
            }
#endif
        }
#ifdef HAS_PACKED
    } while (++turn < 2u * checks && fault == FAULT_NONE);
#endif
    return Outcome(fault, fault == FAULT_NONE ? result : 0u);
}
