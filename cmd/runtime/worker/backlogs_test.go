package worker

import (
	"fmt"
	"testing"
)

func TestBacklogsAreToldWhenTheyChangeAndOnANewConnection(t *testing.T) {
	told := newBacklogs()
	for _, round := range []struct {
		session uint64
		queues  map[string]uint32
		want    map[string]uint32
	}{
		{0, map[string]uint32{"a": 3, "b": 0}, map[string]uint32{"a": 3, "b": 0}},
		{0, map[string]uint32{"a": 3, "b": 1}, map[string]uint32{"b": 1}},
		{0, map[string]uint32{"a": 3, "b": 1}, nil},
		{1, map[string]uint32{"a": 3, "b": 1}, map[string]uint32{"a": 3, "b": 1}},
		{1, map[string]uint32{"a": 3}, nil},
		{1, map[string]uint32{"a": 3, "b": 1}, map[string]uint32{"b": 1}}, // another queue of its name
	} {
		got := make(map[string]uint32)
		told.round(round.session, func(visit func(string, uint32)) {
			for queue, slots := range round.queues {
				visit(queue, slots)
			}
		}, func(queue string, slots uint32) { got[queue] = slots })
		if fmt.Sprint(got) != fmt.Sprint(round.want) {
			t.Errorf("%+v: told %v", round, got)
		}
	}
}
