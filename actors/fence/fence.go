package fence

// Writer is what one process knows of the messages of one queue. The zero value knows none.
type Writer struct {
	last    uint64 // sequence of the newest message known, 0: none
	write   uint64 // id of the write under way, 0: there is none
	reading bool   // of the write under way: its outcome is in doubt
}

// Busy says that a write is under way. Nothing is decided meanwhile.
func (w *Writer) Busy() bool { return w.write != 0 }

// Last is the sequence of the newest message known, 0 for none.
func (w *Writer) Last() uint64 { return w.last }

// Begin starts a write with a random id, not 0, while none is under way. expect is the sequence
// that it names: that of the message whose state the decision was made on.
func (w *Writer) Begin(id uint64) (expect uint64) {
	if w.Busy() || id == 0 {
		panic("fence: a write began within another, or has no id")
	}
	w.write = id
	return w.last
}

// Stored ends the write under way: the stream has the decision, and it holds.
func (w *Writer) Stored(sequence uint64) {
	w.last, w.write, w.reading = sequence, 0, false
}

// Doubt notes that the write under way was refused, or that its answer was lost. The caller
// reads the queue's last message.
func (w *Writer) Doubt() { w.reading = w.Busy() }

// Reading says that the write under way is in doubt.
func (w *Writer) Reading() bool { return w.reading }

// Read ends the write under way, in doubt, by the sequence and id of the queue's last message;
// both are 0 if there is none. mine says that it is the write: the decision holds. Otherwise it
// does not hold here, and the message's state is what the next decision builds on, whoever wrote
// it: it may be an earlier write of this process.
//
// A sequence below Last is that of a stream that was restored or made anew.
func (w *Writer) Read(sequence, id uint64) (mine bool) {
	mine = id != 0 && id == w.write
	w.last, w.write, w.reading = sequence, 0, false
	return mine
}

// Forget ends the write under way without an outcome: its process decides alone from now on.
func (w *Writer) Forget() { w.write, w.reading = 0, false }

// Heard notes a message that came by, and says that its state is to be adopted: it is newer than
// all that is known, and no write is under way. Of a write under way the outcome tells more.
func (w *Writer) Heard(sequence uint64) (adopt bool) {
	if w.Busy() || sequence <= w.last {
		return false
	}
	w.last = sequence
	return true
}
