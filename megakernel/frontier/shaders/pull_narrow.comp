// Pulls like pull.glsl, but an invocation takes one node at a time. Nodes with too many
// in-edges for that are listed in pieces.

bool in_frontier(uint u) { return (bits[bits_now + (u >> 5u)] >> (u & 31u) & 1u) != 0u; }

// look joins a value with what arrives along some in-edges.
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

#ifdef FIRST_WINS
// pull_word looks at the in-edges of those nodes of a word at which nothing has arrived, and
// returns the nodes that have a frontier node among their in-edges. It is one loop over nodes
// and edges, because lanes would have to wait for the inner loops of others.
uint pull_word(uint word) {
    uint open = ~bits[BITS_CLOSED + word];
    uint found = 0u, node = 0u, edge = 0u, end = 0u;
    while (true) {
        if (edge == end) {
            if (open == 0u) {
                break;
            }
            node = uint(findLSB(open));
            open &= open - 1u;
            edge = in_offsets[word * 32u + node];
            end = in_offsets[word * 32u + node + 1u];
            end = end - edge < BLOCK_EDGES ? end : edge;
        }
        if (edge < end) {
            uint u = in_targets[edge];
            edge++;
            lane_examined++;
            if (in_frontier(u)) {
                found |= 1u << node;
                edge = end;
            }
        }
    }
    return found;
}
#else
// pull_word pulls the nodes of one word of the bitmaps that have in-edges and returns
// those that changed.
uint pull_word(uint word) {
    uint found = 0u;
    for (uint open = ~bits[BITS_ORPHANS + word]; open != 0u; open &= open - 1u) {
        uint node = uint(findLSB(open));
        uint v = word * 32u + node;
        uint value = values[v];
        uint first = in_offsets[v];
        uint end = in_offsets[v + 1u];
        uint best = look(value, first, end - first < BLOCK_EDGES ? end : first);
        if (better(value, best)) {
            values[v] = best; // no other invocation writes it
            found |= 1u << node;
            if (value == IDENTITY) {
                lane_first += out_degree(v);
            }
        }
    }
    return found;
}
#endif

bool is_open(uint value) {
#ifdef FIRST_WINS
    return value == IDENTITY;
#else
    return true;
#endif
}

void take(uint word, uint found) {
    atomicOr(bits[bits_next + word], found);
#ifdef FIRST_WINS
    atomicOr(bits[BITS_CLOSED + word], found);
#endif
    uint at = hits + atomicAdd(counted_hits, uint(bitCount(found)));
    for (; found != 0u; found &= found - 1u) {
        uint v = word * 32u + uint(findLSB(found));
#ifdef FIRST_WINS
        values[v] = extend(level, 1u);
#endif
        write_hit(at, v);
        at++;
    }
}

void main() {
    uint lanes = gl_NumWorkGroups.x * WIDTH;
    uint word = gl_GlobalInvocationID.x;
    if (word < bit_words) {
        uint found = pull_word(word);
        if (found != 0u) {
            take(word, found);
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
