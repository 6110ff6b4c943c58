package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ringmaster/bench/course"
	"ringmaster/cmd/runtime/demo/trace"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
	"ringmaster/megakernel"
	"ringmaster/megakernel/calibration"
	"ringmaster/megakernel/fixed"
)

// courseFlags choose what the course runs.
type courseFlags struct {
	Quick bool   `help:"A course of about a minute: few loads, deciders and rounds, short cells."`
	Trace string `placeholder:"FILE" help:"Recorded requests for the load trace, as CSV of the form of the bundled ones: time, prompt tokens, answer tokens."`

	CourseGoals     bool          `help:"Instead of a grid, the loads, rates and deciders that the goals are about, the most telling first, 3 rounds: about 25 minutes on a GPU."`
	CourseLoad      []string      `placeholder:"NAME" help:"Loads of the course; all without."`
	CourseDecider   []string      `placeholder:"NAME" help:"Deciders of the course, the first of which the others are compared with; all without."`
	CourseRate      []float64     `placeholder:"SHARE" help:"Rates, as parts of what the loop does in a closed loop; 0.3, 0.6, 0.9 and 1.2 without."`
	CourseRounds    int           `placeholder:"N" help:"Rounds of each load and rate, with other arrivals each; 5 without."`
	CourseSpan      time.Duration `placeholder:"DURATION" help:"Time in which work arrives in a cell; 5s without."`
	CourseSeed      uint64        `default:"1" help:"Of the arrivals."`
	CourseSweeps    int           `placeholder:"N" help:"Geometries that a sweep tries; 14 without, 8 for the goals."`
	CourseMixes     int           `default:"1" placeholder:"N" help:"What a turn of a heavy slot's loop weighs: how often it mixes its word. With 1 a fast device is done before the server has brought the next batch; 64 keeps it busy."`
	CourseTelemetry time.Duration `default:"10ms" help:"Time between two reports of the queues' lengths; 0: nobody reports."`
	CourseDir       string        `placeholder:"DIR" help:"Directory for programs and what tuners learn; a temporary one without."`
	CourseLog       string        `placeholder:"FILE" help:"Records of what was measured. What it has already is not measured again: a course can be split over calls."`
	CoursePicture   string        `placeholder:"FILE" help:"Write the figures as a picture, in SVG."`
	CourseBudget    time.Duration `placeholder:"DURATION" help:"Begin nothing later than that."`
	CoursePlan      bool          `help:"Say what would be measured and how long it takes, and stop."`
}

// check refuses what there is not and what cannot be, before anything is measured.
func (f *courseFlags) check() error {
	if f.CourseGoals && len(f.CourseLoad)+len(f.CourseDecider)+len(f.CourseRate) > 0 {
		return errors.New("--course-goals has loads, deciders and rates of its own; name those without it")
	}
	cfg, err := f.config()
	if err != nil {
		return err
	}
	cfg.Fit = 1 // the device's is known later
	return cfg.Validate()
}

// config is the course that the flags ask for, without its device.
func (f *courseFlags) config() (cfg course.Config, err error) {
	cfg = course.Config{
		Rounds: 5, Measure: 3 * time.Second, Train: 20 * time.Second, Sweep: 2 * time.Second, Sweeps: 14,
		Seed: f.CourseSeed, Mixes: f.CourseMixes, Telemetry: f.CourseTelemetry, Budget: f.CourseBudget,
	}
	span := 5 * time.Second
	if f.CourseGoals {
		cfg.Rounds, span = 3, 1750*time.Millisecond // seven bursts
		cfg.Measure, cfg.Train, cfg.Sweep, cfg.Sweeps = 4*time.Second, 6*time.Second, time.Second, 8
	}
	if f.Quick {
		cfg.Rounds, span = 3, 800*time.Millisecond
		cfg.Measure, cfg.Train, cfg.Sweep = time.Second, 2*time.Second, 500*time.Millisecond
	}
	if f.CourseSpan != 0 {
		span = f.CourseSpan
	}
	if cfg.Parts, err = f.parts(span); err != nil {
		return cfg, err
	}
	if f.CourseRounds != 0 {
		cfg.Rounds = f.CourseRounds
	}
	if f.CourseSweeps != 0 {
		cfg.Sweeps = f.CourseSweeps
	}
	cfg.Trace, err = f.requests()
	return cfg, err
}

