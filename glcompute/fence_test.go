//go:build cgo && linux

package glcompute

import (
	"errors"
	"slices"
	"testing"
)

func TestFenceIsDoneAfterTheCommandsBeforeIt(t *testing.T) {
	d := openDevice(t, Config{})
	program, buffer := counter(t, d)
	do(t, d, func() error {
		d.BindStorage(0, buffer, 0, 8)
		d.Dispatch(program, 64)
		d.Barrier()
		fence := d.InsertFence()
		if fence.Fence == 0 {
			return errors.New("no fence")
		}
		for {
			if done, err := d.WaitFence(fence, 0); err != nil {
				return err
			} else if done {
				break
			}
		}
		for range 2 {
			if done, err := d.WaitFence(fence, 1e9); !done || err != nil {
				t.Errorf("a fence that was done: %v, %v", done, err)
			}
		}
		d.DeleteFence(fence)
		d.DeleteFence(Fence{})
		if done, err := d.WaitFence(Fence{}, 0); done || err == nil {
			t.Errorf("fence 0: %v, %v", done, err)
		}
		return nil
	})
}

// Whoever polls a fence asks many times between two looks at the errors.
func TestAnErrorThatWaitsForCheckIsKeptOnce(t *testing.T) {
	d := openDevice(t, Config{})
	err := d.Do(func() error {
		buffer, err := d.NewBuffer(8)
		if err != nil {
			return err
		}
		defer d.DeleteBuffer(buffer)
		d.WriteBuffer(buffer, 8, []byte{1})
		fence := d.InsertFence()
		defer d.DeleteFence(fence)
		for range 1000 {
			if _, err := d.WaitFence(fence, 0); err != nil {
				return err
			}
		}
		depth := 0
		for err := d.Check(); err != nil; depth++ {
			joined, ok := err.(interface{ Unwrap() []error })
			if !ok {
				break
			}
			err = joined.Unwrap()[0]
		}
		if depth == 0 || depth > 5 {
			t.Errorf("the error is wrapped %d times", depth)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTimestampsEncloseADispatch(t *testing.T) {
	d := openDevice(t, Config{})
	if !d.Supports("timestamp") {
		missing(t, "no timestamps")
	}
	program, buffer := counter(t, d)
	do(t, d, func() error {
		d.BindStorage(0, buffer, 0, 8)
		queries := []Query{d.NewQuery(), d.NewQuery()}
		if queries[0] == queries[1] || slices.Contains(queries, Query{}) {
			t.Fatalf("queries %v", queries)
		}
		d.Timestamp(queries[0])
		d.Dispatch(program, 64)
		d.Timestamp(queries[1])
		d.Finish()
		var at [2]uint64
		for i, q := range queries {
			ns, ready := d.QueryResult(q)
			if !ready || ns == 0 {
				t.Errorf("query %d after Finish: %d ns, ready %v", i, ns, ready)
			}
			at[i] = ns
			d.DeleteQuery(q)
			d.DeleteQuery(q)
		}
		t.Logf("%s: %d ns", d.Info().Renderer, at[1]-at[0])
		if at[1] < at[0] {
			t.Errorf("%d ns after the dispatch, %d before", at[1], at[0])
		}
		if len(d.queries) != 0 {
			t.Errorf("%d queries live", len(d.queries))
		}
		return nil
	})
}

func TestIndirectDispatchTakesItsGroupsFromTheDevice(t *testing.T) {
	d := openDevice(t, Config{})
	program, buffer := counter(t, d)
	do(t, d, func() error {
		// The first dispatch counts to 128; its count becomes, by way of a copy
		// on the device, the number of groups of the second.
		commands, err := d.NewBuffer(64)
		if err != nil {
			return err
		}
		d.BindStorage(0, buffer, 256, 8)
		d.WriteBuffer(commands, 20, []byte{0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0})
		d.Dispatch(program, 1)
		d.Barrier()
		d.CopyBuffer(buffer, 256, commands, 20, 4)
		d.CopyBuffer(buffer, 256, commands, 0, 0)
		d.DispatchIndirect(program, commands, 20)
		d.Barrier()
		got := make([]byte, 4)
		d.ReadBuffer(buffer, 256, got)
		if n := words(got)[0]; n != 128+128*128 {
			t.Errorf("%d invocations, want %d", n, 128+128*128)
		}
		return nil
	})
}

func TestCopyAndClearTouchTheirRangeOnly(t *testing.T) {
	d := openDevice(t, Config{})
	do(t, d, func() error {
		src, err := d.NewBuffer(64)
		if err != nil {
			return err
		}
		dst, err := d.NewBuffer(64)
		if err != nil {
			return err
		}
		data := make([]byte, 64)
		for i := range data {
			data[i] = byte(i + 1)
		}
		d.WriteBuffer(src, 0, data)
		d.CopyBuffer(src, 5, dst, 7, 11)
		want := make([]byte, 64)
		copy(want[7:], data[5:16])
		got := make([]byte, 64)
		if d.ReadBuffer(dst, 0, got); !slices.Equal(got, want) {
			t.Errorf("copied %v, want %v", got, want)
		}
		for _, r := range []struct{ at, n int }{{8, 12}, {33, 3}, {60, 4}, {0, 0}} {
			d.ClearBuffer(src, r.at, r.n)
			clear(data[r.at : r.at+r.n])
		}
		if d.ReadBuffer(src, 0, got); !slices.Equal(got, data) {
			t.Errorf("cleared %v, want %v", got, data)
		}
		d.CopyBuffer(src, 60, dst, 0, 8)
		if err := d.Check(); err == nil {
			t.Error("a copy from outside the buffer is no error")
		}
		d.ClearBuffer(src, 60, 8)
		if err := d.Check(); err == nil {
			t.Error("clearing outside the buffer is no error")
		}
		return nil
	})
}

// BenchmarkDispatchAndFence is BenchmarkDispatchAndWait with a fence that is
// asked again and again instead of a finish.
func BenchmarkDispatchAndFence(b *testing.B) {
	d := openDevice(b, Config{})
	program, buffer := counter(b, d)
	do(b, d, func() error {
		d.BindStorage(0, buffer, 0, 8)
		b.ReportAllocs()
		for b.Loop() {
			d.Dispatch(program, 1)
			fence := d.InsertFence()
			for {
				done, err := d.WaitFence(fence, 0)
				if err != nil {
					return err
				}
				if done {
					break
				}
			}
			d.DeleteFence(fence)
		}
		return nil
	})
}
