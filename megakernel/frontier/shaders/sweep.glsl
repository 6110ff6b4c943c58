// Clears the third bitmap after a pull, and gathers what waits in the current
// one into the hit buffer.

#ifndef NARROW
shared uint found;
shared uint found_at;
#endif

void sweep_words(uint group) {
    uint lane = gl_LocalInvocationIndex;
    uint word = group * WIDTH + lane;
    bool mine = word < bit_words;
    if (mine && (sweep & 1u) != 0u) {
        bits[bits_spare + word] = 0u;
    }
    if ((sweep & 2u) == 0u) {
        return;
    }
    uint waiting = mine ? bits[bits_now + word] : 0u;
#ifdef NARROW
    uint at = waiting != 0u ? atomicAdd(gathered, uint(bitCount(waiting))) : 0u;
#else
    if (lane == 0u) {
        found = 0u;
    }
    barrier();
    uint at = atomicAdd(found, uint(bitCount(waiting)));
    barrier();
    if (lane == 0u && found != 0u) {
        found_at = atomicAdd(gathered, found);
    }
    barrier();
    at += found_at;
#endif
    while (waiting != 0u && at < hit_capacity) {
        queue[queue_now + at] = word * 32u + uint(findLSB(waiting));
        waiting &= waiting - 1u;
        at++;
    }
}
