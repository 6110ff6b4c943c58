package session

import (
	"errors"
	"testing"
)

// crowd reports a launch of one more kernel.
func crowd(r *rig) error {
	r.program++
	report := r.report()
	_, err := r.s.Observe(&r.env, &report)
	return err
}

func TestSessionsShareTheRoomForTuners(t *testing.T) {
	all := NewRoom(5, nil)
	mine, theirs := NewRoom(3, all), NewRoom(3, all)
	a, b, c := newRig(t, On), newRig(t, On), newRig(t, On)
	a.env.Room, b.env.Room, c.env.Room = mine, mine, theirs
	for i, step := range []struct {
		of   *rig
		want error
	}{
		{a, nil}, {a, nil}, {b, nil}, {b, ErrCrowded}, {a, ErrCrowded}, // three of one worker
		{c, nil}, {c, nil}, {c, ErrCrowded}, // five altogether
	} {
		if err := crowd(step.of); !errors.Is(err, step.want) {
			t.Errorf("step %d: %v, want %v", i, err, step.want)
		}
	}
	a.s.Close()
	if err := crowd(c); err != nil {
		t.Errorf("room was not given back: %v", err)
	}
	if err := crowd(c); !errors.Is(err, ErrCrowded) {
		t.Errorf("more than there is was given back: %v", err)
	}
	b.env.Memory = newMemory()
	b.s.Park(&b.env)
	c.s.Close()
	if mine.Taken() != 0 || theirs.Taken() != 0 || all.Taken() != 0 {
		t.Errorf("taken at the end: %d and %d, %d altogether", mine.Taken(), theirs.Taken(), all.Taken())
	}
}

// A queue whose kernels change keeps its room, when there is no other.
func TestATunerOutOfUseMakesRoomForAnother(t *testing.T) {
	r := newRig(t, On)
	r.env.Room = NewRoom(1, nil)
	r.launches(1)
	if err := crowd(r); !errors.Is(err, ErrCrowded) {
		t.Errorf("while it is in use: %v", err)
	}
	for range inUse {
		if crowd(r) == nil {
			return
		}
	}
	t.Error("it never made room")
}
