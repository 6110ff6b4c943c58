// Package hotset decides which opcodes deserve a fused kernel. It is a function
// of values: [Decide] takes what a launch executed and the state of the launches so
// far, and gives the next state with the wanted set. No clock, no randomness, no
// allocation.
//
// The set is the smallest one that makes up 95 % of what was executed, provided that it
// has no more than 8 members. Old launches count less and less.
//
// # Why it does not flap
//
// A set stays while it covers 90 %. A member is dropped only if its share is below 0.5 %
// and the rest still covers 95 %. After a change 16 launches pass before the next one,
// because a change costs a compilation.
//
// Launches that executed nothing say nothing and change nothing.
package hotset
