package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"ringmaster/cmd/runtime/policyfile"
	"ringmaster/cmd/runtime/text"
	"ringmaster/megakernel/policy"
)

// MaxBytes bounds a file.
const MaxBytes = policyfile.MaxBytes

// policyTable is the table of the policy's thresholds.
const policyTable = "policy"

// File is what a file sets.
type File struct {
	values map[string]value
	Policy *policy.Config // nil: the file has no table [policy]
}

type value struct {
	of   any // a string, a bool, or a list of strings as []any, which is what flags are read from
	line int
}

// Parse reads a file. known are the keys that there are. An error names the line and the column.
func Parse(data []byte, known []string) (*File, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("%d bytes, want at most %d", len(data), MaxBytes)
	}
	var any map[string]any
	if err := toml.Unmarshal(data, &any); err != nil { // the parser below gives no place
		return nil, policyfile.Placed(err)
	}
	f := &File{values: make(map[string]value)}
	var p unstable.Parser
	p.Reset(data)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		key, at := keyOf(&p, e)
		switch {
		case e.Kind == unstable.Table && key != policyTable && !strings.HasPrefix(key, policyTable+"."), e.Kind == unstable.ArrayTable:
			return nil, fmt.Errorf("%s: there is no table [%.60s]; settings stand in front of all tables, and thresholds in [%s]", at, key, policyTable)
		case e.Kind == unstable.Table:
			table = key
		case e.Kind == unstable.KeyValue && table == "":
			if err := f.set(&p, key, at, e, known); err != nil {
				return nil, err
			}
		}
	}
	if err := p.Error(); err != nil {
		return nil, policyfile.Placed(err)
	}
	if table == "" {
		return f, nil
	}
	cfg, err := policyfile.ParseTable(data)
	if err != nil {
		return nil, err
	}
	f.Policy = &cfg
	return f, nil
}

// set takes one key in front of all tables.
func (f *File) set(p *unstable.Parser, key string, at place, e *unstable.Node, known []string) error {
	switch {
	case strings.HasPrefix(key+".", policyTable+"."):
		return fmt.Errorf("%s: %s is a table: write [%[2]s], and base = \"standard\" or \"reference\" in it", at, policyTable)
	case !slices.Contains(known, key):
		return fmt.Errorf("%s: there is no setting %.60q%s", at, key, text.Near(strings.ReplaceAll(strings.ToLower(key), "_", "-"), known, "`ringmaster config sample` lists them"))
	}
	v, err := valueOf(e.Value())
	if err != nil {
		return fmt.Errorf("%s: %s: %w", at, key, err)
	}
	f.values[key] = value{v, at.line}
	return nil
}

// Value is what the file sets a key to, as a flag is read from it, and the line; false if it does not.
func (f *File) Value(key string) (of any, line int, set bool) {
	v, set := f.values[key]
	return v.of, v.line, set
}

// Keys are what the file sets, in no order.
func (f *File) Keys() []string { return slices.Collect(maps.Keys(f.values)) }

// place is where something stands.
type place struct{ line, column int }

func (p place) String() string { return fmt.Sprintf("line %d, column %d", p.line, p.column) }

// keyOf is the key of an expression with its parts joined, and where it stands.
func keyOf(p *unstable.Parser, e *unstable.Node) (key string, at place) {
	var parts []string
	for it := e.Key(); it.Next(); {
		n := it.Node()
		if len(parts) == 0 {
			start := p.Shape(n.Raw).Start
			at = place{start.Line, start.Column}
		}
		parts = append(parts, string(n.Data))
	}
	return strings.Join(parts, "."), at
}

func valueOf(n *unstable.Node) (any, error) {
	switch n.Kind {
	case unstable.String, unstable.Integer, unstable.Float:
		return string(n.Data), nil
	case unstable.Bool:
		return string(n.Data) == "true", nil
	case unstable.Array:
		list := []any{}
		for it := n.Children(); it.Next(); {
			if it.Node().Kind == unstable.Comment {
				continue
			}
			if it.Node().Kind != unstable.String {
				return nil, fmt.Errorf("want a list of texts in quotes")
			}
			list = append(list, string(it.Node().Data))
		}
		return list, nil
	}
	return nil, fmt.Errorf("want a text in quotes, a number, true or false, or a list of texts")
}
