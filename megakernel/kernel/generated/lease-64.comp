#version 430 core
#define WIDTH 64
const uint ARG_WORDS = 12u;
const uint PAGE_SHIFT = 8u;
const uint PAGE_SLOTS = 256u;
const uint PAGE_MASK = 255u;
const uint PRIORITIES = 5u;
const uint OPCODE_BINS = 64u;
const uint ENTRY_COUNT_BITS = 9u;
const uint ENTRY_COUNT_MASK = 511u;
const uint PRINT_RECORD_WORDS = 8u;
const uint PRINT_ARGS = 4u;

const uint STATE_EMPTY = 0u;
const uint STATE_PUBLISHED = 1u;
const uint STATE_DONE = 2u;
const uint STATE_YIELDED = 3u;
const uint STATE_REQUEUED = 4u;
const uint STATE_FAULT = 5u;
const uint STATUS_STATE_MASK = 15u;
const uint STATUS_FAULT_SHIFT = 4u;
const uint STATUS_FAULT_MASK = 4095u;
const uint STATUS_ATTEMPT_SHIFT = 16u;
const uint STATUS_ATTEMPT_MASK = 255u;

const uint FAULT_NONE = 0u;
const uint FAULT_UNKNOWN_OPCODE = 1u;
const uint FAULT_ADDRESS_OUTSIDE_WINDOW = 2u;
const uint FAULT_COPY_TOO_LONG = 3u;
const uint FAULT_BAD_FAULT_CODE = 4u;
const uint FAULT_FOREIGN_TENANT = 5u;
const uint FAULT_BAD_OPERAND = 6u;
const uint FAULT_MALFORMED_PACKED_SLOT = 7u;
const uint FAULT_GAVE_UP_WAITING = 8u;
const uint FAULT_TOO_MANY_STEPS = 9u;
const uint FAULT_USER = 256u;
const uint USER_FAULTS = 3840u;

struct Slot {
    uvec4 head; // opcode, tenant, priority, sequence
    uvec4 args[3];
};

layout(std430, binding = 0) buffer ControlBlock {
    uint ticket;
    uint executed;
    uint faulted;
    uint unreached;
    uint again;
    uint chunks;
    uint local_size;
    uint groups;
    uint chunk;
    uint claim_budget;
    uint step_budget;
    uint cold;
    uint cold_ticket;
    uint cold_dispatch[3];
    uint opcode_counts[64];
} control;
layout(std430, binding = 1) readonly restrict coherent buffer SlotBlock {
    Slot slots[];
};
layout(std430, binding = 2) restrict buffer StatusBlock {
    uint statuses[];
};
layout(std430, binding = 3) writeonly restrict buffer ResultBlock {
    uint results[];
};
layout(std430, binding = 4) readonly restrict buffer ScheduleBlock {
    uint schedule[];
};
layout(std430, binding = 5) restrict coherent buffer HeapBlock {
    uint heap[];
};
layout(std430, binding = 6) writeonly restrict buffer ColdBlock {
    uint cold[];
};
layout(std430, binding = 7) restrict coherent buffer PrintBlock {
    uint print_cursor;
    uint print_header[7];
    uint print_records[];
};
const uint OP_NOP = 0u;
const uint OP_STORE = 1u;
const uint OP_ADD = 2u;
const uint OP_LOAD = 3u;
const uint OP_COMPARE_SWAP = 4u;
const uint OP_COPY = 5u;
const uint OP_FAULT = 6u;
const uint OP_FENCE = 7u;
const uint OP_PRINT = 8u;
const uint OP_PACKED = 9u;
const uint OP_YIELD = 10u;
const uint OP_AWAIT = 11u;
const uint FIRST_USER_OPCODE = 16u;
const uint COPY_CAP = 1024u;
const uint MAX_ATTEMPTS = 255u;
const uint PACKED_MAX = 8u;
const uint NOT_REACHED = 4294967295u;
const uint YIELDED = 4294967294u;
const uint REQUEUED = 4294967293u;
layout(std430, binding = 0) coherent buffer MailboxBlock {
    uint mailbox[];
};
const uint MAIL_TAIL = 0u;
const uint MAIL_STOP = 1u;
const uint MAIL_TENANT = 2u;
const uint MAIL_BASE = 3u;
const uint MAIL_LENGTH = 4u;
const uint MAIL_STEPS = 5u;
const uint MAIL_COST = 6u;
const uint MAIL_CHECK = 7u;
const uint MAIL_RECORDS = 8u;
const uint MAIL_DONE = 2064u;
const uint MAIL_BEGUN = 2065u;
const uint MAIL_ENDED = 2066u;
const uint MAIL_CAUSE = 2067u;
const uint MAIL_SPENT = 2068u;
const uint MAIL_ROUNDS = 2069u;
const uint MAIL_OUTCOMES = 2080u;
const uint RECORD_WORDS = 8u;
const uint CHECK_FACTOR = 2654435761u;
#define READ_AHEAD 3
const uint CAUSE_NONE = 0u;
const uint CAUSE_STOP = 1u;
const uint CAUSE_TURNS = 2u;
const uint CAUSE_IDLE = 3u;
const uint TAIL_COUNT_MASK = 511u;
uint wave_tenant = 0u;
uint window_base = 0u;
uint window_length = 0u;
uint step_budget = 0u;
#define HAS_NOP 1
#define HAS_STORE 1
#define HAS_ADD 1
#define HAS_LOAD 1
#define HAS_COMPARE_SWAP 1
#define HAS_COPY 1
#define HAS_FAULT 1
#define HAS_FENCE 1
#define HAS_PRINT 1
#define HAS_PACKED 1
#define HAS_YIELD 1
#define HAS_AWAIT 1

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

