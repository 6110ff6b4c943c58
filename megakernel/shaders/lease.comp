// The lease: one workgroup that stays and runs what the host puts into the
// mailbox, a round of slots at a time. Lane 0 alone reads what the host rings
// with and tells the others through shared memory; all lanes run the round;
// lane 0 alone answers, behind a barrier that all their writes have passed. The
// workgroup loops as a whole. Between rounds it ends when the host says so, when
// its turns do not cover another round, or when nothing came for long; what it
// ended with stands in the mailbox. A round that was begun is always finished.

layout(local_size_x = WIDTH) in;

uniform uint lease_number;   // this kernel's number, never 0
uniform uint lease_answered; // the tail that was answered last, by whichever kernel
uniform uint lease_turns;    // loop iterations it may take
uniform uint lease_round;    // of which any round takes at most this many
uniform uint lease_idle;     // turns in a row without a round after which it ends

// What lane 0 has read: a tail, or one of these. Tails are above them. Ending is
// 0, because software rasterisers let lanes that pad a vector read zeros. Two
// in turn, so that one barrier a turn is enough.
const uint ORDER_END = 0u;
const uint ORDER_NONE = 1u;
shared uint order[2];

// poll is what to do next, and why if that is to end. Only lane 0 calls it.
uint poll(uint answered, uint spent, uint idle) {
    uint cause = spent + lease_round > lease_turns ? CAUSE_TURNS : idle >= lease_idle ? CAUSE_IDLE : CAUSE_NONE;
    uint tail = mailbox[MAIL_TAIL];
    uint stop = mailbox[MAIL_STOP];
    cause = stop == lease_number ? CAUSE_STOP : cause;
    if (cause != CAUSE_NONE) {
        mailbox[MAIL_CAUSE] = cause;
        return ORDER_END;
    }
    return tail == answered ? ORDER_NONE : tail;
}

// run executes one slot of the round.
void run(uint slot) {
    uint status = statuses[slot];
    uvec2 head = slots[slot].head.xy;
    uvec4 a = slots[slot].args[0];
    Outcome outcome = execute(slot, head.x, head.y, a, status);
    if (outcome.fault != NOT_REACHED) {
        results[slot] = outcome.result;
        statuses[slot] = finished_status(status, outcome.fault);
    }
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
        do {
            if (lane == 0u) {
                order[turn & 1u] = poll(answered, spent, idle);
            }
            memoryBarrierShared();
            barrier();
            tail = order[turn & 1u];
            turn++;
            idle++;
            spent++;
        } while (tail == ORDER_NONE);

        uint count = tail & TAIL_COUNT_MASK;
        wave_tenant = mailbox[MAIL_TENANT];
        window_base = mailbox[MAIL_BASE];
        window_length = mailbox[MAIL_LENGTH];
        step_budget = mailbox[MAIL_STEPS];
        uint cost = mailbox[MAIL_COST];
        if (lane == 0u && tail != ORDER_END) {
            mailbox[MAIL_BEGUN] = tail;
        }
        uint slot = lane;
        do {
            if (slot < count) {
                run(slot);
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
