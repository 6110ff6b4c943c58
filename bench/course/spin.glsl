//! id: 16
//! name: spin
//! operands: seed, turns, at
//! side-effects: yes
//! idempotent: yes
//! max-steps: 8192
//! steps: turns

uint x = seed;
FOR(i, turns) {
    x = x * 1664525u + 1013904223u; x = x ^ (x >> 13u);
}
store(at, x);