// parts are what the flags ask for: the goals' list or a grid.
func (f *courseFlags) parts(span time.Duration) ([]course.Part, error) {
	if f.CourseGoals {
		return course.Goals(span), nil
	}
	names, deciders, rates := f.CourseLoad, f.CourseDecider, f.CourseRate
	if f.Quick && len(names) == 0 {
		names = []string{"bursty-heavy", "alone", "urgent"}
	}
	if f.Quick && len(deciders) == 0 {
		deciders = []string{"warm", "cold", "off", "reference", "fill"}
	}
	if len(rates) == 0 {
		if rates = []float64{0.3, 0.6, 0.9, 1.2}; f.Quick {
			rates = []float64{0.9}
		}
	}
	loads, err := course.Find(names)
	if err != nil {
		return nil, err
	}
	contestants, err := course.FindContestants(deciders)
	return course.Grid(loads, rates, contestants, span), err
}

// requests are the recorded ones that the flags name.
func (f *courseFlags) requests() ([]trace.Request, error) {
	if f.Trace == "" {
		return trace.Requests()
	}
	file, err := os.Open(f.Trace)
	if err != nil {
		return nil, fmt.Errorf("--trace: %w", err)
	}
	defer file.Close()
	requests, err := trace.Read(file)
	if err != nil {
		return nil, fmt.Errorf("--trace %s: %w", f.Trace, err)
	}
	return requests, nil
}

// openAgain opens the session's device once more, for a cell.
func openAgain(s *session) (worker.Device, error) {
	device, _, err := glcompute.Open(s.flags.glConfig())
	if err != nil {
		return nil, err
	}
	device.Describe(s.device.Info().Units)
	return device, nil
}

// deviceFit is how many workgroups of 256 the session's device runs at a time, by its units as a worker
// announces them: the driver's, or measured and kept in dir.
func deviceFit(s *session, dir string) (uint32, error) {
	if s.device.Info().Units == (glcompute.Units{}) {
		known, how := calibration.Known(s.device, filepath.Join(dir, "units"), s.log)
		s.device.Describe(glcompute.Units{Count: known.Units, Lanes: known.Lanes, Source: how})
	}
	if s.device.Info().Units.Count == 0 {
		return 0, errors.New("the device's units are not known, so that nobody can say how many workgroups fill it")
	}
	limits := megakernel.LimitsOf(s.device)
	return fixed.Groups(&limits), nil
}

// benchCourse runs the loop beside what a user would do without it.
func benchCourse(s *session) error {
	f := &s.flags.courseFlags
	cfg, err := f.config()
	if err != nil {
		return err
	}
	cfg.Open, cfg.Log = func() (worker.Device, error) { return openAgain(s) }, s.log
	if cfg.Dir = f.CourseDir; cfg.Dir == "" {
		if cfg.Dir, err = os.MkdirTemp("", "ringmaster-course-"); err != nil {
			return err
		}
		defer os.RemoveAll(cfg.Dir)
	}
	if cfg.Fit, err = deviceFit(s, cfg.Dir); err != nil {
		return err
	}
	records, err := f.records(s, &cfg)
	if err != nil {
		return err
	}
	defer records.close()
	plan := cfg.Plan()
	if s.json {
		err = json.NewEncoder(s.out).Encode(plan)
	} else {
		_, err = fmt.Fprintln(s.out, plan)
	}
	if err != nil || f.CoursePlan {
		return err
	}
	cfg.Record = records.add
	ran := course.Run(s.ctx, &cfg)
	sum := course.Summarize(records.all, cfg.Parts[0].Deciders[0].Name)
	return errors.Join(ran, f.show(s, sum))
}

// show prints what came of it.
func (f *courseFlags) show(s *session, sum *course.Summary) error {
	if f.CoursePicture != "" {
		if err := os.WriteFile(f.CoursePicture, []byte(sum.Picture()), 0o644); err != nil {
			return fmt.Errorf("--course-picture: %w", err)
		}
	}
	if !s.json {
		return sum.Text(s.out)
	}
	return json.NewEncoder(s.out).Encode(sum)
}

