// Package hotset decides which opcodes deserve a fused kernel. It is a function
// of values: [Decide] takes what a launch executed and the state after the launch
// before, and gives the wanted set, why, and the next state. No clock, no
// randomness, no allocation.
//
// # Two reasons to fuse
//
// Share: the smallest set of opcodes that makes up Config.ShareBps of what was
// executed, provided that it has no more than Config.MaxHot members. Old launches
// count less and less.
//
// Windows: a window is all slots of one tenant, one ticket and one opcode; it is
// hot from Config.WindowSlots slots on, required and lookahead together. When
// at least Config.Windows windows are hot, on average over the last launches,
// their opcodes are wanted whatever their share is: a ticket's owner waits for
// all of its slots. The rest of the set is filled by share.
//
// # Why it does not flap
//
// A set stays while it covers Config.LeaveBps, which is below Config.ShareBps;
// windows keep it while their average is at least Config.WindowsLeave. A member is dropped only
// if its share is below Config.StaleBps and the rest still covers
// Config.ShareBps. And after a change, Config.MinDwell launches pass before the
// next one, because a change costs a compilation.
//
// Launches that executed nothing say nothing and change nothing.
package hotset
