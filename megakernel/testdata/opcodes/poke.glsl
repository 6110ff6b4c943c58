//! id: 63
//! name: poke
//! operands: mode, first, second, value, x4, x5, x6, x7, x8, x9, x10, x11
//! side-effects: yes
//! idempotent: no
//! reference: poke

// Two accesses at addresses that a hostile slot chooses, the second of them in
// any case.
switch (mode & 7u) {
case 0u: store(first, value); break;
case 1u: atomic_add(first, value); break;
case 2u: atomic_min(first, x4 + x5); break;
case 3u: atomic_max(first, x6 ^ x7); break;
case 4u: atomic_or(first, x8 & x9); break;
case 5u: exchange(first, x10 | x11); break;
case 6u: compare_swap(first, value, 1u); break;
default: result(load(first));
}
store(second, value);
