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
layout(std430, binding = 1) readonly restrict buffer SlotBlock {
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
layout(std430, binding = 5) restrict buffer HeapBlock {
    uint heap[];
};
layout(std430, binding = 6) writeonly restrict buffer ColdBlock {
    uint cold[];
};
layout(std430, binding = 7) restrict buffer PrintBlock {
    uint print_cursor;
    uint print_header[7];
    uint print_records[];
};
