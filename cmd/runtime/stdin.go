package main

import (
	"context"
	"io"
	"sync"
)

// interruptible is a reader that ends with its context. Without it, a person who does
// not type, or an idle pipe, would keep a command from ending when it is told to.
// Nothing is read before it is asked for.
type interruptible struct {
	ctx   context.Context
	in    io.Reader
	begun sync.Once
	out   *io.PipeReader
}

// Read implements io.Reader. The error of an ended context is its own.
func (r *interruptible) Read(p []byte) (int, error) {
	r.begun.Do(r.begin)
	return r.out.Read(p)
}

func (r *interruptible) begin() {
	out, to := io.Pipe()
	r.out = out
	context.AfterFunc(r.ctx, func() { to.CloseWithError(r.ctx.Err()) })
	go func() { // until the input ends, or the process
		_, err := io.Copy(to, r.in)
		to.CloseWithError(err)
	}()
}
