package actors

import "container/list"

// maxFinished is how many finished batches of a worker are remembered. A
// delivery that comes again later than that many batches runs again.
const maxFinished = 1 << 14

// finishedBatches remembers the batches that ran, least recently seen first
// out, so that a batch delivered twice runs once. A batch whose done record
// has not reached the server keeps it here for the next delivery.
type finishedBatches struct {
	byKey map[batchKey]*list.Element // of *finishedBatch
	order list.List                  // most recently seen first
}

type finishedBatch struct {
	key     batchKey
	pending *batch // nil once its done record was delivered
}

func newFinishedBatches() *finishedBatches {
	return &finishedBatches{byKey: make(map[batchKey]*list.Element)}
}

// get returns the entry of a batch that ran, or nil.
func (f *finishedBatches) get(key batchKey) *finishedBatch {
	e := f.byKey[key]
	if e == nil {
		return nil
	}
	f.order.MoveToFront(e)
	return e.Value.(*finishedBatch)
}

// add remembers a batch that ran.
func (f *finishedBatches) add(b *batch) {
	if f.order.Len() == maxFinished {
		oldest := f.order.Remove(f.order.Back()).(*finishedBatch)
		delete(f.byKey, oldest.key)
	}
	f.byKey[b.key()] = f.order.PushFront(&finishedBatch{key: b.key(), pending: b})
}
