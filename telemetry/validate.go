package telemetry

import (
	"errors"
	"fmt"
)

// Validate checks the rules that involve more than one field, or a field and
// its context. Ranges of single fields are the schema's, and the Decoder has
// applied both to every record it returns; a publisher may call Validate on
// what it is about to send. The error is a sentence without a record position.
func (r *Record) Validate() error {
	switch r.Kind {
	case KindGraph:
		return r.Graph.validate()
	case KindLaunch:
		return r.Launch.validate()
	case KindDone:
		return r.Done.validate()
	case KindHeap:
		return r.Heap.validate()
	}
	return nil
}

// validate: the frontier is a part of the graph, if the record tells both.
func (g *Graph) validate() error {
	if g.Has.Has(HasNodeCount|HasFrontierNodes) && g.FrontierNodes > g.NodeCount {
		return fmt.Errorf("frontier_nodes %d exceeds graph_node_count %d", g.FrontierNodes, g.NodeCount)
	}
	return nil
}

var errStatus = errors.New("status ok with an error text")

// validate: a hash is whole or not there, and a launch that ran has no error.
func (l *Launch) validate() error {
	if n := len(l.Fingerprint); n != 0 && n != FingerprintSize {
		return fmt.Errorf("fingerprint has %d bytes, want 0 or %d", n, FingerprintSize)
	}
	if l.Status == LaunchOK && l.Error != "" {
		return errStatus
	}
	return nil
}

// validate: the lists of faults and prints are parts of those counted.
func (d *Done) validate() error {
	if len(d.Faults) > int(d.Faulted) {
		return fmt.Errorf("%d faults listed, %d counted", len(d.Faults), d.Faulted)
	}
	if n := len(d.Prints); n%PrintWords != 0 || n/PrintWords > int(d.Printed) {
		return fmt.Errorf("%d words of prints, %d counted: want %d for each", n, d.Printed, PrintWords)
	}
	return nil
}

// validate: data is whole words.
func (h *Heap) validate() error {
	if n := len(h.Data); n%wordBytes != 0 {
		return fmt.Errorf("data has %d bytes, want whole words of %d", n, wordBytes)
	}
	return nil
}
