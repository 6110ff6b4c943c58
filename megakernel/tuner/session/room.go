package session

import (
	"errors"
	"sync/atomic"
)

// ErrCrowded says that there is no room for the tuner of one more kernel or size.
var ErrCrowded = errors.New("too many tuners")

// Room bounds the tuners of several sessions together. Whoever can report launches can name any number
// of queues and kernels, and each would get a tuner of some kilobytes. A nil Room has no bound. Its
// methods may be called from any goroutine.
type Room struct {
	most  int64
	taken atomic.Int64
	of    *Room
}

// NewRoom returns room for some tuners, which also take room of another one; nil is none.
func NewRoom(most int, of *Room) *Room { return &Room{most: int64(most), of: of} }

// Taken is the number of tuners that take room.
func (r *Room) Taken() int64 { return r.taken.Load() }

// take takes room for a tuner, and reports whether there was some.
func (r *Room) take() bool {
	if r == nil {
		return true
	}
	if r.taken.Add(1) <= r.most && r.of.take() {
		return true
	}
	r.taken.Add(-1)
	return false
}

// give gives the room of a tuner back.
func (r *Room) give() {
	for ; r != nil; r = r.of {
		r.taken.Add(-1)
	}
}
