//! id: 18
//! name: saxpy
//! operands: a, x, y, count
//! side-effects: yes
//! idempotent: no
//! max-steps: 8192
//! steps: count
//! reference: saxpy

// y[i] = a * x[i] + y[i] for count floats. x and y are word offsets. precise
// keeps the product from being fused with the sum, so that every device and
// the Go reference round alike.
float factor = uintBitsToFloat(a);
FOR(i, count) {
    precise float product = factor * uintBitsToFloat(load(x + i));
    precise float sum = product + uintBitsToFloat(load(y + i));
    store(y + i, floatBitsToUint(sum));
}
