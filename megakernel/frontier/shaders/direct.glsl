// What the director does before a round: it closes the round before, and decides what this one does. One invocation of
// each workgroup runs it, all from the same words. The first workgroup writes on behalf of all.

uniform uint round;
uniform uint offers_persistent; // 1: the persistent kernel follows in this round

// load_round loads what the round before left, with what its workgroups counted.
void load_round() {
    now = rounds[round % 3u];
    Counts counts = counted[round % 3u];
    now.hits += counts.hits;
    now.examined += counts.examined;
    now.next_edges += counts.next_edges;
    now.first_edges += counts.first_edges;
    now.tile_count += counts.tile_count;
    now.gathered += counts.gathered;
}

void begin_pass() {
    now.state = STATE_PUSH;
    now.passes++;
    now.tile_count = 0u;
}

void begin_gather() {
    now.state = STATE_GATHER;
    now.gathered = 0u;
}

// close_level ends the current level, or the sowing of the sources.
void close_level() {
    if (now.state != STATE_START) {
        if (gl_WorkGroupID.x == 0u) {
            log_level();
        }
        now.logged++;
    }
    turn_over();
}

// close_push says whether a push was the last pass over its frontier. If not, it decides what follows.
bool close_push() {
    if (now.state == STATE_PUSH && now.tile_count != 0u) {
        now.state = STATE_TILES;
        return false;
    }
    now.processed += now.queued;
    if (now.processed >= now.frontier_nodes) {
        return true;
    }
    now.requeued += min(now.frontier_nodes - now.processed, ~now.requeued); // saturates: every pass counts a waiting node again
    begin_gather();
    return false;
}

// level_waits closes the round before, and says whether a level waits for its topology.
bool level_waits() {
    switch (now.state) {
    case STATE_PUSH:
    case STATE_TILES:
        if (!close_push()) {
            return false;
        }
        close_level();
        return true;
    case STATE_GATHER:
        now.queued = min(now.gathered, job.hit_capacity);
        begin_pass();
        return false;
    case STATE_START:
    case STATE_PULL:
        close_level();
        return true;
    case STATE_PERSISTENT: // it closed its levels itself
    case STATE_FULL:
        return true;
    case STATE_ASK:
        return now.decided != 0u;
    }
    return false; // the job has ended
}

// stop_before is the state in which the job waits or ends before the current level, or START if it goes on.
uint stop_before(bool by_host) {
    if (now.frontier_nodes == 0u) {
        return STATE_DONE;
    }
    if (now.level >= job.max_levels) {
        return STATE_LEVELS;
    }
    if (now.logged >= LOG_RECORDS) {
        return STATE_FULL;
    }
    return job.host_decides != 0u && !by_host ? STATE_ASK : STATE_START;
}

// begin_level begins the current level, which has its topology.
void begin_level() {
    now.clears = now.dirty;
    now.persistent = ORDERED;
    if (fits_persistent() && (offers_persistent != 0u || now.topology == FUSED)) {
        now.state = STATE_PERSISTENT;
        now.persistent = offers_persistent != 0u ? ORDERED : CHOSEN; // waits for a round that has the kernel
    } else if (!pushes(now.topology)) {
        now.state = STATE_PULL;
        now.passes = 1u;
    } else if (now.queued == 0u) {
        begin_gather();
    } else {
        begin_pass();
    }
    now.dirty = uint(now.state == STATE_PULL);
}

void direct() {
    now.clears = 0u;
    if (now.state == STATE_PERSISTENT && now.persistent == CHOSEN) {
        begin_level();
        return;
    }
    if (!level_waits()) {
        return;
    }
    bool by_host = now.state == STATE_ASK;
    uint stop = stop_before(by_host);
    if (stop == STATE_START) {
        choose(by_host);
        begin_level();
    } else {
        now.state = stop;
    }
    now.decided = 0u;
}

// write_round writes down what this round does, and orders the persistent kernel if it is to run.
void write_round() {
    rounds[(round + 1u) % 3u] = now;
    bool ordered = now.state == STATE_PERSISTENT && now.persistent == ORDERED;
    persistent_args[0] = ordered ? job.persistent_groups : 0u;
    if (ordered) {
        team_joined = 0u;
        team_agreed = 0u;
        for (uint i = 0u; i < 3u; i++) {
            team_counts[i] = uvec4(0u);
        }
    }
}
