// The plan of a round is what its workgroups need in order to decide what it does, apart from what the round before counts.
// The round before writes it, so that deciding takes few instructions: a round waits longer for instructions than for
// the words. Nearly all rounds begin a level behind one that the round before completed. Others have no plan.

const uint NO_PLAN = 0u;
const uint UNLESS_TILES = 1u; // the round before completes a level, unless it leaves tiles
// COMPLETES: the round before completes a level
const uint ENDED = 3u;        // the job has ended

uvec4 plan_rows[4];
uvec4 plan_counts; // hits, next_edges, first_edges and tile_count of the round before

// load_plan loads the plan and the counts, or zeros.
void load_plan(bool load) {
    uint at = (PLAN_AT + READ_SLOT) / 4u;
    plan_rows = uvec4[](uvec4(0u), uvec4(0u), uvec4(0u), uvec4(0u));
    plan_counts = uvec4(0u);
    if (load) {
        plan_rows = uvec4[](control_block[at], control_block[at + 1u], control_block[at + 2u], control_block[at + 3u]);
        plan_counts = uvec4(counted[READ_SET], counted[READ_SET + 2u], counted[READ_SET + 3u], counted[READ_SET + 4u]);
    }
}

// has_plan says whether the round has a plan.
bool has_plan() {
    uint kind = plan_rows[0].x;
    return kind == ENDED || (offers_resident == 0u && kind > uint(plan_counts.w != 0u));
}

// planned returns the state of the round and the topology of its level.
uvec2 planned() {
    uint count = plan_rows[3].y + plan_counts.x, edges_out = plan_rows[3].z + plan_counts.y, open_edges = plan_rows[0].w - plan_counts.z;
    uint work = max(edges_out, count), options = plan_rows[0].z;
    bool pulls_more = product_at_most(work, work, plan_rows[1].z, open_edges);
    uint taken = pick(work <= plan_rows[0].y, options, pick(work <= open_edges && pulls_more, options >> 8u, options >> 16u));
    return uvec2(pick(count == 0u || plan_rows[0].x == ENDED, STATE_DONE, taken >> 4u & 15u), taken & 15u);
}

// follow_plan finds the words that the workgroups need.
void follow_plan() {
    uvec2 next = planned();
    state = next.x;
    topology = next.y;
    frontier_nodes = plan_rows[3].y + plan_counts.x;
    frontier_edges = plan_rows[3].z + plan_counts.y;
    level = plan_rows[1].x;
    sweep = plan_rows[1].y;
    hit_capacity = plan_rows[1].w;
    queued = min(frontier_nodes, hit_capacity);
    hits = 0u;
    tile_count = 0u;
    nodes = plan_rows[2].x;
    bit_words = plan_rows[2].y;
    push_groups = plan_rows[2].z;
    pull_blocks = plan_rows[2].w;
    hybrid_degree = plan_rows[3].x;
}

// option is a topology that the next level may have, given what the rule says before hysteresis, with the state in which
// it begins.
uint option(uint raw_topology, uint work) {
    uint kind = hold(raw_topology, topology, 0u, work);
    return kind | pick(pushes(kind), STATE_PUSH, STATE_PULL) << 4u;
}

// write_plan writes the plan of the next round.
void write_plan() {
    uint at = (PLAN_AT + WRITTEN_SLOT) / 4u;
    if (state >= STATE_LEVELS) {
        control_block[at] = uvec4(ENDED, 0u, 0u, 0u);
        return;
    }
    bool completes = state == STATE_PULL || ((state == STATE_PUSH || state == STATE_TILES) && processed + queued >= frontier_nodes);
    bool ruled = by_edges != 0u && pressed == 0u && forced == 0u && host_decides == 0u;
    bool goes_on = level + 1u < max_levels && logged + 1u < LOG_RECORDS && hit_capacity != 0u;
    bool may_fuse = wide == FUSED || topology == FUSED;
    uint kind = pick(completes && ruled && goes_on && !may_fuse && all_active == 0u, pick(state == STATE_PUSH, UNLESS_TILES, COMPLETES), NO_PLAN);
    uint low_most = pick(topology == SPARSE, max(sparse_work, rise_work), sparse_work);
    uint options = option(SPARSE, 0u) | option(HYBRID, ~0u) << 8u | option(wide, ~0u) << 16u;
    control_block[at] = uvec4(kind, low_most, options, unexplored - first_edges);
    control_block[at + 1u] = uvec4(level + 1u, dirty, pull_nodes, hit_capacity);
    control_block[at + 2u] = uvec4(nodes, bit_words, push_groups, pull_blocks);
    control_block[at + 3u] = uvec4(hybrid_degree, hits, next_edges, 0u);
}