// courseRecords are those of the file and what is added to it.
type courseRecords struct {
	all  []course.Record
	file *os.File // nil: none
	out  io.Writer
	json bool
}

// records reads the file of the flags, and has the course know what is in it.
func (f *courseFlags) records(s *session, cfg *course.Config) (*courseRecords, error) {
	r := &courseRecords{out: s.out, json: s.json}
	if f.CourseLog == "" {
		return r, nil
	}
	file, err := os.OpenFile(f.CourseLog, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("--course-log: %w", err)
	}
	if r.all, err = course.Read(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("--course-log %s: %w", f.CourseLog, err)
	}
	r.file, cfg.Known = file, slices.Clone(r.all)
	return r, nil
}

// add takes what was measured.
func (r *courseRecords) add(rec course.Record) error {
	r.all = append(r.all, rec)
	if r.file != nil {
		if err := json.NewEncoder(r.file).Encode(rec); err != nil {
			return fmt.Errorf("--course-log: %w", err)
		}
	}
	if r.json {
		return json.NewEncoder(r.out).Encode(rec)
	}
	_, err := fmt.Fprintln(r.out, rec)
	return err
}

func (r *courseRecords) close() {
	if r.file != nil {
		r.file.Close()
	}
}

// whatIfConfig is what the flags of the course ask for, with what tells most about neighbours as the default: loads of
// which a launch takes its time on the device, not its start, and cells so long that each neighbour is audited often.
func (f *courseFlags) whatIfConfig() (course.Config, error) {
	own := *f
	if len(own.CourseLoad) == 0 {
		own.CourseLoad = []string{"steady-heavy", "steady-skewed", "bursty-heavy", "tenants"}
	}
	if len(own.CourseRate) == 0 {
		own.CourseRate = []float64{0.6}
	}
	own.CourseRounds, own.CourseSpan = cmp.Or(own.CourseRounds, 2), cmp.Or(own.CourseSpan, 40*time.Second)
	own.CourseDecider = []string{"off"}
	return own.config()
}

// benchWhatIf sets what `ringmaster whatif` says beside what it is about.
func benchWhatIf(s *session) error {
	cfg, err := s.flags.whatIfConfig()
	if err != nil {
		return err
	}
	cfg.Open, cfg.Log = func() (worker.Device, error) { return openAgain(s) }, s.log
	if cfg.Dir, err = os.MkdirTemp("", "ringmaster-whatif-"); err != nil {
		return err
	}
	defer os.RemoveAll(cfg.Dir)
	if cfg.Fit, err = deviceFit(s, cfg.Dir); err != nil {
		return err
	}
	var off []float64 // by which share estimates were off
	held := 0
	err = course.Alternatives(s.ctx, &cfg, func(a course.Alternative) error {
		if !a.Compared() {
			s.row(row{Name: whatIfRow(&a), Unit: "times", Yardstick: "no answer: " + a.Answer.Refused})
			return nil
		}
		off = append(off, a.Off())
		if a.Holds() {
			held++
		}
		s.row(row{Name: whatIfRow(&a), Value: a.Answer.Ratio, Unit: "times", YardstickValue: a.Ran.Mean, Yardstick: fmt.Sprintf(
			"the same, run: %.3f to %.3f in %d turns; estimated %.3f to %.3f from %d audits",
			a.Ran.Low, a.Ran.High, a.Ran.Pairs, a.Answer.Low, a.Answer.High, a.Answer.Audits)})
		return nil
	})
	if len(off) == 0 {
		return err
	}
	slices.Sort(off)
	s.row(row{Name: "whatif/off by, median", Value: 100 * off[len(off)/2], Unit: "%"})
	s.row(row{Name: "whatif/off by, most", Value: 100 * off[len(off)-1], Unit: "%"})
	s.row(row{Name: "whatif/intervals that hold", Value: 100 * float64(held) / float64(len(off)), Unit: "%"})
	return err
}

func whatIfRow(a *course.Alternative) string {
	return fmt.Sprintf("whatif/%s/%s/%s/%d", a.Load, a.Queue, a.Answer.Name, a.Round+1)
}
