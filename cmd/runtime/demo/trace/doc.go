// Package trace turns two recorded data sets into load for a worker: the
// arrivals of a conversation service (Azure LLM inference trace 2023) and the
// breadth-first frontiers of a social graph (SNAP ego-Facebook). It decides
// what is submitted and what is reported at which moment; it sends nothing.
//
// # Mapping
//
// Time is the trace's own; whoever replays it multiplies by a speed.
//
//   - A request waits, in order of arrival, until its key-value cache fits:
//     (context + generated tokens) × [KVBytesPerToken] on top of what is
//     resident must stay within [MemoryBudgetBytes].
//   - An admitted request becomes work. Queue "prefill": one slot for every
//     [TokensPerPrefillSlot] context tokens, storing into the queue's window.
//     Queue "decode": one slot for every generated token, adding to one counter.
//   - It stays resident for generated tokens × [DecodeTimePerToken], then its
//     cache is freed. Resident bytes over [MemoryBudgetBytes] is the memory
//     pressure of both queues; it crosses 85 % at the trace's peaks.
//   - Every [RequestsPerLevel] admitted requests, queue "retrieve" expands one
//     more level of a breadth-first search: one slot for each frontier node, adding to
//     that node's word. The graph record carries the real frontier.
//   - Queue length is what waits: slots not yet admitted plus slots submitted
//     and not yet reported done. The second part is measured, by the replayer.
//
// The cache size is that of a 70-billion-parameter model with grouped-query
// attention in 16-bit precision: 2 (key and value) × 80 layers × 8 heads ×
// 128 dimensions × 2 bytes.
package trace
