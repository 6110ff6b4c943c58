package policyfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"ringmaster/cmd/runtime/text"
	"ringmaster/megakernel/policy"
)

// MaxBytes bounds a file.
const MaxBytes = 64 << 10

// Named returns the configuration of a name, standard or reference, or that of a file.
func Named(name string) (policy.Config, error) {
	switch name {
	case "standard":
		return policy.Standard(), nil
	case "reference":
		return policy.Reference(), nil
	}
	cfg, err := read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return cfg, fmt.Errorf("%q is neither standard, reference nor a file", name)
	}
	return cfg, err
}

// read returns the configuration in a file.
func read(path string) (policy.Config, error) {
	info, err := os.Stat(path)
	if err != nil {
		return policy.Config{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > MaxBytes {
		return policy.Config{}, fmt.Errorf("%s: want a file of at most %d bytes", path, MaxBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return policy.Config{}, err
	}
	cfg, err := Parse(data)
	if err != nil {
		return policy.Config{}, fmt.Errorf("%s: %w", path, err)
	}
	return cfg, nil
}

// Parse returns the configuration that a file's bytes describe.
func Parse(data []byte) (policy.Config, error) { return parse(data, false) }

// ParseTable is Parse for a file with other keys beside the table, which are not looked at.
func ParseTable(data []byte) (policy.Config, error) { return parse(data, true) }

func parse(data []byte, beside bool) (policy.Config, error) {
	var base struct {
		Policy struct {
			Base string `toml:"base"`
		} `toml:"policy"`
	}
	if err := toml.Unmarshal(data, &base); err != nil {
		return policy.Config{}, Placed(err)
	}
	var file struct {
		Policy struct {
			Base string `toml:"base"`
			policy.Config
		} `toml:"policy"`
	}
	switch base.Policy.Base {
	case "", "standard":
		file.Policy.Config = policy.Standard()
	case "reference":
		file.Policy.Config = policy.Reference()
	default:
		return policy.Config{}, fmt.Errorf("base = %.40q: want standard or reference", base.Policy.Base)
	}
	strict := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := strict.Decode(&file); err != nil && !(beside && ofOthers(err)) {
		return policy.Config{}, Placed(err)
	}
	if err := file.Policy.Validate(); err != nil {
		return policy.Config{}, err
	}
	return file.Policy.Config, nil
}

// ofOthers reports whether an error is only about keys outside of the table, and leaves in it those inside.
func ofOthers(err error) bool {
	var unknown *toml.StrictMissingError
	if !errors.As(err, &unknown) {
		return false
	}
	unknown.Errors = slices.DeleteFunc(unknown.Errors, func(e toml.DecodeError) bool { return len(e.Key()) > 0 && e.Key()[0] != "policy" })
	return len(unknown.Errors) == 0
}

// Placed is an error of the TOML reader with its line and what is there.
func Placed(err error) error {
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		line, column := unknown.Errors[0].Position()
		key, standard := strings.Join(unknown.Errors[0].Key(), "."), policy.Standard()
		known := slices.Sorted(maps.Keys(Flatten(&standard)))
		return fmt.Errorf("line %d, column %d: there is no key %.60q%s", line, column, key, text.Near(key, known, "`ringmaster config sample` lists them"))
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		line, column := wrong.Position()
		switch key := strings.Join(wrong.Key(), "."); { // the library's own words name types of this program
		case strings.Contains(err.Error(), " into struct field "):
			return fmt.Errorf("line %d, column %d: %s is of another kind: a number, true or false, or a text, as `ringmaster config sample` has it", line, column, key)
		case strings.Contains(err.Error(), " cannot be stored in "):
			return fmt.Errorf("line %d, column %d: %s is beyond what it can be", line, column, key)
		}
		return fmt.Errorf("line %d, column %d: %w", line, column, err)
	}
	return err
}

// Flatten are the fields of a configuration by their names in a file, policy.dwell and policy.sizing.batch_depth.
func Flatten(cfg *policy.Config) map[string]string {
	data, err := toml.Marshal(cfg)
	var tree map[string]any
	if err == nil {
		err = toml.Unmarshal(data, &tree)
	}
	if err != nil {
		panic(fmt.Sprintf("bug: %v", err)) // of numbers and booleans only
	}
	out := make(map[string]string)
	Walk("policy.", tree, func(name, value string) { out[name] = value })
	return out
}

// Walk calls a function with every value of a file's tables, and with its name, which begins with the prefix and has the
// names of the tables before it.
func Walk(prefix string, tables map[string]any, do func(name, value string)) {
	for name, v := range tables {
		if table, is := v.(map[string]any); is {
			Walk(prefix+name+".", table, do)
			continue
		}
		do(prefix+name, fmt.Sprint(v))
	}
}

// Sample is the table of a file, all of it as a comment, with every threshold of the standard policy.
func Sample() string {
	data, err := toml.Marshal(map[string]policy.Config{"policy": policy.Standard()})
	if err != nil {
		panic(fmt.Sprintf("bug: %v", err)) // of numbers and booleans only
	}
	table, rest, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	lines := append([]string{table, `base = "standard"`}, strings.Split(rest, "\n")...)
	return "\n# == Thresholds of the policy, as it is without a file. A file needs the name of the table, and what differs ==\n\n#" +
		strings.Join(lines, "\n#") + "\n"
}
