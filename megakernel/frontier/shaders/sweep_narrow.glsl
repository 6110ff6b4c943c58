// Clears the third bitmap after a pull, and gathers the nodes that wait in the current
// one into the hit buffer.

void sweep_words(uint group) {
    uint word = group * WIDTH + gl_LocalInvocationIndex;
    bool mine = word < bit_words;
    if (mine && (sweep & 1u) != 0u) {
        bits[bits_spare + word] = 0u;
    }
    if ((sweep & 2u) == 0u) {
        return;
    }
    uint waiting = mine ? bits[bits_now + word] : 0u;
    uint at = waiting != 0u ? atomicAdd(counted_gathered, uint(bitCount(waiting))) : 0u;
    while (waiting != 0u && at < hit_capacity) {
        queue[queue_now + at] = word * 32u + uint(findLSB(waiting));
        waiting &= waiting - 1u;
        at++;
    }
}
