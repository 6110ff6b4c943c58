// Package fence is the protocol by which several processes decide for one queue and never
// decide the same number twice. It is a value for each queue and process, without a clock and
// without I/O.
//
// The decisions of a queue are messages on one subject of a stream. A message is written only
// as the successor of a certain one: the server compares the sequence of the subject's last
// message with the one that the writer names, and refuses what was decided on an older state.
// So the stream has one decision of each number, and each was made on the state after the one
// before it, whoever believes that it is the one to decide. A writer acts on its decision when
// it knows that the stream has it.
//
//	        Begin            Stored
//	idle ───────────▶ writing ──────▶ idle     the decision holds
//	 ▲                   │ Doubt
//	 │      Read         ▼
//	 └──────────────── reading                 it holds, or another is adopted
//
// A refusal says that another message is there; a lost answer, that nobody knows. Both are
// cleared up by reading the subject's last message, whose random id tells the writer's own from
// that of others. A write whose answer was lost may reach the server later: then it either
// follows its predecessor still, and is a decision like any other, made once on the right state,
// or it is refused.
package fence
