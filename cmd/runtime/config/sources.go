package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"ringmaster/cmd/runtime/policyfile"
	"ringmaster/megakernel/policy"
)

// Source is a file of settings and what people call it.
type Source struct {
	Name string
	*File
}

// Sources are files of which the first that sets a key is the one that counts. A table of thresholds counts as a whole.
type Sources []Source

// Value is what a key is set to, as a flag is read from it, and where; false if nowhere.
func (s Sources) Value(key string) (of any, from string, set bool) {
	for _, source := range s {
		if of, line, set := source.File.Value(key); set {
			return of, fmt.Sprintf("%s: line %d", source.Name, line), true
		}
	}
	return nil, "", false
}

// Thresholds are those of the first source that has any, and its name; nil for none.
func (s Sources) Thresholds() (cfg *policy.Config, from string) {
	for _, source := range s {
		if source.Policy != nil {
			return source.Policy, source.Name
		}
	}
	return nil, ""
}

// Placed is what the parser of flags says is wrong, with the line that it is about.
func (s Sources) Placed(said string) string {
	for _, source := range s {
		for _, key := range source.Keys() {
			if _, from, _ := s.Value(key); strings.HasPrefix(said, "--"+key+":") || strings.HasPrefix(said, "--"+key+"=") || strings.HasPrefix(said, "--"+key+" ") {
				return from + ": " + said
			}
		}
	}
	return said
}

// Only refuses a file with settings that are not among those that are allowed.
func (f *File) Only(allowed []string) error {
	for _, key := range slices.Sorted(maps.Keys(f.values)) {
		if !slices.Contains(allowed, key) {
			return fmt.Errorf("line %d: %s is for each process by itself; shared are %s and the table [%s]", f.values[key].line, key, strings.Join(allowed, ", "), policyTable)
		}
	}
	return nil
}

// Changed names the settings and thresholds that two files do not set to the same.
func Changed(before, after []byte) ([]string, error) {
	was, err := written(before)
	if err != nil {
		return nil, err
	}
	is, err := written(after)
	if err != nil {
		return nil, err
	}
	var names []string
	for key, value := range is {
		if was[key] != value {
			names = append(names, key)
		}
		delete(was, key)
	}
	return slices.Sorted(slices.Values(slices.AppendSeq(names, maps.Keys(was)))), nil
}

// written is what a file says, as texts by name, whether or not there are settings of these names.
func written(data []byte) (map[string]string, error) {
	var tree map[string]any
	if err := toml.Unmarshal(data, &tree); err != nil {
		return nil, policyfile.Placed(err)
	}
	all := make(map[string]string)
	policyfile.Walk("", tree, func(name, value string) { all[name] = value })
	return all, nil
}
