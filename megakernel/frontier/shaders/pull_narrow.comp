// Pulls as pull.comp does, an invocation a node at a time. Nodes of too many in-edges for
// that are listed in pieces.

bool in_frontier(uint u) { return (bits[bits_now + (u >> 5u)] >> (u & 31u) & 1u) != 0u; }

// look joins what arrives along some in-edges to a value.
uint look(uint value, uint first, uint end) {
    uint edge = first;
    for (; edge < end; edge++) {
        uint u = in_targets[edge];
        if (in_frontier(u)) {
            value = join_values(value, extend(FRONTIER_VALUE(u), IN_WEIGHT(edge)));
#ifdef FIRST_WINS
            edge++;
            break;
#endif
        }
    }
    lane_examined += edge - first;
    return value;
}

bool is_open(uint value) {
#ifdef FIRST_WINS
    return value == IDENTITY;
#else
    return true;
#endif
}

void main() {
    uint lanes = gl_NumWorkGroups.x * WIDTH;
    uint found = 0u;
    uint turn = 0u;
    for (uint v = gl_GlobalInvocationID.x; v < nodes; v += lanes) {
        uint value = values[v];
        if (is_open(value)) {
            uint first = in_offsets[v];
            uint end = in_offsets[v + 1u];
            if (end - first < BLOCK_EDGES) {
                uint best = look(value, first, end);
                if (better(value, best)) {
                    uint old = ATOMIC_JOIN(values[v], best);
                    found |= uint(mark(v, old)) << turn;
                }
            }
        }
        turn++;
    }
    uint count = uint(bitCount(found));
    if (count != 0u) {
        uint at = atomicAdd(hits, count);
        for (; found != 0u; found &= found - 1u) {
            write_hit(at, gl_GlobalInvocationID.x + uint(findLSB(found)) * lanes);
            at++;
        }
    }
    for (uint at = gl_GlobalInvocationID.x; at < pull_blocks; at += lanes) {
        uvec3 piece = heavy_blocks[at].xyz;
        uint value = values[piece.x];
        if (is_open(value)) {
            uint best = look(value, piece.y, piece.z);
            if (better(value, best)) {
                travel(piece.x, best);
            }
        }
    }
    end_hits();
}
