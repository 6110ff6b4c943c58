// Clears the spare bitmap after a pull, and gathers the nodes that wait in the current one
// into the hit buffer.

shared uint found;
shared uint found_at;

void clear_spare() {
    for (uint word = gl_WorkGroupID.x * WIDTH + gl_LocalInvocationIndex; word < job.bit_words; word += gl_NumWorkGroups.x * WIDTH) {
        bits[bits_spare + word] = 0u;
    }
}

void gather_waiting() {
    uint lane = gl_LocalInvocationIndex;
    for (uint first = gl_WorkGroupID.x * WIDTH; first < job.bit_words; first += gl_NumWorkGroups.x * WIDTH) {
        uint word = first + lane;
        uint waiting = word < job.bit_words ? bits[bits_now + word] : 0u;
        if (lane == 0u) {
            found = 0u;
        }
        barrier();
        uint at = atomicAdd(found, uint(bitCount(waiting)));
        barrier();
        if (lane == 0u && found != 0u) {
            found_at = atomicAdd(counted[filled].gathered, found);
        }
        barrier();
        at += found_at;
        while (waiting != 0u && at < job.hit_capacity) {
            queue[queue_now + at] = word * 32u + uint(findLSB(waiting));
            waiting &= waiting - 1u;
            at++;
        }
        barrier();
    }
}
