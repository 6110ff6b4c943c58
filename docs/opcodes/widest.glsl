//! kind: join
//! name: widest
//! join: max
//! seed: 0xFFFFFFFF

// The widest way: a way is as wide as its narrowest edge.
result(min(value, weight));
