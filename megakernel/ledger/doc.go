// Package ledger keeps the books of an engine: which slots are pending, where they lie,
// which of them the next wave runs, and what became of each. Values go in and values come
// out; there is no device, no goroutine, no lock and no clock in it.
//
// # The way of a batch
//
// [Ledger.Check] and [Ledger.NewEntry] look at a batch by itself. [Ledger.Submit] takes it for a queue and
// reserves positions in pages for the slots of its first segment, as far as there are
// pages. Whoever reserved positions writes [Ledger.Slots] to where the device finds them,
// and says so with [Ledger.Publish]. [Ledger.Begin], [Ledger.Reserve] and [Ledger.Plan]
// make a [Wave] of what is published. When the device is done, [Wave.Collect] takes in
// what it left, and [Ledger.Settle] finishes batches, opens their next segments and frees
// pages; [Ledger.Return] puts everything back instead. [Ledger.Cancel], [Ledger.Tick] and
// [Ledger.Configure] withdraw batches. [Ledger.Finished] hands results out, each once.
//
// # Invariants
//
// A batch that Submit took is handed out by Finished exactly once, with every slot
// executed, faulted or dropped. A slot is in one wave at a time. A page holds slots of
// one queue and one priority. Pending counts are those of the slots that are not
// terminal.
//
// # Who may call
//
// Everything is called by one goroutine at a time, with three exceptions: Check and
// NewEntry look at the configuration only; Slots touches positions that its caller has reserved and not
// published; Collect touches the pages of its wave, which no other call does until Settle
// or Return. These may run beside all others.
package ledger
