// The lease: one workgroup that stays and runs what the host puts into the
// mailbox, a round of slots at a time. Lane 0 alone decides what is next and
// tells the others through shared memory; all lanes run the round; lane 0 alone
// answers, behind a barrier that all their writes have passed. The workgroup
// loops as a whole. Between rounds it ends when the host says so, when its
// turns do not cover another round, or when nothing came for long; what it ended
// with stands in the mailbox. A round that was begun is always finished.
//
// With READ_AHEAD every lane reads the call and its own record together with
// the tail, all under way at once, and uses them if they are of the tail's round.

layout(local_size_x = WIDTH) in;

uniform uint lease_number;   // this kernel's number, never 0
uniform uint lease_answered; // the tail that was answered last, by whichever kernel
uniform uint lease_turns;    // loop iterations it may take
uniform uint lease_round;    // of which any round takes at most this many
uniform uint lease_idle;     // turns in a row without a round after which it ends

// What lane 0 has decided: a tail, or one of these. Tails are above them. Ending
// is 0, because software rasterisers let lanes that pad a vector read zeros. Two
// in turn, so that one barrier a turn is enough.
const uint ORDER_END = 0u;
const uint ORDER_NONE = 1u;
shared uint order[2];
#ifdef READ_AHEAD
shared uvec4 called[2][2]; // the call that the order is from
#endif

// decide is what to do next, and why if that is to end. Only lane 0 calls it.
uint decide(uint tail, uint stop, uint answered, uint spent, uint idle) {
    uint cause = spent + lease_round > lease_turns ? CAUSE_TURNS : idle >= lease_idle ? CAUSE_IDLE : CAUSE_NONE;
    cause = stop == lease_number ? CAUSE_STOP : cause;
    if (cause != CAUSE_NONE) {
        answer[MAIL_CAUSE] = cause;
        return ORDER_END;
    }
    return tail == answered ? ORDER_NONE : tail;
}

// run executes one slot of the round.
void run(uint slot, uvec4 head, uvec4 a) {
    uint opcode = head.y;
    uint status = head.w;
    a.w = 0u; // belongs to the record
    if (opcode == OP_PRINT || opcode >= FIRST_USER_OPCODE) {
        a.w = slots[slot].args[0].w;
    }
    Outcome outcome = execute(slot, opcode, head.z, a, status);
    if (outcome.fault != NOT_REACHED) {
        status = finished_status(status, outcome.fault);
    }
    outcomes[slot] = uvec2(status, outcome.result);
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
#ifdef READ_AHEAD
            if (lane == 0u) {
                uvec4 a = call[0];
                uvec4 b = call[1];
                order[turn & 1u] = decide(a.x == b.w ? a.x : answered, a.y, answered, spent, idle);
                called[turn & 1u][0] = a;
                called[turn & 1u][1] = b;
            }
#else
            if (lane == 0u) {
                order[turn & 1u] = decide(call[0].x, call[0].y, answered, spent, idle);
            }
#endif
            memoryBarrierShared();
            barrier();
            tail = order[turn & 1u];
            turn++;
            idle++;
            spent++;
        } while (tail == ORDER_NONE);

        uint count = tail & TAIL_COUNT_MASK;
#ifdef READ_AHEAD
        uvec4 first = called[turn + 1u & 1u][0];
        uvec4 second = called[turn + 1u & 1u][1];
#else
        uvec4 first = call[0];
        uvec4 second = call[1];
#endif
        wave_tenant = first.z;
        window_base = first.w;
        window_length = second.x;
        step_budget = second.y;
        uint cost = second.z;
        if (lane == 0u && tail != ORDER_END) {
            answer[MAIL_BEGUN] = tail;
        }
        uint slot = lane;
        do {
            if (slot < count) {
                uvec4 head = records[2u * slot];
                uvec4 args = records[2u * slot + 1u];
                run(slot, head, args);
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
                answer[MAIL_DONE] = tail;
            }
        }
    } while (tail != ORDER_END);
    if (lane == 0u) {
        answer[MAIL_SPENT] = spent;
        answer[MAIL_ROUNDS] = rounds;
        memoryBarrier();
        answer[MAIL_ENDED] = lease_number;
    }
}
