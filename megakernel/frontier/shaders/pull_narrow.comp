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

// pull_word pulls the nodes of one word of the bitmaps and returns those that changed.
uint pull_word(uint word) {
    uint found = 0u;
    uint begin = word * 32u;
    uint count = min(32u, nodes - begin);
    for (uint i = 0u; i < count; i++) {
        uint v = begin + i;
        uint value = values[v];
        if (is_open(value)) {
            uint first = in_offsets[v];
            uint end = in_offsets[v + 1u];
            if (end - first < BLOCK_EDGES) {
                uint best = look(value, first, end);
                if (better(value, best)) {
                    values[v] = best; // nobody else writes it
                    found |= 1u << i;
#ifndef FIRST_WINS
                    if (value == IDENTITY) {
                        lane_first += out_degree(v);
                    }
#endif
                }
            }
        }
    }
    return found;
}

void main() {
    uint lanes = gl_NumWorkGroups.x * WIDTH;
    uint word = gl_GlobalInvocationID.x;
    if (word < bit_words) {
        uint found = pull_word(word);
        if (found != 0u) {
            atomicOr(bits[bits_next + word], found);
            uint at = atomicAdd(hits, uint(bitCount(found)));
            for (; found != 0u; found &= found - 1u) {
                write_hit(at, word * 32u + uint(findLSB(found)));
                at++;
            }
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