// The lease: one workgroup that stays and runs what the host puts into the
// mailbox, a round of slots at a time. Lane 0 alone decides what is next and
// tells the others through shared memory; all lanes run the round; lane 0 alone
// answers, behind a barrier that all their writes have passed. The workgroup
// loops as a whole. Between rounds it ends when the host says so, when its
// turns do not cover another round, or when nothing came for long; what it ended
// with stands in the mailbox. A round that was begun is always finished.
//
// With READ_AHEAD the lanes read the call and the first records together with
// the tail, each word once, and what they have read is used if its check is
// that of the tail's round. The call is read again at the next turn, else.

layout(local_size_x = WIDTH) in;

uniform uint lease_number;   // this kernel's number, never 0
uniform uint lease_answered; // the tail that was answered last, by whichever kernel
uniform uint lease_turns;    // loop iterations it may take
uniform uint lease_round;    // of which any round takes at most this many
uniform uint lease_idle;     // turns in a row without a round after which it ends

// What is next: a tail, or one of these. Tails are above them. Ending is 0,
// because software rasterisers let lanes that pad a vector read zeros. What
// lanes share is there twice, in turn, so that one barrier a turn is enough.
const uint ORDER_END = 0u;
const uint ORDER_NONE = 1u;
#ifdef READ_AHEAD
const uint AHEAD = uint(READ_AHEAD) * uint(WIDTH);
shared uint ahead[2u * AHEAD]; // the mailbox's first words
#else
shared uint order[2];
#endif

// decide is what to do next, and why if that is to end.
uint decide(uint tail, uint stop, uint answered, uint spent, uint idle) {
    uint cause = spent + lease_round > lease_turns ? CAUSE_TURNS : idle >= lease_idle ? CAUSE_IDLE : CAUSE_NONE;
    cause = stop == lease_number ? CAUSE_STOP : cause;
    if (cause != CAUSE_NONE) {
        if (gl_LocalInvocationID.x == 0u) {
            mailbox[MAIL_CAUSE] = cause;
        }
        return ORDER_END;
    }
    return tail == answered ? ORDER_NONE : tail;
}

// check goes on with a check by a word.
uint check(uint sum, uint word) {
    return (sum ^ word) * CHECK_FACTOR;
}

