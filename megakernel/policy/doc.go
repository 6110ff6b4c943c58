// Package policy decides the shape of a GPU queue's next launch.
//
// A decision is a function of four values: a [Config], a [Request] (what is
// known about the queue, its graph and its device), the [State] the previous
// decision left, and nothing else. It returns a [Recommendation] (the launch
// plan and the evidence for it) and the next State. There is no clock, no
// randomness, no logging, no shared memory and, unless an out-of-memory error
// is returned, no allocation: the same values give the same result, bit for
// bit, on every machine and at any later time.
//
// # Stages
//
// [Decide] runs these stages, in this order. Each is one function:
//
//	stage          function        decides
//	infer          observe         density and memory pressure that were not given
//	promotion      observe         which counters are hot, or were and are still warm
//	raw topology   rawTopology     the walk the current values ask for, first match wins
//	stabilise      stabilise       whether the previous walk is kept inside its band
//	dwell          dwell           whether it is kept for some more decisions
//	length         plannedLength   the queue length that the plan is for
//	turn           turnSlots       how long a launch may take beside other queues
//	shed           shed            how many worker groups memory pressure or a sparse frontier leave
//	geometry       geometry        width, number of groups, padded slots, claim chunk, depth
//	pressure       pressure        the class of the queue length against one launch
//	hits, memory   memory          the hit buffer, the peak, and what the budget allows
//	in flight      inFlight        how many launches may be under way at a time
//	promotion      promote         which hot code is compiled in, hysteresis included
//	launch mode    launchMode      a wave, or a round of the resident kernel
//	mode           mode            interpreter or compiled kernel
//	age            age             whether waiting work must be aged
//
// decide.go is the order of them all; the stages are in the files of their names. When
// several things are wrong at once the error of the earliest stage is returned.
//
// The first four stages are [Classify], because a graph job needs no more: it
// decides the topology of each level, on the device (see [DirectorSource]) or
// here.
//
// # Two configurations
//
// [Reference] reproduces the launch policy of vyre-runtime 0.6.2, odd sizing
// included, and is held to that by golden vectors under testdata. [Standard]
// is the default and starts from the same thresholds; every way in which it
// differs is one documented switch of Config.
//
// # Units
//
// bps are basis points, 10,000 to the whole. Divisions of integers truncate
// unless a comment says otherwise. A slot is one unit of work in the queue, a
// width is the number of invocations of a workgroup.
//
// # Beside the decision
//
// [History] estimates what launches of a queue take, from their reports. [Diffuse] spreads
// priorities over sibling queues, [PickQueue] chooses which of them runs next, and
// [WorkerInFlight] and [InFlightNow] how many launches may be under way.
package policy
