package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// AskGraphs sends one request about the graphs of a queue to its worker and
// returns the answer. The error wraps natsio.ErrNoRuntime if no worker of that name owns a
// device, ErrNoGraph, ErrGraphTooLarge, ErrGraphRequest, ErrGraphBusy or ctx's error.
func AskGraphs(ctx context.Context, conn *natsio.Conn, worker, queue string, request *telemetry.GraphRequest) (*telemetry.GraphRequest, error) {
	if err := natsio.CheckNames(worker, queue); err != nil {
		return nil, err
	}
	r, err := conn.Request(ctx, conn.Subjects().Graph(worker, queue), request, telemetry.DefaultHeapLimits, telemetry.SubjectGraph)
	if err == nil && (r.GraphRequest.Ask != request.Ask || r.GraphRequest.Name != request.Name) {
		err = errOtherRequest
	}
	if err != nil {
		return nil, fmt.Errorf("graphs of %s.%s: %w", worker, queue, err)
	}
	return &r.GraphRequest, nil
}

// GraphOptions say what becomes of the lines of a graph file.
type GraphOptions struct {
	Directed bool // an edge leads one way
	Loops    bool // edges from a node to itself are kept
}

// LoadGraph sends a graph file of up to natsio.MaxGraphFile bytes to a worker, through the
// server's object store, and returns when the graph is on the device; see AskGraphs.
func LoadGraph(ctx context.Context, conn *natsio.Conn, worker, queue, name string, file io.Reader, o GraphOptions) error {
	object := fmt.Sprintf("%016x", rand.Uint64())
	if err := conn.PutGraph(ctx, object, file); err != nil {
		return err
	}
	_, err := AskGraphs(ctx, conn, worker, queue, &telemetry.GraphRequest{Ask: telemetry.GraphLoad, Name: name, Object: object, Directed: o.Directed, Loops: o.Loops})
	if err == nil || refused(ctx) {
		return err // the worker has deleted the file, or it expires
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanPatience)
	defer cancel()
	_ = conn.DropGraph(ctx, object) // it expires anyway
	return err
}

// refused reports whether ctx ended because the server refuses the user something: another request
// would fail the same way.
func refused(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, natsio.ErrNotPermitted) || errors.Is(cause, natsio.ErrLogin)
}

// cleanPatience is how long a requester that gives up waits for what it left to be cleaned up.
const cleanPatience = 2 * time.Second

// RunGraph asks for a run; see AskGraphs. If ctx ends before the answer comes, the worker is asked
// to end the run, and the error says whether it does.
func RunGraph(ctx context.Context, conn *natsio.Conn, worker, queue string, request *telemetry.GraphRequest) (*telemetry.GraphRequest, error) {
	run := *request
	run.Ask, run.Result = telemetry.GraphRun, 1+rand.Uint64N(math.MaxUint64)
	answer, err := AskGraphs(ctx, conn, worker, queue, &run)
	if err == nil || ctx.Err() == nil || refused(ctx) {
		return answer, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanPatience)
	defer cancel()
	_, failed := AskGraphs(ctx, conn, worker, queue, &telemetry.GraphRequest{Ask: telemetry.GraphCancel, Name: run.Name, Result: run.Result})
	switch {
	case failed == nil:
		return nil, fmt.Errorf("%w; the worker ends the run", err)
	case errors.Is(failed, natsio.ErrNoGraph):
		return nil, fmt.Errorf("%w; the run has ended", err)
	}
	return nil, fmt.Errorf("%w; the run goes on, because it could not be canceled: %w", err, failed)
}

// GraphResult fetches the bytes of a run's result from begin to end; see AskGraphs.
func GraphResult(ctx context.Context, conn *natsio.Conn, worker, queue, name string, result, begin, end uint64) ([]byte, error) {
	var all []byte
	for begin < end {
		answer, err := AskGraphs(ctx, conn, worker, queue, &telemetry.GraphRequest{Ask: telemetry.GraphRead, Name: name, Result: result, Offset: begin})
		if err != nil {
			return nil, err
		}
		if len(answer.Data) == 0 {
			return nil, fmt.Errorf("the result of graph %s ends at %d, before %d", name, begin, end)
		}
		data := answer.Data[:min(uint64(len(answer.Data)), end-begin)]
		all, begin = append(all, data...), begin+uint64(len(data))
	}
	return all, nil
}
