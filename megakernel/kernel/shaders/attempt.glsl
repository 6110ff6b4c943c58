// How a slot is found, run and handed back.

// What this lane did besides the counts of count_done, added up at the end.
#ifdef COUNTED_REST
uint executed = 0u;
#endif
uint faulted = 0u;
uint unreached = 0u;
uint again = 0u;

// all_executed is how many slots this lane has done.
uint all_executed() {
#ifdef COUNTED_REST
    return executed;
#else
    return counted_done();
#endif
}

// A scheduled slot as it was read. The reads do not depend on one another, so
// that they are under way at the same time.
struct Found {
    uint slot;
    uint status;
    uvec2 head; // opcode, tenant
    uvec4 a;
    bool live; // it is scheduled and published
};

// find reads the slot at one position of the schedule, or of the cold list. A
// position past the page's count names a slot of the same page, which is safe to read.
Found find(uint position) {
    Found f;
    uint entry = schedule[position >> wave_shift];
    uint offset = position & PAGE_MASK;
    bool scheduled = offset < (entry & ENTRY_COUNT_MASK);
    f.slot = (entry >> ENTRY_COUNT_BITS << PAGE_SHIFT) + offset;
#ifdef CHAINED
    f.slot = wave_shift == 0u ? entry : f.slot;
    scheduled = scheduled || wave_shift == 0u;
#endif
    f.status = statuses[f.slot];
    f.head = slots[f.slot].head.xy;
    f.a = slots[f.slot].args[0];
    f.live = scheduled && (f.status & STATUS_STATE_MASK) == STATE_PUBLISHED;
    return f;
}

// attempt runs a slot that was found.
void attempt(Found f) {
    Outcome outcome = execute(f.slot, f.head.x, f.head.y, f.a, f.status);
    if (outcome.fault == NOT_REACHED) {
        unreached++;
        return;
    }
    bool failed = outcome.fault != FAULT_NONE;
#if defined(HAS_YIELD) || defined(HAS_AWAIT)
    bool round = outcome.fault == YIELDED || outcome.fault == REQUEUED;
    again += uint(round);
    faulted += uint(failed && !round);
#else
    faulted += uint(failed);
#endif
#ifdef COUNTED_REST
    executed += uint(!failed);
#endif
    count_done(failed ? ~0u : f.head.x);
    results[f.slot] = outcome.result;
    statuses[f.slot] = finished_status(f.status, outcome.fault);
}
