package main

import (
	"fmt"
	"log/slog"
	"path/filepath"

	"ringmaster/cmd/runtime/tuned"
	"ringmaster/megakernel/tuner/reference"
	"ringmaster/megakernel/tuner/session"
)

// autotuneFlags say how geometries are tuned and where results are kept.
type autotuneFlags struct {
	Autotuner  autotunerMode `default:"on" env:"RINGMASTER_AUTOTUNER" help:"on: tune the whole geometry. natural: tune the width only, by the natural gradient. off: keep the policy's own geometry."`
	TunerCache *string       `placeholder:"DIR" env:"RINGMASTER_TUNER_CACHE" help:"Directory for the tuner's results (default: under the user's cache directory). Empty: keep none."`
}

// autotunerMode is a mode, spelled as in vyre. Unlike there, an unset variable means on.
type autotunerMode struct{ session.Mode }

// UnmarshalText refuses a text that names no mode, before anything is started.
func (m *autotunerMode) UnmarshalText(text []byte) (err error) {
	if m.Mode, err = reference.ParseMode(string(text), true); err != nil {
		return fmt.Errorf("%q: want on, natural (or ng), or off (or default)", text)
	}
	return nil
}

// tuning is how a node tunes and what its tuners begin from, nil for nothing.
func (f *autotuneFlags) tuning(log *slog.Logger) (session.Mode, *tuned.Memory) {
	if f.Autotuner.Mode == session.Off {
		return session.Off, nil
	}
	return f.Autotuner.Mode, tuned.New(tuned.Config{Dir: f.dir(), Log: log})
}

// dir is the directory of the results, "" for none.
func (f *autotuneFlags) dir() string {
	if f.TunerCache != nil {
		return *f.TunerCache
	}
	return filepath.Join(cacheDir(), "tuner")
}
