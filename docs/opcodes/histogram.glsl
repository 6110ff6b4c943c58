//! id: 16
//! name: histogram
//! operands: text, bytes, table
//! side-effects: yes
//! idempotent: no
//! max-steps: 8192
//! steps: bytes
//! reference: histogram

// Counts the bytes of a piece of text. text is a byte offset into the window,
// table a word offset of 256 counters.
FOR(i, bytes) {
    uint at = text + i;
    uint byte = load(at >> 2) >> (8u * (at & 3u)) & 255u;
    atomic_add(table + byte, 1u);
}
