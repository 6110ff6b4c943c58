package option

import (
	"log/slog"
	"path/filepath"

	"ringmaster/cmd/runtime/tuned"
	"ringmaster/megakernel/tuner/session"
)

// Autotune say how geometries are tuned and where results are kept.
type Autotune struct {
	TunerCache
	Tuner TunerMode `name:"autotuner" default:"on" env:"RINGMASTER_AUTOTUNER" shared:"" help:"on: tune the whole geometry. off: keep the policy's own geometry. reference: the tuner of vyre, to compare with, as reference-on and reference-off in its modes on and off."`
}

// TunerCache says where results of tuners are kept.
type TunerCache struct {
	Dir *string `name:"tuner-cache" placeholder:"DIR" env:"RINGMASTER_TUNER_CACHE" help:"Directory for the tuner's results (default: under the user's cache directory). Empty: keep none."`
}

// Place is the directory of the results, "" for none.
func (f *TunerCache) Place() string {
	if f.Dir != nil {
		return *f.Dir
	}
	return filepath.Join(CacheDir(), "tuner")
}

// TunerMode is a mode, spelled as in vyre. Unlike there, an unset variable means on.
type TunerMode struct{ session.Mode }

// UnmarshalText refuses a text that names no mode, before anything is started.
func (m *TunerMode) UnmarshalText(word []byte) (err error) {
	m.Mode, err = session.ParseMode(string(word))
	return err
}

// Memory is how a node tunes and what its tuners begin from, nil for nothing.
func (f *Autotune) Memory(log *slog.Logger) (session.Mode, *tuned.Memory) {
	if f.Tuner.Mode == session.Off {
		return session.Off, nil
	}
	return f.Tuner.Mode, tuned.New(tuned.Config{Dir: f.Place(), Log: log})
}
