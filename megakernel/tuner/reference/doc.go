// Package reference reproduces the tuner, the launch plan and the fixed-point
// primitives of the original, vyre 0.6, to the last bit, flaws included. It is
// tested against golden vectors of the original.
//
// It is the reference that the project's own tuner is compared with. The mode reference of
// --autotuner drives the ring with what the original means to be called (package session);
// what it has for tests only, or never calls, says so.
//
//   - [Mode] and [ParseMode]: what an operator may ask for.
//   - [Suggest]: latencies to a softmax policy in Q16 and its natural-gradient choice.
//   - [Best]: the first of the cheapest candidates.
//   - [Sweep], [SweepNatural]: every candidate once, then the fastest, or the choice by Suggest.
//   - [ColdStart]: a width from an estimate, before anything was measured.
//   - [Feedback]: measured launches per width, and the choice they give.
//   - [Resize]: halve a width that idles, double one that is not saturated.
//   - [Prepare]: element count, workgroup, grid and parameter words of a launch.
//   - [ProgramKey], [LaunchKey], [AdapterKey]: cache keys by byte layout.
//   - [FingerprintWords]: a program's fingerprint as its back ends keep it.
//   - [SoftmaxQ16], [SoftmaxWrapping], [Precondition]: the device's primitives, for comparison.
//   - [SoftmaxCosts], [CostGradient]: the same in f64, for comparison.
//   - [DiffuseDiagonal], [PickCheapest], [NaturalStep]: numeric helpers that it never calls.
//
// Q16 is a fixed-point number with 16 fractional bits: 65,536 is one.
package reference
