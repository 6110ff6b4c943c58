//! id: 40
//! name: mix
//! operands: base, a, b, turns, inner, code
//! side-effects: yes
//! idempotent: no
//! max-steps: 600
//! reference: mix

// Every accessor and both loops, on eight words from base on.
uint sum = 0u;
FOR(i, turns) {
    if (i == 5u) continue;
    FOR(j, inner) {
        if (j == 6u) break;
        sum = sum * 3u + load(base + ((i + j) & 7u)) + i;
    }
}
store(base, sum);
sum += atomic_add(base + 1u, a);
sum += atomic_min(base + 2u, a);
sum += atomic_max(base + 3u, b);
sum += atomic_and(base + 4u, a);
sum += atomic_or(base + 5u, b);
sum += atomic_xor(base + 6u, a);
sum += exchange(base + 7u, b);
sum += compare_swap(base + 7u, b, a);
uint left = b & 31u;
WHILE(left > 0u) {
    left -= 1u;
    switch (left & 3u) {
    case 0u:
        sum += bitfieldExtract(a, 3, 5);
        break;
    case 1u:
        sum ^= uint(bitCount(b)) << 7;
        break;
    default:
        sum += uint(max(int(a), -int(b))) ^ (left > 9u ? a : b);
    }
}
result(sum + sequence() + window_words());
if (code != 0u) fail(code);
store(base + (a & 7u), sum);
