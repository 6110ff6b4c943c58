//! id: 17
//! name: dfa
//! operands: text, bytes, table, begin, matches
//! side-effects: yes
//! idempotent: no
//! max-steps: 8192
//! steps: bytes
//! reference: dfa

// Runs a deterministic finite automaton over a piece of text and counts the
// transitions that are marked as matches. text is a byte offset into the window,
// table a word offset of 256 next states for each state. Bit 31 of a next state
// marks a match. matches is the word that the matches are added to.
//
// A piece begins in state 0. If it does not lie at begin, where the whole text
// does, the byte before it is stepped over first, without counting; this is exact
// for automata whose state depends on the last byte only.
uint state = 0u;
if (text != begin) {
    uint at = text - 1u;
    uint byte = load(at >> 2) >> (8u * (at & 3u)) & 255u;
    state = load(table + byte) & 0x7FFFFFFFu;
}
uint found = 0u;
FOR(i, bytes) {
    uint at = text + i;
    uint byte = load(at >> 2) >> (8u * (at & 3u)) & 255u;
    uint next = load(table + (state << 8) + byte);
    found += next >> 31;
    state = next & 0x7FFFFFFFu;
}
atomic_add(matches, found);
result(state);
