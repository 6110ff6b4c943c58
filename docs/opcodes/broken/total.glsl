//! id: 21
//! name: total
//! operands: source, count, target, scale
//! side-effects: no
//! idempotent: yes

FOR(i, count) {
    atomic_add(target, load(source + i));
}
