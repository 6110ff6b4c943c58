// Package telemetry is the wire of Ringmaster: the records that producers,
// workers and subscribers exchange, their msgpack encoding, the structure check
// that every payload passes before it is decoded, and the subjects they travel
// on. It does no I/O.
//
// A receiver calls Check on the payload, then Decoder.Next until io.EOF; a
// sender appends records to a buffer with the Append functions. This comment is
// the schema. Whatever it says of a field is also a row beside its struct, and a test
// compares the two.
//
// # Subjects
//
// Every subject begins with a prefix, ringmaster.v1 unless configured, whose
// last token is the major version of the schema. <worker> and <queue> match
// [A-Za-z0-9_-]{1,64}. The queue name _batch is reserved for telemetry payloads
// whose records name their queues themselves.
//
//	subject                        direction  records
//	telemetry.<worker>.<queue>     in         queue, graph, priority, launch
//	telemetry.<worker>._batch      in         the same, of many queues
//	worker.<worker>                in, out    worker
//	recommend.<worker>.<queue>     out        recommendation
//	snapshot.<worker>.<queue>      request    answered with the last recommendation
//	work.<worker>.<queue>          in         work, through a JetStream work queue
//	queued.<worker>.<queue>        in         none: the work stream has a batch of the queue
//	done.<worker>.<queue>          out        done
//	heap.<worker>.<queue>          request    heap, answered with heap
//	graph.<worker>.<queue>         request    graph_request, answered with the same
//	cancel.<worker>.<queue>        request    cancel, answered with cancel
//	rejected.<worker>.<queue>      out        rejected
//	rejected.invalid               out        rejected, if worker or queue is unknown
//
// # Framing
//
// A payload is one or more msgpack values back to back, with nothing between or
// after them; each is one record. A record has one of two encodings:
//
//   - a map from field names to values, in any order. A name occurs at most
//     once. Unknown names are skipped together with their values.
//   - an array of the values in the order of the positions below, header first.
//     A missing tail is absent; elements after the last known position are
//     skipped.
//
// In both encodings nil stands for an absent field. A minor version adds fields at
// the end of a kind, or kinds, and never changes one, which is why an unknown
// minor is accepted and unknown names and elements are skipped. A receiver
// refuses a kind that it does not know.
//
// Integers are accepted in every msgpack width and sign that holds the value;
// they are written in the shortest. A float is never an integer, not even 1.0;
// an integer is accepted where a float is wanted. NaN and infinities are
// refused. A value outside a field's range refuses the record: nothing is
// clamped or narrowed. Texts are valid UTF-8 of a bounded number of bytes;
// tokens are texts of [A-Za-z0-9_-] other than _batch. Extension types,
// timestamps among them, are refused.
//
// # Limits
//
// Check applies them before decoding, to the payload as a whole. Done records have the
// limits of work:
//
//	                        telemetry  work       heap
//	payload, bytes          65536      1048576    266240
//	records in a payload    1024       64         1
//	values in a payload     32768      131072     256
//	string or bytes, bytes  4096       262144     262144
//	nested containers       8          8          8
//
// A payload that fails is refused whole. A record that fails later, by a range
// or a missing field, is refused alone, and those after it are decoded.
//
// # Reading the tables
//
// pos is the position in the array encoding. A name with an exclamation mark must
// be present. range is that of the number, of the bytes of a text, or of the
// elements of a list. A gauge holds until the next value of the same
// incarnation; absent means unchanged, and unknown if there was none yet. A
// counter is cumulative within an incarnation. An event belongs to its record
// alone. Zero is a value: it never means absent.
//
// Types: u16, u32, u64 are integers; i64 is one that Go holds in an int64; enum
// is a name or its code (maps carry names, arrays carry codes, both are accepted
// in both); bps are basis points.
//
// # Header
//
// Every record begins with the header.
//
//	pos  field                                 type      range          unit         class    note
//	 0   kind!                                 enum      1..12          -            event
//	 1   minor                                 u32       0..2^32-1      -            event    schema minor version of the sender, now 0
//	 2   incarnation!                          u64       1..2^64-1      -            event    random, drawn at each publisher start
//	 3   seq!                                  u64       1..2^64-1      records      event    counts from 1 in an incarnation, for each subject
//	 4   sent_ns                               i64       0..2^63-1      ns           event    sender's clock, Unix time; 0 is unknown
//	 5   queue                                 token     1..64 bytes    -            event    required on _batch, else that of the subject
//
// # Enumerations
//
//	kind         1 queue, 2 graph, 3 priority, 4 launch, 5 worker, 6 recommendation, 7 work, 8 done, 9 rejected, 10 heap, 11 graph_request, 12 cancel
//	status       0 ok, 1 failed
//	time_source  0 none, 1 query, 2 wall
//	op           0 read, 1 write
//	mode         0 wave, 1 lease
//	execution_mode 0 interpreter, 1 jit
//	ask          0 load, 1 list, 2 drop, 3 run, 4 read, 5 cancel
//	found        0 unseen, 1 canceled, 2 finished
//
// # Publishers of a queue
//
// One incarnation at a time reports a queue, in each of the kinds queue, graph,
// priority and launch by itself. It is live once two of its records were accepted,
// until it has been silent for three of its own intervals (the longest time of late
// between two of its records), at least 1 s and at most 10 s. A record of another
// incarnation is refused while it is live; the reason names the live one and how
// long ago it reported. Otherwise the other incarnation replaces it, and what the
// replaced one said is forgotten. A record with take_over true replaces it at once.
//
// # Record queue
//
// The load of one queue. The three device limits can only lower those that the
// worker announced.
//
//	pos  field                                 type      range          unit         class    note
//	 6   queue_len                             u32       0..2^32-1      items        gauge
//	 7   requested_worker_groups               u32       0..2^32-1      workgroups   gauge    ceiling; 0 derives it
//	 8   max_workgroup_size_x                  u32       1..2^32-1      invocations  gauge
//	 9   max_compute_workgroups_per_dimension  u32       1..2^32-1      workgroups   gauge
//	10   max_compute_invocations_per_workgroup u32       1..2^32-1      invocations  gauge
//	11   requested_hit_capacity                u32       0..2^32-1      hits         gauge    0 derives it
//	12   expected_hits_per_item                u32       0..2^32-1      hits/item    gauge    0 counts as 1
//	13   hot_opcode_count                      u32       0..2^32-1      opcodes      gauge
//	14   hot_window_count                      u32       0..2^32-1      windows      gauge
//	15   max_priority_age                      u32       0..2^32-1      ticks        gauge    of the oldest waiting item
//	16   requeue_count                         u64       0..2^64-1      slots        counter
//	17   executed_count                        u64       0..2^64-1      slots        counter
//	18   take_over                             bool      true|false     -            event    see Publishers of a queue
//	19   latency_target_ms                     u32       0..3600000     ms           gauge    from submission to done; 0: none
//
// # Record graph
//
// The frontier and the memory of one queue's graph. frontier_nodes never exceeds
// graph_node_count.
//
//	pos  field                                 type      range          unit         class    note
//	 6   graph_node_count                      u32       0..2^32-1      nodes        gauge    0: no graph
//	 7   graph_edge_count                      u32       0..2^32-1      edges        gauge
//	 8   frontier_density_bps                  u16       0..10000       bps          gauge
//	 9   frontier_out_degree_sum               u64       0..2^64-1      edges        gauge    edges leaving the frontier
//	10   frontier_nodes                        u32       0..2^32-1      nodes        gauge
//	11   unexplored_edges                      u64       0..2^64-1      edges        gauge
//	12   resident_device_bytes                 u64       0..2^64-1      bytes        gauge
//	13   device_memory_budget_bytes            u64       0..2^64-1      bytes        gauge    0: no budget
//	14   memory_pressure_bps                   u16       0..10000       bps          gauge
//	15   hit_count                             u64       0..2^64-1      nodes        counter  nodes that jobs reached
//	16   requeued_hit_count                    u64       0..2^64-1      nodes        counter  nodes that waited for room among the hits
//	17   take_over                             bool      true|false     -            event    see Publishers of a queue
//
// # Record priority
//
// The scheduling priority of one queue among those of its worker.
//
//	pos  field                                 type      range          unit         class    note
//	 6   priority                              f64       0..1000000000  -            gauge    larger is sooner
//	 7   coefficient                           f64       0..1           -            gauge    how freely its priority spreads to siblings; 0 if never given
//	 8   take_over                             bool      true|false     -            event    see Publishers of a queue
//
// # Record launch
//
// The report of one launch. A launch that is ok has no error text.
//
//	pos  field                                 type      range          unit         class    note
//	 6   launch!                               u64       1..2^64-1      -            event    unique within the incarnation
//	 7   decision                              u64       0..2^64-1      -            event    the one applied; 0: none
//	 8   status!                               enum      0..1           -            event
//	 9   error                                 text      0..256 bytes   -            event
//	10   applied_workgroup_size_x              u32       0..2^32-1      invocations  event    what was dispatched
//	11   applied_groups                        u32       0..2^32-1      workgroups   event
//	12   applied_claim_chunk                   u32       0..2^32-1      slots        event    slots claimed by one ticket
//	13   recommended_workgroup_size_x          u32       0..2^32-1      invocations  event    what the decision asked for
//	14   recommended_groups                    u32       0..2^32-1      workgroups   event
//	15   recommended_claim_chunk               u32       0..2^32-1      slots        event
//	16   not_applied                           text      0..256 bytes   -            event    why the two differ
//	17   elapsed_ns                            u64       0..2^64-1      ns           event    device time
//	18   time_source                           enum      0..2           -            event    what measured elapsed_ns
//	19   idle_ns                               u64       0..2^64-1      ns           event    device idle before the launch
//	20   wall_ns                               u64       0..2^64-1      ns           event    host time, submission to collection
//	21   executed                              u64       0..2^64-1      slots        event    that reached done
//	22   faulted                               u64       0..2^64-1      slots        event
//	23   requeued                              u64       0..2^64-1      slots        event    that go round again or were not reached
//	24   hits                                  u64       0..2^64-1      hits         event
//	25   opcode_counts                         []u32     0..64          slots        event    index is the opcode
//	26   fingerprint                           bytes     0..32 bytes    -            event    names the kernel, the same at every geometry: 0 or 32 bytes
//	27   mode                                  enum      0..1           -            event    a dispatch, or a kernel that stays on the device
//	28   kernel                                text      0..256 bytes   -            event    that ran: interpreter-<width>, fused-..., lease-...
//	29   in_flight                             u32       0..2^32-1      launches     event    under way at the worker when it began, itself included
//	30   applied_batch_depth                   u32       0..2^32-1      slots        event    most slots it could take, 0: as many as there were
//	31   execution_mode                        enum      0..1           -            event    of the kernel that ran
//	32   compiled_ready                        bool      true|false     -            event    a kernel compiled for what the queue executes is built
//
// # Record worker
//
// A worker announces itself and its device. An opcode is the array
// [id (u32), name (text, 0..64 bytes)]; the built-in ones are not listed.
//
//	pos  field                                 type      range          unit         class    note
//	 6   max_workgroup_size_x                  u32       1..2^32-1      invocations  gauge
//	 7   max_compute_workgroups_per_dimension  u32       1..2^32-1      workgroups   gauge
//	 8   max_compute_invocations_per_workgroup u32       1..2^32-1      invocations  gauge
//	 9   subgroup_size                         u32       0..2^32-1      invocations  gauge    0: unknown
//	10   vendor                                text      0..256 bytes   -            gauge
//	11   renderer                              text      0..256 bytes   -            gauge
//	12   driver                                text      0..256 bytes   -            gauge
//	13   device_uuid                           text      0..256 bytes   -            gauge
//	14   device_memory_budget_bytes            u64       0..2^64-1      bytes        gauge    0: no budget
//	15   capabilities                          []text    0..32          -            gauge    0..64 bytes each
//	16   opcodes                               []opcode  0..48          -            gauge    the operator's own
//	17   units                                 u32       0..65536       units        gauge    that run workgroups independently of each other; 0: unknown
//	18   unit_lanes                            u32       0..65536       invocations  gauge    held by a unit at once; 0: unknown
//	19   lease_slots                           u32       0..65536       slots        gauge    most of a launch that a kernel which stays on the device takes; 0: none
//
// # Record recommendation
//
// The answer of the policy. All fields are always sent; a reason is the array
// [rule (text, 0..64 bytes), threshold, value, distance (u64), held (bool)].
// A reserved position is nil in an array and has no key in a map: its field told
// what nobody acted on. How much memory a plan takes and whether the budget has cut
// its hits is told by the reasons.
//
//	pos  field                                 type      range          unit         class    note
//	 6   decision!                             u64       0..2^64-1      -            event
//	 7   answered_incarnation                  u64       0..2^64-1      -            event    of the newest record it saw
//	 8   answered_seq                          u64       0..2^64-1      records      event
//	 9   answered_sent_ns                      i64       0..2^63-1      ns           event
//	10   error                                 text      0..256 bytes   -            event    why there is no plan; else empty
//	11   workgroup_size_x                      u32       0..2^32-1      invocations  gauge
//	12   groups                                u32       0..2^32-1      workgroups   gauge
//	13   claim_chunk                           u32       0..2^32-1      slots        gauge
//	14   batch_depth                           u32       0..2^32-1      slots        gauge    most slots of one launch
//	15   launch_mode                           text      0..64 bytes    -            gauge    wave, or lease: on the kernel that stays on the device
//	16   reserved_16                           reserved  -              -            event    was slot_count
//	17   dispatch_grid                         [3]u32    3              workgroups   gauge
//	18   worker_groups                         u32       0..2^32-1      workgroups   gauge    ceiling the grid was cut from
//	19   hit_capacity                          u32       0..2^32-1      hits         gauge
//	20   reserved_20                           reserved  -              -            event    was pressure
//	21   execution_mode                        text      0..64 bytes    -            gauge    name of the policy's mode
//	22   topology                              text      0..64 bytes    -            gauge    name of the policy's topology
//	23   reserved_23                           reserved  -              -            event    was promote_hot_opcodes
//	24   reserved_24                           reserved  -              -            event    was promote_hot_windows
//	25   reserved_25                           reserved  -              -            event    was age_priority_work
//	26   reserved_26                           reserved  -              -            event    was estimated_peak_bytes
//	27   device_memory_budget_bytes            u64       0..2^64-1      bytes        gauge
//	28   queue_len                             u32       0..2^32-1      items        gauge    of the request
//	29   frontier_density_bps                  u16       0..10000       bps          gauge    of the request, or inferred
//	30   memory_pressure_bps                   u16       0..10000       bps          gauge    of the request, or inferred
//	31   switch_held                           bool      true|false     -            event    hysteresis kept the topology
//	32   changed                               bool      true|false     -            event    launches something else: geometry, in_flight, execution_mode, launch_mode or walk
//	33   heartbeat                             bool      true|false     -            event    a repeat of the last decision
//	34   committed_on_publish                  bool      true|false     -            gauge    this worker never reported a launch
//	35   valid_for_ms                          u32       0..2^32-1      ms           event
//	36   reasons                               []reason  0..16          -            event
//	37   reserved_37                           reserved  -              -            event    was hit_capacity_reduced
//	38   in_flight                             u32       0..2^32-1      launches     gauge    most launches of the queue under way at a time
//
// # Record work
//
// A batch of slots. A slot is the array [opcode, priority, arg0 .. arg11] with
// 0 to 12 arguments, those left out being zero; opcode and arguments are u32,
// priority is 0 (most urgent) to 4. More elements refuse the record: a slot is
// executed, so nothing in it is skipped.
//
// A run is slots that differ in nothing but their arguments: the array [opcode,
// priority, count, arg0 .. arg11]. An argument is a u32, which all of its slots have, or
// a byte string of count little-endian u32, one a slot: what a numpy array, a typed
// array or a Go slice has in memory. A batch has slots, runs or both, up to 65536 slots
// together, and the slots come first: runs of a batch go on counting where slots end.
//
// A batch that names the epoch of an upload's answer depends on what was
// uploaded: if the heap is of another epoch when the batch arrives, all its
// slots are dropped with the error "heap lost". A batch has no deadline if
// deadline_ms is absent or 0; else it counts from when the worker takes the
// batch, and slots that no launch has begun by then are dropped.
//
//	pos  field                                 type      range          unit         class    note
//	 6   batch!                                token     1..64 bytes    -            event    the de-duplication id
//	 7   slots                                 []slot    1..4096        -            event
//	 8   want_results                          bool      true|false     -            event    ask for the result word of every slot
//	 9   epoch                                 u64       0..2^64-1      -            event    of the heap it depends on; 0: none
//	10   deadline_ms                           u32       0..2^32-1      ms           event    0: none
//	11   runs                                  []run     1..1024        -            event    1 to 65536 slots each
//
// # Record done
//
// A finished batch. A fault is the array [index in the batch, code], both u32;
// never more of them are listed than faulted says. A slot that did not run is
// neither executed nor faulted but dropped, and error says why: heap lost (the
// device was lost, and with it the data of the window), canceled, deadline, or
// device lost. A print is the index of its slot in the batch and the slot's first
// four arguments; later prints may have overwritten earlier ones before the worker
// could read them.
//
//	pos  field                                 type      range          unit         class    note
//	 6   batch!                                token     1..64 bytes    -            event
//	 7   executed!                             u32       0..65536       slots        event
//	 8   faulted!                              u32       0..65536       slots        event
//	 9   faults                                []fault   0..64          -            event    the first of them
//	10   results                               []u32     0..65536       -            event    one a slot, if asked for
//	11   work_sent_ns                          i64       0..2^63-1      ns           event    sent_ns of the batch
//	12   dropped                               u32       0..65536       slots        event    that did not run
//	13   error                                 text      0..256 bytes   -            event    why; empty if none was dropped
//	14   prints                                []u32     0..320         -            event    what slots printed, five words each; the first 64
//	15   printed                               u32       0..65536       slots        event    that printed and whose words the worker still had
//
// # Record rejected
//
// A refused payload or record. The codes of reason are the Reason constants of
// this package and of natsio. A payload that is refused as rate_limited was not
// read; its sender should send its newest value again, not everything it had sent.
//
//	pos  field                                 type      range          unit         class    note
//	 6   subject                               text      0..256 bytes   -            event    it came in on
//	 7   reason!                               text      0..64 bytes    -            event
//	 8   detail                                text      0..1024 bytes  -            event    a sentence
//	 9   bytes                                 u32       0..2^32-1      bytes        event    size of the payload
//	10   suppressed                            u64       0..2^64-1      records      event    refusals left out by the rate limit
//
// # Record heap
//
// A transfer from or to the window of the subject's queue, and its answer,
// which repeats op and offset and says in count how many words were moved. A
// refused request is answered without a record, with the headers
// Nats-Service-Error-Code and Nats-Service-Error: 400 not such a record, 404 the
// queue has no window yet, 413 too large, 416 outside the window, 503 the worker
// cannot do it now. The epoch of an answer names the content of the windows: it
// changes when a worker starts, or goes on after its device was lost.
//
//	pos  field                                 type      range          unit         class    note
//	 6   op!                                   enum      0..1           -            event    of the window
//	 7   offset                                u32       0..2^32-1      words        event    first word in the window
//	 8   count                                 u32       0..65536       words        event    to read; in an answer, moved
//	 9   data                                  bytes     0..262144 bytes -           event    little-endian words: to write, or that were read
//	10   epoch                                 u64       0..2^64-1      -            event    in an answer
//
// # Record graph_request
//
// A request about the graphs that the subject's queue has on the worker's device,
// and its answer, which repeats ask and name. docs/graphs.md, "The requests", says
// which fields belong to which ask. The limits are those of heap records.
//
//	pos  field                                 type      range          unit         class    note
//	 6   ask!                                  enum      0..5           -            event
//	 7   name                                  text      0..64 bytes    -            event    of the graph; required but for list
//	 8   offset                                u64       0..2^64-1      bytes        event    read: of data; answer of run: length of the report
//	 9   total                                 u64       0..2^64-1      bytes        event    answer of run: of the result
//	10   data                                  bytes     0..262144 bytes -           event
//	11   directed                              bool      true|false     -            event    load
//	12   algorithm                             text      0..64 bytes    -            event    run: bfs, sssp, cc or reach
//	13   topology                              text      0..64 bytes    -            event    run: of every level; auto if empty
//	14   decide_host                           bool      true|false     -            event    run
//	15   budget_bytes                          u64       0..2^64-1      bytes        event    run: beside the graph; 0 is the worker's
//	16   hit_capacity                          u32       0..2^32-1      nodes        event    run: 0 is all
//	17   result                                u64       0..2^64-1      -            event    answer of run; read; to cancel by: run, cancel
//	18   object                                text      0..64 bytes    -            event    load: name of the file in the object store
//	19   loops                                 bool      true|false     -            event    load: of a list, edges from a node to itself are kept
//
// # Record cancel
//
// A request to withdraw a batch of the subject's queue, and its answer, which
// repeats batch. A payload is one record of up to 1024 bytes. found says what the
// worker found:
//
//   - unseen: the worker has not taken the batch. If it comes within an hour, it
//     does not run.
//   - canceled: slots that no launch had begun are dropped, and counted in slots.
//     Slots that a launch has begun run, or are dropped when it ends.
//   - finished: there is nothing left to withdraw.
//
// In every case a done record says what became of the batch; for an unseen one, once
// it comes. A refused request is answered as for heap records: 400 not such a record,
// 413 too large, 429 too many requests, 503 the worker cannot remember more now. A
// worker that is restarted has forgotten.
//
//	pos  field                                 type      range          unit         class    note
//	 6   batch!                                token     1..64 bytes    -            event
//	 7   found                                 enum      0..2           -            event    of an answer
//	 8   slots                                 u32       0..65536       slots        event    of an answer: dropped so far
package telemetry
