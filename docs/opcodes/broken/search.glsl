//! id: 20
//! name: search
//! operands: key, first, last
//! side-effects: no
//! idempotent: yes

uint low = first;
while (low < last) {
    low = heap[low] < key ? low + 1u : last;
}
result(low);
