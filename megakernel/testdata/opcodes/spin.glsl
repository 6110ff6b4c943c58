//! id: 41
//! name: spin
//! operands: turns
//! side-effects: no
//! idempotent: yes
//! max-steps: 32768
//! steps: turns
//! reference: spin

uint n = 0u;
FOR(i, turns) {
    n += i ^ (n >> 3);
}
result(n);
