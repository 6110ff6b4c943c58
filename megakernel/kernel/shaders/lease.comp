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