// run executes one slot of the round.
void run(uint slot, uvec3 head, uvec4 a) {
    Outcome outcome = execute(slot, head.x, head.y, a, head.z);
    uint status = outcome.fault != NOT_REACHED ? finished_status(head.z, outcome.fault) : head.z;
    mailbox[MAIL_OUTCOMES + 2u * slot] = status;
    mailbox[MAIL_OUTCOMES + 2u * slot + 1u] = outcome.result;
}

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint answered = lease_answered;
    uint spent = 0u; // loop iterations
    uint turn = 0u;
    uint rounds = 0u;
    uint tail;
    do {
        // A loop of its own, because software rasterisers run the bodies of
        // all opcodes, their loops too, whether there is a round or not.
        uint idle = 0u;
#ifdef READ_AHEAD
        uint page;
        do {
            page = (turn & 1u) * AHEAD;
            uint words[READ_AHEAD];
            for (uint i = 0u; i < uint(READ_AHEAD); i++) {
                words[i] = mailbox[min(i * WIDTH + lane, MAIL_DONE - 1u)];
            }
            for (uint i = 0u; i < uint(READ_AHEAD); i++) {
                ahead[page + i * WIDTH + lane] = words[i];
            }
            memoryBarrierShared();
            barrier();
            tail = ahead[page + MAIL_TAIL];
            uint sum = tail;
            for (uint i = MAIL_TENANT; i < MAIL_CHECK; i++) {
                sum = check(sum, ahead[page + i]);
            }
            tail = decide(sum == ahead[page + MAIL_CHECK] ? tail : answered, ahead[page + MAIL_STOP], answered, spent, idle);
            turn++;
            idle++;
            spent++;
        } while (tail == ORDER_NONE);
        wave_tenant = ahead[page + MAIL_TENANT];
        window_base = ahead[page + MAIL_BASE];
        window_length = ahead[page + MAIL_LENGTH];
        step_budget = ahead[page + MAIL_STEPS];
        uint cost = ahead[page + MAIL_COST];
#else
        do {
            if (lane == 0u) {
                order[turn & 1u] = decide(mailbox[MAIL_TAIL], mailbox[MAIL_STOP], answered, spent, idle);
            }
            memoryBarrierShared();
            barrier();
            tail = order[turn & 1u];
            turn++;
            idle++;
            spent++;
        } while (tail == ORDER_NONE);
        wave_tenant = mailbox[MAIL_TENANT];
        window_base = mailbox[MAIL_BASE];
        window_length = mailbox[MAIL_LENGTH];
        step_budget = mailbox[MAIL_STEPS];
        uint cost = mailbox[MAIL_COST];
#endif

        uint count = tail & TAIL_COUNT_MASK;
        if (lane == 0u && tail != ORDER_END) {
            mailbox[MAIL_BEGUN] = tail;
        }
        uint slot = lane;
        do {
            if (slot < count) {
                uint at = MAIL_RECORDS + slot * RECORD_WORDS;
#ifdef READ_AHEAD
                uint words[RECORD_WORDS];
                uint sum = tail;
                bool whole = at + RECORD_WORDS <= AHEAD;
                for (uint i = 0u; i < RECORD_WORDS; i++) {
                    words[i] = ahead[page + min(at + i, AHEAD - 1u)];
                    sum = i < RECORD_WORDS - 1u ? check(sum, words[i]) : sum;
                }
                if (!whole || sum != words[RECORD_WORDS - 1u]) {
                    for (uint i = 0u; i < RECORD_WORDS; i++) {
                        words[i] = mailbox[at + i];
                    }
                }
                run(slot, uvec3(words[0], words[1], words[2]), uvec4(words[3], words[4], words[5], words[6]));
#else
                run(slot, uvec3(mailbox[at], mailbox[at + 1u], mailbox[at + 2u]),
                    uvec4(mailbox[at + 3u], mailbox[at + 4u], mailbox[at + 5u], mailbox[at + 6u]));
#endif
            }
            slot += WIDTH;
        } while (slot < count);
        memoryBarrier();
        barrier();
        if (tail != ORDER_END) {
            answered = tail;
            spent += cost;
            rounds++;
            if (lane == 0u) {
                mailbox[MAIL_DONE] = tail;
            }
        }
    } while (tail != ORDER_END);
    if (lane == 0u) {
        mailbox[MAIL_SPENT] = spent;
        mailbox[MAIL_ROUNDS] = rounds;
        memoryBarrier();
        mailbox[MAIL_ENDED] = lease_number;
    }
}
