//go:build cgo && linux

package glcompute

import (
	"errors"
	"slices"
	"testing"
)

// fakeContext is a candidate that notes what happens to it.
type fakeContext struct {
	renderer string
	log      *[]string
	refuses  error
}

func (c *fakeContext) proc(string) uintptr     { return 0 }
func (c *fakeContext) loadGL() error           { return nil }
func (c *fakeContext) share() (context, error) { return nil, errors.ErrUnsupported }
func (c *fakeContext) names() (_, _ string)    { return c.renderer, "4.3" }
func (c *fakeContext) release()                { *c.log = append(*c.log, "release "+c.renderer) }
func (c *fakeContext) makeCurrent() error {
	*c.log = append(*c.log, "current "+c.renderer)
	return c.refuses
}

func TestChoosePrefersHardware(t *testing.T) {
	const mesa, other, gpu = "llvmpipe (LLVM 15)", "softpipe", "NVIDIA H200"
	broken := errors.New("no driver")
	for _, test := range []struct {
		name      string
		renderers []string // "" is a way that fails, "!" one that must not be tried
		want      string
		log       []string
		errs      []error
	}{
		{"first hardware wins", []string{gpu, "!"}, gpu,
			[]string{"current " + gpu}, []error{nil}},
		{"hardware after software", []string{mesa, gpu, "!"}, gpu,
			[]string{"release " + mesa, "current " + gpu}, []error{ErrSoftware, nil}},
		{"first software if no hardware", []string{"", mesa, "", other}, mesa,
			[]string{"release " + other, "current " + mesa}, []error{broken, nil, broken, ErrSoftware}},
		{"nothing", []string{"", ""}, "", nil, []error{broken, broken}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log []string
			ways := make([]way, len(test.renderers))
			for i, renderer := range test.renderers {
				ways[i] = way{backend: "w", open: func() (candidate, error) {
					switch renderer {
					case "":
						return nil, broken
					case "!":
						t.Error("tried a way after hardware was found")
					}
					return &fakeContext{renderer: renderer, log: &log}, nil
				}}
			}
			c, attempts := choose(ways)
			if got := ""; c != nil {
				if got, _ = c.names(); got != test.want {
					t.Errorf("chose %q, want %q", got, test.want)
				}
			} else if test.want != "" {
				t.Errorf("chose none, want %q", test.want)
			}
			if !slices.Equal(log, test.log) {
				t.Errorf("log %q, want %q", log, test.log)
			}
			var errs []error
			for _, a := range attempts {
				errs = append(errs, a.Err)
			}
			if !slices.Equal(errs, test.errs) {
				t.Errorf("errors %v, want %v", errs, test.errs)
			}
		})
	}
}

func TestChooseSkipsSoftwareDevicesOnceSoftwareIsHeld(t *testing.T) {
	var log []string
	ways := []way{
		{backend: "surfaceless", open: func() (candidate, error) {
			return &fakeContext{renderer: "llvmpipe", log: &log}, nil
		}},
		{backend: "device", software: true, open: func() (candidate, error) {
			t.Error("opened a second software renderer")
			return nil, errors.New("no")
		}},
	}
	if c, attempts := choose(ways); c == nil || len(attempts) != 1 {
		t.Errorf("chose %v by %v", c, attempts)
	}
}

func TestChooseReleasesAContextThatRefusesToBeCurrent(t *testing.T) {
	var log []string
	refused := errors.New("EGL_BAD_ACCESS")
	c, attempts := choose([]way{{open: func() (candidate, error) {
		return &fakeContext{renderer: "llvmpipe", log: &log, refuses: refused}, nil
	}}})
	if c != nil || attempts[0].Err != refused || !slices.Equal(log, []string{"current llvmpipe", "release llvmpipe"}) {
		t.Errorf("chose %v by %v, log %q", c, attempts, log)
	}
}
