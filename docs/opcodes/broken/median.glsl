//! id: 7
//! name: median
//! operands: source, count, target
//! side-effects: no
//! idempotent: yes

uint sorted[8] = load(source);
