// Package whatif estimates what the launches of a log would have cost on the device if another policy, or
// another geometry, had launched them. It needs a log of decisions that were audited: launches at geometries
// that were drawn with a known probability, the usual one among them: those audits are the control.
//
// Three estimates stand side by side: the direct model, a line of time over slots for each way of launching; inverse
// propensity scoring, which weighs each launch that ran as the other would have launched it by how improbable
// that was (Horvitz, Thompson 1952, self-normalised); and the doubly robust one, which corrects the model by the
// weighed errors of those launches (Dudík, Langford, Li, Doubly Robust Policy Evaluation and Learning, ICML
// 2011), and is the answer. What neither the audits nor the model reach is refused, with the reason.
//
// It is the cost on the device of the launches that came: arrivals and waiting are not simulated.
package whatif
