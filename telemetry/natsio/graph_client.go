package natsio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"ringmaster/telemetry"
)

// AskGraphs sends one request about the graphs of a queue to its worker and
// returns the answer. The error wraps ErrNoRuntime if no worker of that name owns a
// device, ErrNoGraph, ErrGraphTooLarge, ErrGraphRequest, ErrGraphBusy, ErrWorkerGone or
// ctx's error.
func (c *Conn) AskGraphs(ctx context.Context, worker, queue string, request *telemetry.Resident) (*telemetry.Resident, error) {
	if err := CheckNames(worker, queue); err != nil {
		return nil, err
	}
	attended, done := c.attend(ctx, worker, queue)
	defer done()
	r, err := c.askGraphs(attended, worker, queue, request)
	if gone := context.Cause(attended); err != nil && errors.Is(gone, ErrWorkerGone) {
		err = gone
	}
	if err != nil {
		return nil, fmt.Errorf("graphs of %s.%s: %w", worker, queue, err)
	}
	return &r.Resident, nil
}

// askGraphs sends one request and returns the record that answers it.
func (c *Conn) askGraphs(ctx context.Context, worker, queue string, request *telemetry.Resident) (*telemetry.Record, error) {
	h := c.AnswerHeader()
	r, err := c.Ask(ctx, c.cfg.Subjects.Graph(worker, queue), telemetry.AppendResident(nil, c.cfg.Form, &h, request), telemetry.DefaultHeapLimits, telemetry.SubjectGraph)
	if err != nil {
		return nil, err
	}
	if r.Resident.Ask != request.Ask || r.Resident.Name != request.Name {
		return nil, errors.New("the answer is to another request")
	}
	return r, nil
}

// GraphOptions say what becomes of the lines of a graph file.
type GraphOptions struct {
	Directed bool // an edge leads one way
	Loops    bool // edges from a node to itself are kept
}

// LoadGraph sends a graph file of size bytes to a worker and returns when the
// graph is on the device; see AskGraphs.
func (c *Conn) LoadGraph(ctx context.Context, worker, queue, name string, file io.Reader, size uint64, o GraphOptions) error {
	_, err := c.sendParts(ctx, worker, queue, telemetry.Resident{Ask: telemetry.ResidentLoad, Name: name, Total: size, Directed: o.Directed, Loops: o.Loops}, file)
	return err
}

// SendFacts sends a pass of a dataflow problem's facts, in the form that a record of them has, and
// returns the number by which one run takes them; see AskGraphs.
func (c *Conn) SendFacts(ctx context.Context, worker, queue, name string, facts []byte) (number uint64, err error) {
	answer, err := c.sendParts(ctx, worker, queue, telemetry.Resident{Ask: telemetry.ResidentFacts, Name: name, Total: uint64(len(facts))}, bytes.NewReader(facts))
	if err != nil {
		return 0, err
	}
	return answer.Facts, nil
}

// sendParts sends request.Total bytes in parts and returns the answer to the last.
func (c *Conn) sendParts(ctx context.Context, worker, queue string, request telemetry.Resident, file io.Reader) (*telemetry.Resident, error) {
	part := make([]byte, min(request.Total, telemetry.MaxGraphPart))
	for {
		request.Data = part[:min(request.Total-request.Offset, uint64(len(part)))]
		if _, err := io.ReadFull(file, request.Data); err != nil {
			return nil, fmt.Errorf("graph %s: read at %d: %w", request.Name, request.Offset, err)
		}
		answer, err := c.AskGraphs(ctx, worker, queue, &request)
		if err != nil {
			return nil, err
		}
		if request.Offset += uint64(len(request.Data)); request.Offset >= request.Total {
			return answer, nil
		}
	}
}

// cancelPatience is how long a requester that gives up waits for its run to be canceled.
const cancelPatience = 2 * time.Second

// RunGraph asks for a run; see AskGraphs. If ctx ends before the answer comes, the worker is asked
// to end the run, and the error says whether it does.
func (c *Conn) RunGraph(ctx context.Context, worker, queue string, request *telemetry.Resident) (*telemetry.Resident, error) {
	run := *request
	run.Ask, run.Result = telemetry.ResidentRun, 1+rand.Uint64N(math.MaxUint64)
	answer, err := c.AskGraphs(ctx, worker, queue, &run)
	if err == nil || ctx.Err() == nil {
		return answer, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelPatience)
	defer cancel()
	_, failed := c.AskGraphs(ctx, worker, queue, &telemetry.Resident{Ask: telemetry.ResidentCancel, Name: run.Name, Result: run.Result})
	switch {
	case failed == nil:
		return nil, fmt.Errorf("%w; the worker ends the run", err)
	case errors.Is(failed, ErrNoGraph):
		return nil, fmt.Errorf("%w; the run has ended", err)
	}
	return nil, fmt.Errorf("%w; the run goes on, because it could not be canceled: %w", err, failed)
}

// GraphResult fetches the bytes of a run's result from begin to end; see AskGraphs.
func (c *Conn) GraphResult(ctx context.Context, worker, queue, name string, result, begin, end uint64) ([]byte, error) {
	var all []byte
	for begin < end {
		answer, err := c.AskGraphs(ctx, worker, queue, &telemetry.Resident{Ask: telemetry.ResidentRead, Name: name, Result: result, Offset: begin})
		if err != nil {
			return nil, err
		}
		if len(answer.Data) == 0 {
			return nil, fmt.Errorf("result of graph %s ends at %d, before %d", name, begin, end)
		}
		data := answer.Data[:min(uint64(len(answer.Data)), end-begin)]
		all, begin = append(all, data...), begin+uint64(len(data))
	}
	return all, nil
}
